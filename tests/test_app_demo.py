"""A public demo: each visitor has a bank of their own until they leave, within limits; the owner's is not touched."""

from __future__ import annotations

import platform
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from langchain_core.language_models import FakeListChatModel
from pydantic import ValidationError
from starlette.testclient import TestClient

from app import build_page, main
from eval.settings import EvalSettings
from graph.assistant import Assistant
from graph.server import demo as demo_module
from graph.server import user_pages as user_pages_module
from graph.server.demo import (
    ANSWER_TOKENS,
    COOKIE,
    MAX_VISITORS,
    MESSAGES,
    MESSAGES_SECONDS,
    NEW_SECONDS,
    NEW_VISITORS,
    STAY_SECONDS,
    TOKENS_SECONDS,
    DemoMiddleware,
    VisitorAssistant,
)
from graph.server.site import build_site
from graph.server.user_pages import ARENAS, VISITOR_UPLOAD_BYTES, VISITOR_UPLOADS, UserPages
from memory.bank.bank import Bank
from memory.bank.learning_queue import pending_sessions
from memory.bank.maintenance import verify
from memory.embedding.embedder import shared
from memory.errors import BankUnavailable, MemoirError
from memory.exporting import downloads
from memory.forgetting.forget import forget_memories
from memory.ingest import ingest
from memory.search.indexer import count_pending
from memory.types import STORES, MemoryDraft, PersonaDraft, Quota
from support.browser_app import ROOT
from tests.torture import demo as torture_demo

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

    from conftest import Chat

T = TypeVar("T")

BROWSER = {"Accept": "text/html"}
SECRET = "blue flowerpot"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class Visitor:
    """A browser, or a program, that keeps its cookie; all share the client of the app."""

    def __init__(self, client: TestClient) -> None:
        self._client = client
        self.cookies: dict[str, str] = {}

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        self._client.cookies.clear()
        self._client.cookies.update(self.cookies)
        return self._client.request(method, path, **options)

    def arrive(self) -> httpx.Response:
        """Open the page."""
        offered = self.send("GET", "/", headers=BROWSER)
        self.cookies[COOKIE] = offered.cookies[COOKIE]
        assert self.send("GET", offered.headers["location"], headers=BROWSER).status_code == 303
        return self.send("GET", "/", headers=BROWSER)

    def call(self, name: str, *data: Any) -> httpx.Response:
        return self.send("POST", f"/gradio_api/run/{name}", json={"data": list(data)})

    def put(self, content: bytes) -> httpx.Response:
        return self.send("POST", "/gradio_api/upload", files={"files": ("a.txt", content)})


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Starlette:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    monkeypatch.setattr(demo_module, "CHECK_SECONDS", 0.05)
    settings = EvalSettings(home=tmp_path, demo=True)
    site = build_site(settings, partial(build_page, settings))
    site.routes[-1].app._clock = clock  # type: ignore[attr-defined]
    return site


@pytest.fixture
def client(site: Starlette) -> Iterator[TestClient]:
    """The whole app in this process."""
    with TestClient(site, follow_redirects=False) as client:
        yield client


def run(call: Callable[[], Awaitable[T]]) -> T:
    """In a thread of its own: the one of the tests may hold the browser's event loop."""
    with start_blocking_portal() as portal:
        return portal.call(call)


def wait_until(what: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.05)


def files(home: Path) -> list[Path]:
    """The files of visitors."""
    return [path for name in ("visitors", "uploads") for path in (home / name).rglob("*") if path.is_file()]


# --- each visitor apart


@pytest.mark.slow
def test_visitors_begin_with_a_sample_that_was_indexed_and_learned_from(client: TestClient, site: Starlette) -> None:
    opener = site.routes[-1].app._pages._open_page.__self__  # type: ignore[attr-defined]
    wait_until(lambda: opener._sample is not None)
    visitor = Visitor(client)
    visitor.arrive()
    (path,) = (opener._settings.home / "visitors").glob("*/bank.db")
    bank = Bank(path)
    assert count_pending(bank, shared(opener._settings.embedding_model).model) == 0
    assert not list(pending_sessions(bank, datetime.now(UTC)))
    assert verify(bank, opener._settings.embedding_model) == []


