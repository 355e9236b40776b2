"""Ask the running app for what it must not give: without a login or with another's, by path tricks, from other sites.

Whatever is answered with a status below 400 has got through; a redirection to the login page has not. With another
user's login, what counts is whether the answer contains a secret.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import httpx

from memory.bank.bank import Bank
from memory.types import PersonaDraft
from memory.users import Users
from support.app_client import HELD, Program, gradio_paths, told, two_users
from support.browser_app import App
from tests.torture.outcome import Outcome

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "get")
COOKIES = ("", "x", "ann", "null", "../ann", "a" * 4000, "memoir-session=", "%00")
TRICKS = ("", *r"/ // /./ /../ /%2e%2e/ /%252e%252e/ /..;/ /....// /..%2f /..%5c \..\ /%00".split())
PLACES = tuple("/gradio_api/file= /file= /gradio_api/file/ /static/ /assets/ /svelte/ /gradio_api/upload/".split())
HOSTS = ("", *"evil.invalid 127.0.0.1.evil.invalid 127.0.0.2 localhost. 0.0.0.0 [::ffff:1.2.3.4] [ a@b".split())
ORIGINS = ("http://evil.invalid", "null", "http://127.0.0.1:1", "http://localhost", "file://", "x", "")

SECRET, CONFIDANT = "blue flowerpot", "Quentin"
"""What Ann told to whom."""

LISTENING = 2.0
"""Seconds for which a stream is read; some never end."""

PER_CLIENT = 1000
"""Requests from one address; more would be refused as a flood."""

Attempt = Callable[[httpx.Client], httpx.Response]


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Attack an app with users, then one without."""
    paths = gradio_paths()
    with started(two_users(new(folder / "users"))) as app:
        users, ann = Users(app.home), Program(app, "ann")
        users.add("cat", "a password of cat")
        removed = f"Bearer {users.new_token('cat')}"
        users.remove("cat", with_memory=True)
        cookie = "; ".join(f"{name}={value}" for name, value in ann.http.cookies.items())
        assert httpx.get(f"{app.url}config", headers={"Cookie": cookie}).status_code == 200
        ann.put("plans.txt", b"Ann: the key is under the pot")

        def nobody(client: httpx.Client) -> httpx.Response:
            path = chance.choice(TRICKS) + chance.choice(paths).lstrip("/")
            known = chance.choice(({"Cookie": f"memoir-session={chance.choice(COOKIES)}"}, {"Authorization": removed}))
            return client.request(chance.choice(METHODS), f"{app.url.rstrip('/')}/{path.lstrip('/')}", headers=known)

        secrets = [str(path) for path in app.home.rglob("*") if path.is_file()] + ["/etc/passwd", "/proc/self/environ"]

        def thief(client: httpx.Client) -> httpx.Response:
            path = chance.choice(secrets)
            asked = chance.choice((path, str(app.home / "uploads") + chance.choice(TRICKS) * 3 + path.lstrip("/")))
            address = app.url.rstrip("/") + chance.choice(PLACES) + chance.choice(TRICKS) + asked
            return client.get(address, headers={"Cookie": cookie})

        yield attack("attack without login", seconds / 4, app, nobody, ("/login", "/login/"))
        yield attack("attack files", seconds / 4, app, thief, ("/login", "/login/"))
        yield attack_with_login(seconds / 4, app, ann, paths, chance)
    with started(App(new(folder / "open"))) as app:
        assert httpx.get(f"{app.url}config", headers={"Origin": app.url.rstrip("/")}).status_code == 200

        def stranger(client: httpx.Client) -> httpx.Response:
            own = app.url.split("/")[2]
            headers = {"Host": own, "Origin": f"http://{own}"}
            if chance.random() < 0.5:
                headers["Host"] = chance.choice(HOSTS)
            else:
                headers["Origin"] = chance.choice(ORIGINS)
            address = app.url.rstrip("/") + chance.choice(paths)
            return client.request(chance.choice(METHODS), address, headers=headers)

        yield attack("attack from other sites", seconds / 4, app, stranger, ())


