"""One user tries to reach what another told: every test is an attempt, and must fail."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from gradio_client import Client

from memory.bank.bank import Bank
from memory.types import PersonaDraft
from memory.users import Users
from support.app_client import PASSWORDS, Program, gradio_paths, told, two_users
from support.browser_app import App
from support.mcp_client import Tools

pytestmark = pytest.mark.slow

SECRET = "blue flowerpot"
CONFIDANT = "Quentin"
NAMES = ["../../../users/x/bank.db", "/etc/cron.d/x", "..", "a\x00b.txt", "x" * 300, "..\\..\\x"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    running = two_users(tmp_path_factory.mktemp("users"))
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def ann(app: App) -> Program:
    """Ann, who told Quentin a secret."""
    program = Program(app, "ann")
    told(program.call("list_personas"))
    Bank(bank_of(app, "ann")).create_persona(PersonaDraft(CONFIDANT))
    kept = told(program.call("remember", CONFIDANT, f"My spare key lies under the {SECRET}.", None))
    assert kept["memories"] >= 1
    return program


@pytest.fixture
def ben(app: App, ann: Program) -> Program:
    return Program(app, "ben")


def bank_of(app: App, name: str) -> Path:
    users = Users(app.home)
    return next(users.folder_of(u) / "bank.db" for u in users.all() if u.name == name)


def leaks(text: str) -> bool:
    return SECRET in text or CONFIDANT in text


def test_search_finds_a_users_own_memories_only(ann: Program, ben: Program) -> None:
    assert leaks(ann.call("search_memory", CONFIDANT, "spare key", 10, None, None).text)
    assert leaks(ann.call("list_personas").text)
    assert not leaks(ben.call("list_personas").text)
    for persona in ("Ida", "1"):
        assert not leaks(ben.call("search_memory", persona, "spare key flowerpot", 50, None, None).text)
        assert not leaks(ben.call("ask", persona, "Where does my spare key lie?", None, False).text)


def test_pages_that_nobody_uses_take_hardly_any_of_the_thread_that_all_share(
    app: App, ann: Program, ben: Program
) -> None:
    told(ben.call("list_personas"))
    of_thread = psutil.Process(app.pid).num_ctx_switches
    before = of_thread().voluntary
    time.sleep(2)
    assert of_thread().voluntary - before < 400  # it is woken so often; Gradio's queues would wake it 2,000 times each


def test_ids_of_another_user_are_unknown(ann: Program, ben: Program) -> None:
    quentin = next(p for p in told(ann.call("list_personas")) if p["name"] == CONFIDANT)
    found = told(ann.call("search_memory", CONFIDANT, "spare key", 10, None, None))
    for persona in (CONFIDANT, str(quentin["id"])):
        refused = ben.call("ask", persona, "Where does my spare key lie?", None, False)
        assert "no persona" in refused.json()["error"]
        refused = ben.call("forget", persona, [m["memory"] for m in found])
        assert "no persona" in refused.json()["error"]
    assert told(ann.call("search_memory", CONFIDANT, "spare key", 10, None, None)) == found


def test_no_private_event_returns_another_users_words(ann: Program, ben: Program) -> None:
    for event in ben.events():
        for value in (1, 2):
            session = f"s{event['id']}x{value}"
            if joined := ben.join(event["id"], [value] * len(event["inputs"]), session):
                heard = ben.hear(session, joined)
                assert "process_completed" in heard
                assert not leaks(heard)


def test_another_users_window_cannot_be_read(ann: Program, ben: Program) -> None:
    number = next(e["id"] for e in ann.events() if any(t[1] == "load" for t in e["targets"]) and not e["inputs"])
    event = ann.join(number, [], "window-of-ann")
    assert event
    assert "process_completed" not in ben.hear("window-of-ann")
    assert not leaks(ben.read(f"/gradio_api/call/ask/{event}"))
    assert ben.http.post(f"/gradio_api/stream/{event}/close").status_code == 404


def test_events_and_uploads_of_another_user_cannot_be_stopped_or_followed(ann: Program, ben: Program) -> None:
    number = next(e["id"] for e in ann.events() if any(t[1] == "load" for t in e["targets"]) and not e["inputs"])
    for attempt in range(5):
        stopped = {"session_hash": f"window-{attempt}", "fn_index": number}
        event = ann.join(number, [], stopped["session_hash"])
        ben.join(number, [], stopped["session_hash"])
        for _ in range(3):
            told = ben.http.post("/gradio_api/cancel", json={**stopped, "event_id": event})
            assert not leaks(told.text)
        assert "process_completed" in ann.hear(stopped["session_hash"])
    ann.http.post("/gradio_api/upload?upload_id=of-ann", files={"files": ("plans.txt", b"Ann: it is mine")})
    assert "done" in ann.read("/gradio_api/upload_progress?upload_id=of-ann")
    assert ben.http.get("/gradio_api/upload_progress?upload_id=of-ann").status_code == 404


def test_a_chat_id_is_looked_up_in_the_users_own_bank(ann: Program, ben: Program, app: App) -> None:
    """Whatever a request names as its chat, it is looked up in the bank of who asks."""
    bank = Bank(bank_of(app, "ann"))
    quentin = bank.persona(CONFIDANT)
    (chat,) = {s.external_id for s in bank.sessions(quentin.id)}
    assert Bank(bank_of(app, "ben")).chat_memories(quentin.id, chat, 10) == []
    for event in ben.events():  # what they tell is read above; here, what they do
        ben.join(event["id"], [chat] * len(event["inputs"]), f"c{event['id']}")
    assert [s.external_id for s in bank.sessions(quentin.id)] == [chat]


def test_no_file_is_served_but_the_pages_own(app: App, ann: Program, ben: Program) -> None:
    (uploaded,) = ann.put("plans.txt", f"Ann: {SECRET}".encode()).json()
    (own,) = ben.put("own.txt", b"Ben: mine").json()
    link = Path(own).with_name("link.txt")
    link.symlink_to(bank_of(app, "ann"))
    bank, home = bank_of(app, "ann"), app.home
    logo = Path(__file__).parents[1] / "assets" / "web" / "logo.svg"
    assert ben.http.get(f"/gradio_api/file={logo}").status_code == 200
    paths = [bank, home / "users.json", uploaded, own, link, f"{own}/../../../../users.json", "/etc/passwd"]
    paths += [f"{logo}/../../app.py", "app.py", ".env", "file:///etc/passwd", "http://example.com/", "https://a.b/"]
    for path in paths:
        for asked in (f"/gradio_api/file={path}", f"/gradio_api/file/{path}", f"/gradio_api/file%3D{path}"):
            answer = ben.http.get(asked)
            assert answer.status_code in (403, 404), asked
            assert not leaks(answer.text)
    for asked in ("/static/../../../../etc/passwd", "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd", "/svelte/..%2f..%2fetc"):
        assert "root:" not in ben.http.get(asked).text


def test_a_download_is_served_to_its_own_user_only(app: App, ann: Program, ben: Program) -> None:
    number = next(e["id"] for e in ann.events() if _is_backup(ann, e["targets"]))
    heard = ann.hear("backup", ann.join(number, [None], "backup"))
    (path,) = set(re.findall(r'"path":"([^"]+\.db)"', heard))
    mine = ann.http.get(f"/gradio_api/file={path}")
    assert SECRET.encode() in mine.content
    for asked in (path, f"{Path(path).parent}/../{Path(path).parent.name}/{Path(path).name}"):
        assert ben.http.get(f"/gradio_api/file={asked}").status_code == 403
        assert "InvalidPathError" in ben.look_into(asked)


def _is_backup(program: Program, targets: list[list]) -> bool:
    components = {c["id"]: c["props"].get("elem_id") for c in program.http.get("/config").json()["components"]}
    return any(components.get(t[0]) == "take-backup" for t in targets)


def test_no_file_is_read_that_the_user_did_not_upload(app: App, ann: Program, ben: Program) -> None:
    (uploaded,) = ann.put("plans.txt", f"[2024-01-01]\nAnn: it is the {SECRET}\nBob: ah".encode()).json()
    (own,) = ben.put("own.txt", b"[2024-01-01]\nBen: mine\nBob: ah").json()
    assert "is in transcript format" in ben.look_into(own)
    folder = Path(own).parent
    link = folder / "link.txt"
    link.symlink_to(uploaded)
    for path in (
        uploaded,
        bank_of(app, "ann"),
        app.home / "users.json",
        app.home / "uploads",
        folder.parent,
        folder,
        link,
        f"{folder}/../../{Path(uploaded).parent.parent.name}/{Path(uploaded).parent.name}/plans.txt",
        "/etc/passwd",
        "README.md",
    ):
        for held in ({}, {"url": f"/gradio_api/file={path}"}, {"orig_name": "own.txt"}, {"is_stream": True}):
            heard = ben.look_into(str(path), **held)
            assert re.search("InvalidPathError|Is a directory", heard), path
            assert not leaks(heard)
    assert (app.home / "users.json").exists()
    assert Path(uploaded).exists()


def test_an_error_names_no_file_of_the_server_and_no_other_user(app: App, ann: Program, ben: Program) -> None:
    (uploaded,) = ann.put("plans.txt", b"Ann: it is mine").json()
    event = next(e for e in ben.events() if e["inputs"])
    ben.join(event["id"], [], "no inputs")
    heard = [ben.look_into(uploaded), ben.look_into("README.md"), ben.hear("no inputs")]
    assert all("Memoir ran into a bug" in each for each in heard)
    for inner in (app.home, Path.cwd(), "gradio", Path(uploaded).parent.parent.name):
        assert str(inner) not in str(heard)


@pytest.mark.parametrize(
    "name", ["../../../users/x/bank.db", "/etc/cron.d/x", "..", "a\x00b.txt", "x" * 300, "..\\..\\x"]
)
def test_an_upload_lies_in_a_folder_of_its_own_whatever_its_name(app: App, ben: Program, name: str) -> None:
    answer = ben.put(name, b"Ben: hello")
    folder = app.home / "uploads"
    for path in answer.json() if answer.status_code == 200 else []:
        assert Path(path).resolve().is_relative_to(folder)
        assert len(Path(path).relative_to(folder).parts) == 3
    assert not (app.home / "users" / "x").exists()


def test_without_a_login_only_the_login_page_is_served(app: App, ann: Program) -> None:
    nobody = Program(app)
    paths = set(gradio_paths())
    assert len(paths) > 60
    for path in sorted(paths - {"/login", "/login/"}):
        for method in ("GET", "POST"):
            answer = nobody.http.request(method, path)
            assert answer.status_code in (401, 403), (method, path)
    page = nobody.http.get("/", headers={"Accept": "text/html"})
    assert page.headers["location"] == "/login"
    assert not leaks(nobody.http.get("/login").text)


@pytest.mark.parametrize("cookie", ["x", "ann", "null", "../ann", "a" * 4000])
def test_an_invented_cookie_or_token_is_refused(app: App, cookie: str) -> None:
    nobody = Program(app)
    assert nobody.http.get("/config", headers={"Cookie": f"memoir-session={cookie}"}).status_code == 401
    assert nobody.http.get("/config", headers={"Authorization": f"Bearer {cookie}"}).status_code == 401
    assert nobody.http.get("/config", headers={"Authorization": f"Basic {cookie}"}).status_code == 401


def test_a_tool_reaches_its_users_bank_only(app: App, ann: Program) -> None:
    tokens = {name: Users(app.home).new_token(name) for name in PASSWORDS}
    tools = {name: Tools(app.url, {"Authorization": f"Bearer {token}"}) for name, token in tokens.items()}
    assert leaks(str(tools["ann"].call("search_memory", persona=CONFIDANT, query="spare key")))
    assert sorted(tools["ben"].listed()) == ["ask", "forget", "list_personas", "remember", "search_memory"]
    assert not leaks(str(tools["ben"].call("list_personas")))
    assert "no persona" in tools["ben"].refused("ask", persona=CONFIDANT, question="Where is the key?")
    assert not leaks(str(tools["ben"].call("search_memory", persona="Ida", query="spare key flowerpot", limit=50)))
    with pytest.raises(BaseExceptionGroup):
        Tools(app.url).listed()


def test_gradio_client_logs_in_with_name_and_password(app: App, ann: Program) -> None:
    client = Client(app.url, auth=("ben", PASSWORDS["ben"]), verbose=False)
    assert "Ida" in [p["name"] for p in client.predict(api_name="/list_personas")]
    with pytest.raises(Exception, match="Could not login"):
        Client(app.url, auth=("ben", "wrong password"), verbose=False)


def test_users_can_neither_choose_the_model_nor_evaluate(ben: Program) -> None:
    held = str([c["props"].get("elem_id") for c in ben.http.get("/config").json()["components"]])
    assert "composer" in held
    for closed in ("eval-run", "model-test", "model-panel"):
        assert closed not in held


def test_no_event_tells_a_user_whether_a_path_of_the_server_exists(app: App, ben: Program) -> None:
    names = {c["id"]: c["props"].get("elem_id") or "" for c in ben.http.get("/config").json()["components"]}
    assert not [name for name in names.values() if name.startswith("model")]

    def answers(path: Path) -> list[object]:
        heard = []
        for event in ben.events():
            parts = {names.get(number) for number in (*event["inputs"], *(number for number, _ in event["targets"]))}
            if parts & {"place", "encoder"} and event["inputs"]:
                session = f"{path}-{event['id']}"
                if joined := ben.join(event["id"], [f"gguf:{path}"] * len(event["inputs"]), session):
                    lines = ben.hear(session, joined).splitlines()
                    heard += [json.loads(line[6:]) for line in lines if line.startswith('data: {"msg":"process_com')]
        return [(each["success"], str(each["output"].get("error")).replace(str(path), "PATH")) for each in heard]

    there = answers(app.home / "users.json")
    assert any(not success for success, _ in there)
    assert there == answers(app.home / "nothing.json")


@pytest.mark.parametrize(
    "path", ["vibe-edit", "vibe-code", "undo-vibe-edit", "run-history/connect", "component_server"]
)
def test_gradios_developer_routes_are_closed(app: App, ben: Program, path: str) -> None:
    asked = {"prompt": "x", "code": "x", "hash": "x"}
    sent = asked | {"data": {}, "component_id": 1, "session_hash": "x", "fn_name": "ls"}
    assert ben.http.post(f"/gradio_api/{path}", json=sent).status_code >= 400
    assert Program(app, "ben").http.get("/monitoring").status_code == 404


def test_logging_out_ends_the_session_for_good(app: App) -> None:
    program = Program(app, "ben")
    cookie = program.http.cookies["memoir-session"]
    assert program.http.post("/logout").status_code == 303
    answer = Program(app).http.get("/config", headers={"Cookie": f"memoir-session={cookie}"})
    assert answer.status_code == 401


def test_logging_out_everywhere_ends_all_sessions_of_the_user_and_of_nobody_else(app: App) -> None:
    ann, here, elsewhere = Program(app, "ann"), Program(app, "ben"), Program(app, "ben")
    assert here.http.post("/logout?everywhere").status_code == 303
    assert [program.http.get("/config").status_code for program in (ann, here, elsewhere)] == [200, 401, 401]


def test_a_new_password_or_removal_ends_logins_and_tokens(app: App) -> None:
    users = Users(app.home)
    users.add("cat", "a password of cat")
    bearer = {"Authorization": f"Bearer {users.new_token('cat')}"}
    program = Program(app)
    assert program.log_in("cat", "a password of cat").status_code == 200
    users.set_password("cat", "another one of cat")
    assert program.http.get("/config").status_code == 401
    assert program.http.get("/config", headers=bearer).status_code == 200
    users.remove("cat", with_memory=True)
    assert program.http.get("/config", headers=bearer).status_code == 401
    assert program.log_in("cat", "another one of cat").status_code == 401


def test_another_site_can_neither_log_in_nor_out(app: App) -> None:
    program = Program(app, "ben")
    elsewhere = {"Origin": "http://elsewhere.invalid"}
    form = {"username": "ben", "password": PASSWORDS["ben"]}
    assert program.http.post("/login", data=form, headers=elsewhere).status_code == 403
    assert program.http.post("/logout", headers=elsewhere).status_code == 403
    assert program.http.get("/config").status_code == 200


@pytest.mark.parametrize("name", ["dora", "ann"])
def test_guessing_passwords_is_slowed_down_for_the_guesser_only(app: App, name: str) -> None:
    guesser = Program(app)
    answers = [guesser.log_in(name, f"guess number {n}") for n in range(8)]
    assert [a.status_code for a in answers[:3]] == [401] * 3
    refused = [a for a in answers if a.status_code == 429]  # where a guess takes seconds, not the fourth at once
    assert int(refused[-1].headers["Retry-After"]) >= 1
    assert "Try again in" in refused[-1].text
    assert Program(app, "ben").http.get("/config").status_code == 200


def test_the_login_cookie_is_same_site_and_http_only(app: App) -> None:
    held = Program(app).log_in("ben", PASSWORDS["ben"]).headers["set-cookie"].lower()
    assert "httponly" in held
    assert "samesite=lax" in held


def test_without_users_the_app_says_how_to_make_one(tmp_path: Path) -> None:
    running = App(tmp_path, "--auth")
    with pytest.raises(AssertionError, match=r"python -m memory user add NAME"):
        running.start()


def test_stop_frees_a_page_that_missed_the_end_of_its_answer(ben: Program) -> None:
    number = next(event["id"] for event in ben.events() if event["api_name"] == "stop")
    assert ben.join(number, [None], "behind")
    assert '"Ask a question' in ben.hear("behind")