HEAPS = """
import ctypes, sys, threading
from graph.server.user_pages import share_heaps

share_heaps()
kept, together = [], threading.Barrier(16)
def work():
    together.wait()
    kept.append([bytes(1000) for _ in range(100)])
    together.wait()
for thread in [threading.Thread(target=work) for _ in range(16)]:
    thread.start()
for thread in threading.enumerate()[1:]:
    thread.join()
libc = ctypes.CDLL(None)
libc.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
libc.malloc_info(0, file)
libc.fclose(file)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
def test_the_threads_of_all_pages_share_the_heaps_that_freed_memory_stays_in(tmp_path: Path) -> None:
    written = tmp_path / "malloc.xml"
    subprocess.run([sys.executable, "-c", HEAPS, str(written)], cwd=ROOT, timeout=120, check=True)
    assert written.read_text().count("<heap nr=") <= ARENAS


@pytest.mark.slow
def test_visitors_do_not_see_each_other_nor_touch_the_owners_bank(client: TestClient, tmp_path: Path) -> None:
    owners = tmp_path / "bank.db"
    owners.write_bytes(b"not even a bank: to open it would fail")
    ann, ben = Visitor(client), Visitor(client)
    assert "Memoir" in ann.arrive().text
    ben.arrive()
    stored = ann.call("remember", "Ida", f"My spare key lies under the {SECRET}.", None).json()["data"][0]
    assert stored["memories"] >= 1
    (found, *_) = ann.call("search_memory", "Ida", "spare key", 10, None, None).json()["data"][0]
    assert SECRET in found["text"]
    for answer in (
        ben.call("search_memory", "Ida", "spare key", 10, None, None),
        ben.call("ask", "Ida", "Where does my spare key lie?", None, False),
        ben.call("forget", "Ida", [found["memory"]]),
    ):
        assert SECRET not in answer.text
    assert ben.call("forget", "Ida", [found["memory"]]).status_code == 500  # a memory of nobody's
    (path,) = ann.put(b"Ann: hello").json()
    (bank,) = [b for b in (tmp_path / "visitors").glob("*/bank.db") if SECRET.encode() in everything(b)]
    for asked in (path, str(bank), str(owners)):
        assert ben.send("GET", f"/gradio_api/file={asked}").status_code == 403
    assert owners.read_bytes().startswith(b"not even")
    assert [p.name for p in tmp_path.glob("bank.db*")] == ["bank.db"]


def everything(bank: Path) -> bytes:
    """All bytes of a bank's files; the last connection that is closed takes its log away, whenever that is."""
    found = b""
    for path in bank.parent.glob("bank.db*"):
        with suppress(FileNotFoundError):
            found += path.read_bytes()
    return found


def test_visitors_get_no_choice_of_a_model_and_no_evaluation_but_are_told_what_is_kept(client: TestClient) -> None:
    ann = Visitor(client)
    ann.arrive()
    config = ann.send("GET", "/config").json()
    ids = {component["props"].get("elem_id") for component in config["components"]}
    assert {"composer", "persona"} <= ids
    assert not {name for name in ids if name and name.startswith(("model", "eval"))}
    assert not [e for e in config["dependencies"] if str(e["api_name"]).startswith(("choose_model", "test_model"))]
    shown = [str(component["props"].get("value")) for component in config["components"]]
    (told,) = [text for text in shown if "This is a public demo" in text]
    assert "Do not tell it secrets." in told


# --- the cookie