def attack_with_login(seconds: float, app: App, ann: Program, paths: list[str], chance: Random) -> Outcome:
    """Let Ben ask all routes, calls and events for what Ann told, by the names and numbers that it has in her bank."""
    outcome, ends = Outcome("attack with another's login", ("seen", "lost")), time.monotonic() + seconds
    outcome.done.update(attempts=0)
    users = Users(app.home)
    bank = Bank(next(users.folder_of(user) / "bank.db" for user in users.all() if user.name == "ann"))
    persona = bank.create_persona(PersonaDraft(CONFIDANT))
    told(ann.call("remember", CONFIDANT, f"My spare key lies under the {SECRET}.", None))
    search = ("search_memory", CONFIDANT, "spare key", 10, None, None)
    found = told(ann.call(*search))
    ben, event, upload = (
        Program(app, "ben"),
        ann.join(0, [], "annann"),
        str(ann.put("key.txt", SECRET.encode()).json()[0]),
    )
    events = ben.events()
    things = [
        CONFIDANT,
        persona.id,
        str(persona.id),
        "annann",
        event,
        upload,
        {"path": upload, "meta": HELD},
        "",
        None,
        True,
    ]
    things += [
        found[0]["memory"],
        *(session.chat_id for session in bank.sessions(persona.id)),
        [persona.id],
        str(bank.path),
    ]
    calls = ("ask", "remember", "search_memory", "forget", "list_personas")
    asked = [path for path in paths if "logout" not in path]
    while time.monotonic() < ends:
        page_event = chance.choice(events)
        body = {
            "fn_index": page_event["id"],
            "session_hash": chance.choice(("annann", "benben")),
            "event_id": chance.choice((event, "x")),
            "data": [chance.choice(things) for _ in page_event["inputs"]],
        }
        path = chance.choice(
            (chance.choice(asked), "/gradio_api/queue/join", f"/gradio_api/run/{chance.choice(calls)}")
        )
        place = chance.choice(("", f"/{event}", f"/{upload}", f"={upload}", f"?session_hash=annann&upload_id={event}"))
        attempts = [
            (chance.choice(METHODS), path.replace("/x", "") + place),
            ("POST", path),
            ("GET", queue_of("benben")),
        ]
        for method, address in attempts:
            outcome.done.update(attempts=1)
            answer = listen(ben.http, method, address, body if method == "POST" else None)
            if SECRET in answer:
                outcome.fault("seen", f"{method} {address} {json.dumps(body)}: {answer[:300]}")
    if SECRET not in ann.call(*search).text:
        outcome.fault("lost", "what Ann told is no longer found")
    return outcome


def queue_of(window: str) -> str:
    """Where a window hears of its events."""
    return f"/gradio_api/queue/data?session_hash={window}"


def listen(client: httpx.Client, method: str, address: str, body: object) -> str:
    """What is answered within some seconds."""
    heard, ends = "", time.monotonic() + LISTENING
    try:
        with client.stream(method, address, json=body, timeout=LISTENING) as answer:
            for piece in answer.iter_text():
                heard += piece
                if time.monotonic() > ends:
                    break
    except (httpx.RequestError, httpx.InvalidURL):  # refused by the server, by the client itself, or nothing more comes
        pass
    return heard


def attack(name: str, seconds: float, app: App, attempt: Attempt, open_to_all: tuple[str, ...]) -> Outcome:
    """Try again and again, each time as another client after a while, and list what got through."""
    outcome, ends, number = Outcome(name, ("through", "broken")), time.monotonic() + seconds, 0
    outcome.done.update(attempts=0)
    while time.monotonic() < ends:
        number += 1
        transport = httpx.HTTPTransport(local_address=f"127.0.{number // 250}.{1 + number % 250}")
        with httpx.Client(transport=transport, timeout=30) as client:
            for _ in range(PER_CLIENT):
                if time.monotonic() > ends:
                    break
                try:
                    answer = attempt(client)
                except (httpx.RequestError, httpx.InvalidURL):  # refused by the server, or by the client itself
                    continue
                outcome.done.update(attempts=1)
                to_login = answer.headers.get("location", "").startswith("/login")
                if answer.status_code < 400 and not to_login and answer.request.url.path not in open_to_all:
                    outcome.fault("through", f"{answer.status_code} {answer.request.method} {answer.request.url}")
                if answer.status_code >= 500:
                    outcome.fault("broken", f"{answer.status_code} {answer.request.method} {answer.request.url}")
    return outcome


@contextmanager
def started(app: App) -> Iterator[App]:
    app.start()
    try:
        yield app
    finally:
        app.stop()


def new(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