def test_a_client_that_keeps_no_cookie_makes_no_page(client: TestClient, tmp_path: Path) -> None:
    began = client.get("/", headers=BROWSER)
    assert (began.status_code, began.headers["location"]) == (303, "/begin")
    client.cookies.clear()
    for _ in range(3):
        refused = client.get("/begin", headers=BROWSER)
        assert (refused.status_code, "location" in refused.headers) == (403, False)
        assert "needs a cookie" in refused.text
    for answer in (
        client.get("/"),
        client.get("/config", headers={"Cookie": f"{COOKIE}={'a' * 43}"}),
        client.post("/gradio_api/run/list_personas", json={"data": []}, headers=BROWSER),
        client.head("/", headers=BROWSER),
    ):
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "application/json"
    assert files(tmp_path) == []
    assert not (tmp_path / "visitors").exists()


def test_the_address_keeps_what_it_asks_of_the_page() -> None:
    async def arrived() -> list[str]:
        async with browser(DemoMiddleware(UserPages(serve_nothing), framed=False)) as ann:
            offered = await ann.get("/?__theme=dark&x=%2F%2Felsewhere.invalid", headers=BROWSER)
            back = await ann.get(offered.headers["location"], headers=BROWSER)
            return [offered.headers["location"], back.headers["location"]]

    asked = "?__theme=dark&x=%2F%2Felsewhere.invalid"
    assert run(arrived) == [f"/begin{asked}", f"/{asked}"]


@pytest.mark.parametrize(
    ("framed", "scheme", "expected"),
    [
        (False, "http", "SameSite=Lax"),
        (False, "https", "SameSite=Lax; Secure"),
        (True, "https", "SameSite=None; Secure; Partitioned"),
    ],
)
def test_the_cookie_is_closed_to_scripts_and_to_other_sites_unless_it_is_framed(
    framed: bool, scheme: str, expected: str
) -> None:
    async def offered() -> str:
        async with browser(DemoMiddleware(UserPages(serve_nothing), framed=framed), scheme=scheme) as ann:
            return (await ann.get("/", headers=BROWSER)).headers["set-cookie"]

    assert run(offered).partition("; ")[2] == f"Path=/; HttpOnly; {expected}"


@pytest.mark.parametrize("frame", ["", "https://huggingface.co https://example.org"])
def test_only_the_sites_that_are_set_may_frame_the_demo(tmp_path: Path, frame: str) -> None:
    settings = EvalSettings(home=tmp_path, demo=True, demo_frame=frame)
    with TestClient(build_site(settings, partial(build_page, settings)), follow_redirects=False) as client:
        headers = client.get("/", headers=BROWSER).headers
    assert f"frame-ancestors {frame or chr(39) + 'none' + chr(39)}" in headers["Content-Security-Policy"]
    assert headers.get("X-Frame-Options") == (None if frame else "DENY")
    assert ("Partitioned" in headers["set-cookie"]) == bool(frame)


@pytest.mark.parametrize("frame", ["https://a; script-src *", "http://a", "'self'", "https://a\r\nX: y", "*"])
def test_a_frame_that_is_no_origin_is_refused(frame: str) -> None:
    with pytest.raises(ValidationError, match="demo_frame"):
        EvalSettings(demo_frame=frame)


# --- the end of a visit


@pytest.mark.slow
def test_what_a_visitor_told_is_gone_an_hour_after_their_last_request(
    client: TestClient, clock: Clock, tmp_path: Path
) -> None:
    ann = Visitor(client)
    ann.arrive()
    ann.call("remember", "Ida", f"My spare key lies under the {SECRET}.", None)
    ann.put(b"Ann: hello")
    clock.now += STAY_SECONDS - 1
    assert ann.call("list_personas").status_code == 200
    clock.now += STAY_SECONDS - 1
    time.sleep(0.5)
    assert [path.name for path in files(tmp_path)].count("bank.db") == 1
    clock.now += 2
    wait_until(lambda: files(tmp_path) == [] and not list((tmp_path / "visitors").iterdir()))
    wait_until(lambda: not [t for t in threading.enumerate() if t.name in ("indexer", "learner")])
    ended = ann.call("list_personas")
    assert (ended.status_code, ended.json()["error"][:33]) == (401, "Your visit to this demo has ended")
    ann.arrive()
    assert SECRET not in ann.call("search_memory", "Ida", "spare key", 10, None, None).text


def test_what_visitors_told_is_gone_when_the_app_stops_and_what_a_killed_one_left_when_it_starts(
    site: Starlette, tmp_path: Path
) -> None:
    for left in ("visitors/abc/bank.db", "uploads/abc/a.txt"):
        (tmp_path / left).parent.mkdir(parents=True)
        (tmp_path / left).write_text(SECRET)
    with TestClient(site, follow_redirects=False) as client:
        assert files(tmp_path) == []
        Visitor(client).arrive()
        assert "bank.db" in [path.name for path in files(tmp_path)]
    assert files(tmp_path) == []


def test_a_stream_ends_with_the_visit(clock: Clock) -> None:
    async def stream(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"before", "more_body": True})
        demo._seen.clear()
        for part in (b" after", b" long after"):
            await send({"type": "http.response.body", "body": part, "more_body": True})

    pages = UserPages(partial(serve, stream))
    demo = DemoMiddleware(pages, framed=False, clock=clock)

    async def heard() -> bytes:
        async with pages.running(), browser(demo) as ann:
            await arrive(ann)
            return (await ann.get("/stream")).content

    assert run(heard) == b"before"


# --- limits


def test_a_full_demo_says_when_to_come_back(clock: Clock) -> None:
    demo = DemoMiddleware(UserPages(serve_nothing), framed=False, clock=clock)

    async def crowd() -> tuple[list[int], httpx.Response]:
        statuses = []
        for n in range(MAX_VISITORS):
            async with browser(demo, f"192.0.2.{n}") as each:
                statuses.append((await arrive(each)).status_code)
            clock.now += 1
        async with browser(demo, "198.51.100.1") as late:
            return statuses, await arrive(late)

    statuses, refused = run(crowd)
    assert statuses == [303] * MAX_VISITORS
    assert (refused.status_code, refused.headers["retry-after"]) == (503, str(int(STAY_SECONDS) - MAX_VISITORS))
    assert "Come back in about 59 minutes." in refused.text


def test_an_address_sends_few_new_visitors(clock: Clock) -> None:
    demo = DemoMiddleware(UserPages(serve_nothing), framed=False, clock=clock)

    async def arrivals(address: str, times: int) -> list[httpx.Response]:
        answers = []
        for _ in range(times):
            async with browser(demo, address) as each:
                answers.append(await arrive(each))
        return answers

    answers = run(partial(arrivals, "192.0.2.1", NEW_VISITORS + 1))
    assert [answer.status_code for answer in answers] == [303] * NEW_VISITORS + [429]
    assert answers[-1].headers["retry-after"] == str(int(NEW_SECONDS))
    assert [answer.status_code for answer in run(partial(arrivals, "192.0.2.2", 1))] == [303]
    clock.now += NEW_SECONDS
    assert [answer.status_code for answer in run(partial(arrivals, "192.0.2.1", 2))] == [303, 429]


def test_the_uploads_of_a_visitor_are_small_and_few(client: TestClient) -> None:
    ann = Visitor(client)
    ann.arrive()
    refused = ann.put(b"a" * VISITOR_UPLOAD_BYTES)
    assert (refused.status_code, refused.text) == (413, "A request may have at most 5,242,880 bytes here.")
    statuses = [ann.put(b"Ann: hello %d" % n).status_code for n in range(VISITOR_UPLOADS + 1)]
    assert statuses == [200] * VISITOR_UPLOADS + [413]


def test_a_message_that_would_be_too_many_memories_is_not_stored(
    client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_pages_module, "VISITOR_QUOTA", Quota(memories=900))
    ann = Visitor(client)
    ann.arrive()
    (path,) = (tmp_path / "visitors").glob("*/bank.db")
    bank = Bank(path)
    wait_until(lambda: not pending_sessions(bank, datetime.now(UTC)))  # what the sample teaches is stored, too
    persona = bank.persona("Ida")
    room = 900 - sum(n for store, n in bank.counts(persona.id).items() if store in STORES)
    bank.add_memories(persona.id, [MemoryDraft("event", f"A gull sat on roof {n}.") for n in range(room)])
    before = bank.counts(persona.id)
    refused = ann.call("remember", "Ida", "My kayak is called Sturmvogel.", None)
    assert refused.status_code == 500
    assert "room for 900 memories here, and this would make 901, so it was not stored" in refused.text
    assert bank.counts(persona.id) == before
    forgotten = ann.call("search_memory", "Ida", "gull", 1, None, None).json()["data"][0][0]["memory"]
    assert ann.call("forget", "Ida", [forgotten]).status_code == 200
    assert ann.call("remember", "Ida", "My kayak is called Sturmvogel.", None).status_code == 200


def test_what_is_full_of_memories_or_of_bytes_stores_no_more_but_forgets(tmp_path: Path) -> None:
    path = tmp_path / "bank.db"
    Bank(path).create_persona(PersonaDraft("Ida"))
    Bank(path).add_memories(1, [MemoryDraft("event", f"A gull sat on roof {n}. " * 20) for n in range(2000)])
    for quota, said in ((Quota(memories=100), "room for 100 memories"), (Quota(megabytes=1), "room for 1 MB here")):
        bank = Bank(path, quota)
        with pytest.raises(BankUnavailable, match=said):
            bank.add_memories(1, [MemoryDraft("event", "One more gull.")])
        bank.change_persona(1, name=f"Ida {quota.memories}")
        assert forget_memories(bank, 1, [bank.memories(1, limit=1)[0].id]).residue == 0
    assert Bank(path).counts(1)["event"] == 1998


def test_an_import_into_a_full_bank_says_what_was_stored(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "bank.db", Quota(memories=700))
    history = tmp_path / "history.txt"
    lines = "".join(f"[2024-01-{day:02}]\n" + f"Ann: hello {day}\nBob: hello\n" * 50 for day in range(1, 20))
    history.write_text(lines)
    with pytest.raises(BankUnavailable, match=r"room for 700 memories.* turns in whole sessions .* are in the bank"):
        ingest(bank, history)
    assert 0 < bank.counts(1)["dialogue"] <= 700


def test_a_visitor_sends_sixty_messages_in_ten_minutes(marlow: Chat, clock: Clock) -> None:
    assistant = VisitorAssistant(marlow.services, 0, clock)
    for n in range(MESSAGES):
        assistant.ask(marlow.asks(f"hello {n}", remember=False))
        clock.now += 1
    with pytest.raises(MemoirError, match=r"at most 60 messages .* was not stored. Send it again in 9 min"):
        assistant.reading_with(None, "none", "auto").ask(marlow.asks("one more", remember=True))
    clock.now += MESSAGES_SECONDS - MESSAGES
    assistant.ask(marlow.asks("one more", remember=False))
    with pytest.raises(MemoirError, match="again in 1 s"):
        assistant.ask(marlow.asks("and another", remember=False))


@pytest.mark.slow
def test_the_limit_of_messages_holds_for_programs_too(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graph.server.demo.MESSAGES", 2)
    ann, ben = Visitor(client), Visitor(client)
    for each in (ann, ben):
        each.arrive()
    answers = [ann.call("ask", "Ida", "How old is Comma?", None, False) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 500]
    assert "at most 2 messages in ten minutes" in answers[-1].text
    assert ben.call("ask", "Ida", "How old is Comma?", None, False).status_code == 200


def talker(marlow: Chat, clock: Clock, tokens: int, model: FakeListChatModel | None = None) -> VisitorAssistant:
    """The assistant of a visitor whose messages a chat model replies to."""
    model = model or FakeListChatModel(responses=["So it is."])
    reading = Assistant(marlow.services).reading_with(model, "fake", "auto")
    return VisitorAssistant(reading.services, tokens, clock)


def test_when_the_tokens_are_used_up_memoir_answers_without_the_chat_model_and_says_so_once(
    marlow: Chat, clock: Clock
) -> None:
    assistant = talker(marlow, clock, tokens=1)
    readings = [assistant.ask(marlow.asks("Where is Biscuit from?", remember=False)).reading for _ in range(3)]
    assert [reading.by for reading in readings] == ["fake", "extractive", "extractive"]
    assert "You have used the demo's chat model as much as a visitor may in an hour." in readings[1].notice
    assert "for 60 min" in readings[1].notice
    assert readings[2].notice == ""
    clock.now += TOKENS_SECONDS
    assert assistant.ask(marlow.asks("Where is Biscuit from?", remember=False)).reading.by == "fake"


def test_an_answer_counts_as_its_tokens_and_one_that_failed_as_an_estimate(marlow: Chat, clock: Clock) -> None:
    assistant = talker(marlow, clock, tokens=50_000)
    figures = assistant.ask(marlow.asks("Where is Biscuit from?", remember=False)).trace
    counted = sum(line.figures.get("tokens in", 0) + line.figures.get("tokens out", 0) for line in figures)
    assert 0 < assistant._hour.used == counted < ANSWER_TOKENS
    mute = talker(marlow, clock, 50_000, FakeListChatModel(responses=[""]))
    assert mute.ask(marlow.asks("Where is Biscuit from?", remember=False)).reading.by == "extractive"
    assert mute._hour.used == ANSWER_TOKENS


def test_an_answer_that_is_stopped_counts_as_an_estimate(marlow: Chat, clock: Clock) -> None:
    assistant = talker(marlow, clock, tokens=50_000)

    async def stop_at_the_first_step() -> None:
        events = assistant.stream(marlow.asks("Where is Biscuit from?", remember=False))
        await anext(events)
        await events.aclose()

    run(stop_at_the_first_step)
    assert assistant._hour.used == ANSWER_TOKENS


@pytest.mark.slow
def test_visitors_who_come_talk_and_leave_see_nothing_of_others_and_leave_nothing(tmp_path: Path) -> None:
    """The torture of the demo (`python -m tests.torture demo`), in short."""
    (outcome,) = torture_demo.run(30, Random(7), tmp_path / "demo", visitors=6, stay=10)
    assert outcome.faults.total() == 0, outcome.examples
    assert outcome.done["visitors"] > 1
    assert outcome.done["requests"] > 0


# --- around it


def test_a_demo_with_logins_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOIR_PORT", "0")
    assert main(["--demo", "--auth"]) == 1
    assert "A demo has no logins" in capsys.readouterr().err


def test_downloads_of_a_visitor_are_where_their_page_serves_them(tmp_path: Path) -> None:
    visitor = "0123456789abcdef" * 4
    bank = Bank(tmp_path / "visitors" / visitor / "bank.db")
    bank.create_persona(PersonaDraft("Ida"))
    made = downloads.create(bank.path, "Ida", "txt", lambda path: path.write_text("x"))
    assert made.is_relative_to(tmp_path / "uploads" / visitor / downloads.FOLDER)


# --- a demo whose pages are made by the test


@asynccontextmanager
async def serve(app: ASGIApp, visitor: str) -> AsyncIterator[ASGIApp]:
    yield app


async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
    raise AssertionError(scope["path"])


serve_nothing = partial(serve, nothing)


def browser(demo: DemoMiddleware, address: str = "192.0.2.1", scheme: str = "http") -> httpx.AsyncClient:
    transport = httpx.ASGITransport(demo, client=(address, 1))
    return httpx.AsyncClient(transport=transport, base_url=f"{scheme}://localhost")


async def arrive(visitor: httpx.AsyncClient) -> httpx.Response:
    """Bring the cookie back; a page is only opened by what is asked next."""
    offered = await visitor.get("/", headers=BROWSER)
    return await visitor.get(offered.headers["location"], headers=BROWSER)
