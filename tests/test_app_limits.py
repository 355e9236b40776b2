"""Requests that are refused: too many, too large, from another site, to another host name, for other files."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import psutil
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from starlette.formparsers import MultiPartException
from starlette.responses import PlainTextResponse

from graph.server import request_limits, site
from graph.server.login import FORGET_AFTER, MAX_WAIT, LoginBackoff
from graph.server.request_limits import (
    BURST,
    MAX_ADDRESSES,
    MAX_BODY_BYTES,
    MAX_QUEUED,
    MAX_TOKENS,
    MAX_UPLOADS,
    PER_SECOND,
    FileLimits,
    JsonTokens,
    RequestBudget,
    RequestLimits,
    network,
)
from graph.tab.chats import MAX_MESSAGE
from support.app_client import HELD, Program
from support.browser_app import App

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

pytestmark = pytest.mark.slow

ELSEWHERE = """
import socket
was = socket.getaddrinfo
socket.getaddrinfo = lambda host, *rest, **more: was("127.0.0.1" if host == "huggingface.co" else host, *rest, **more)
"""
"""To the app, a name that Gradio fetches from without looking where it leads is a server of the test's."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    (tmp_path_factory.getbasetemp() / "sitecustomize.py").write_text(ELSEWHERE)
    running = App(tmp_path_factory.mktemp("limits"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(tmp_path_factory.getbasetemp()))
        running.start()
    yield running
    running.stop()


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_the_request_budget_of_an_address_refills_with_time() -> None:
    clock = Clock()
    budget = RequestBudget(clock)
    assert sum(budget.take("a") for _ in range(10_000)) == BURST
    assert budget.take("b")
    clock.now += 2
    assert sum(budget.take("a") for _ in range(10_000)) == 2 * PER_SECOND


def test_the_number_of_counted_addresses_is_limited() -> None:
    budget = RequestBudget(Clock())
    for n in range(MAX_ADDRESSES + 100):
        budget.take(str(n))
    assert len(budget._left) == MAX_ADDRESSES


def test_failed_logins_back_off_exponentially_until_forgotten() -> None:
    clock = Clock()
    backoff = LoginBackoff(clock)
    waits = []
    for _ in range(14):
        backoff.add_failure("ann")
        waits.append(backoff.wait("ann", 3))
    assert waits[:6] == [0, 0, 2, 4, 8, 16]
    assert waits[-1] == MAX_WAIT
    assert backoff.wait("ben", 3) == 0
    clock.now += FORGET_AFTER
    assert backoff.wait("ann", 3) == 0


def test_addresses_of_one_ipv6_network_count_as_one_client() -> None:
    def of(address: str) -> str:
        return network((address, 50000))

    assert of("2001:db8:1:2:3::4") == of("2001:db8:1:2:ffff::1%eth0") == "2001:db8:1:2::/64"
    assert of("2001:db8:1:3::4") != of("2001:db8:1:2::4")
    assert of("::ffff:192.0.2.7") == of("192.0.2.7") == "192.0.2.7"
    assert of("testclient") == "testclient"


def test_a_request_that_is_not_sent_to_its_end_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site, "HEADER_SECONDS", 0.3)

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(1)
        await PlainTextResponse("answered")(scope, receive, send)

    config = uvicorn.Config(slow, port=0, http=site.HeaderTimeoutProtocol, lifespan="off", log_level="error")
    server = uvicorn.Server(config)
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        address = listening.getsockname()
        for begun in (b"", b"GET / HTTP/1.1\r\nHost: loc"):
            with socket.create_connection(address, timeout=30) as half:
                half.sendall(begun)
                assert half.recv(100) == b""
        with socket.create_connection(address, timeout=30) as whole:
            whole.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert whole.recv(1000).startswith(b"HTTP/1.1 200")
    finally:
        server.should_exit = True
        thread.join()


def test_a_body_that_comes_byte_by_byte_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.3)

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def receive() -> Message:
        await asyncio.sleep(0.05)
        return {"type": "http.request", "body": b"a", "more_body": True}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    async def ask() -> None:
        headers = [(b"content-length", b"2000")]
        scope = {"type": "http", "path": "/gradio_api/upload", "headers": headers, "client": ("192.0.2.7", 1)}
        await asyncio.wait_for(RequestLimits(read, hosts=None)(scope, receive, send), 10)

    asyncio.run(ask())


@pytest.mark.parametrize(("length", "closed"), [(b"2000", [b"close"]), (b"0", [])])
def test_an_answer_that_did_not_wait_for_the_body_closes_the_connection(length: bytes, closed: list[bytes]) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return await asyncio.sleep(3600, {})

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/", "headers": [(b"content-length", length)], "client": ("192.0.2.7", 1)}
    asyncio.run(RequestLimits(PlainTextResponse("Log in first.", 401), hosts=None)(scope, receive, send))
    assert [value for name, value in sent[0]["headers"] if name == b"connection"] == closed


def test_a_body_that_stops_coming_ends_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.2)
    heard: list[str] = []

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(2):
            heard.append((await receive())["type"])

    async def ask() -> None:
        parts = [{"type": "http.request", "body": b"a", "more_body": True}]

        async def receive() -> Message:
            return parts.pop() if parts else await asyncio.sleep(3600, {})

        async def send(message: Message) -> None:
            raise AssertionError(message)

        scope = {"type": "http", "path": "/gradio_api/run/ask", "headers": [], "client": ("192.0.2.7", 1)}
        await RequestLimits(read, hosts=None)(scope, receive, send)

    asyncio.run(ask())
    assert heard == ["http.request", "http.disconnect"]


@pytest.mark.parametrize("path", ["", "config", "gradio_api/file=/etc/passwd", "nowhere"])
@pytest.mark.parametrize("origin", [{}, {"Origin": "http://elsewhere.invalid"}])
def test_every_response_forbids_frames_foreign_content_guessed_types_and_caches(
    app: App, path: str, origin: dict[str, str]
) -> None:
    headers = Program(app).http.get(path, headers=origin).headers
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        *("deep_link?session_hash=x", "gradio_api/deep_link?session_hash=x", "gradio_api/process_recording"),
        *("gradio_api/proxy=http://127.0.0.1/", "gradio_api/stream/x", "gradio_api/component_server", "monitoring"),
        *("gradio_api/dev/reload", "runs", "gradio_api/custom_component/x/client/y/z"),
    ],
)
def test_routes_of_gradio_that_memoir_does_not_use_are_closed(app: App, path: str) -> None:
    assert Program(app).http.get(path).status_code == 404
    assert Program(app).http.post(path).status_code == 404


def test_old_uploads_are_deleted_whoever_left_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "uploads"
    for name in ("all/abc/history.json", "all/tmpaborted", "all/downloads/tmp1/ida.jsonl"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("what was said")
    site.delete_old(folder)
    assert (folder / "all/tmpaborted").is_file()
    monkeypatch.setattr(site, "KEEP_SECONDS", -60.0)
    site.delete_old(folder)
    assert list(folder.rglob("*")) == [folder / "all"]


def test_a_flood_of_requests_is_refused_while_another_client_is_served(app: App) -> None:
    try:
        socket.create_server(("127.0.0.3", 0)).close()
    except OSError:
        pytest.skip("this machine has but one address of its own to ask from")
    flood = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30, source_address=("127.0.0.3", 0))
    answered = {200: 0, 429: 0}
    for _ in range(10_000):
        flood.request("GET", "/robots.txt")
        answer = flood.getresponse()
        answer.read()
        answered[answer.status] += 1
    flood.close()
    assert answered[429] > 1000
    assert answered[200] >= BURST
    for _ in range(20):
        assert Program(app).http.get("/config").status_code == 200


def test_the_app_listens_on_loopback_only(app: App) -> None:
    heard = [c.laddr for c in psutil.Process(app.pid).net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert [(where.ip, where.port) for where in heard] == [("127.0.0.1", app.port)]


@pytest.mark.parametrize("host", ["elsewhere.invalid", "127.0.0.1.elsewhere.invalid", "", "[", "127.0.0.2"])
def test_a_foreign_host_name_is_refused(app: App, host: str) -> None:
    assert httpx.get(f"{app.url}config", headers={"Host": host}).status_code in (400, 403)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_own_host_names_are_answered(app: App, host: str) -> None:
    assert httpx.get(f"{app.url}config", headers={"Host": f"{host}:{app.port}"}).status_code == 200


@pytest.mark.parametrize("origin", ["http://elsewhere.invalid", "null", "http://127.0.0.1:1", "x"])
def test_requests_from_another_origin_are_refused(app: App, origin: str) -> None:
    client = Program(app).http
    for path, sent in (
        ("/gradio_api/run/remember", {"json": {"data": ["Ida", "A gull sat on the roof.", None]}}),
        ("/gradio_api/upload", {"files": {"files": ("a.txt", b"x")}}),
        ("/gradio_api/mcp/", {"json": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}),
    ):
        assert client.post(path, headers={"Origin": origin}, **sent).status_code == 403
    assert client.get("/config", headers={"Origin": origin}).status_code == 403
    own = {"Origin": app.url.rstrip("/")}
    assert client.post("/gradio_api/run/list_personas", headers=own, json={"data": []}).status_code == 200


@pytest.mark.parametrize(
    ("path", "size"), [("/gradio_api/upload", 2**29 + 1), ("/gradio_api/run/ask", MAX_BODY_BYTES + 1)]
)
def test_a_request_declared_too_large_is_refused_unread(app: App, path: str, size: int) -> None:
    line = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    line.putrequest("POST", path)
    line.putheader("Content-Length", str(size))
    line.endheaders()
    assert line.getresponse().status == 413
    line.close()


def test_a_body_without_a_length_is_cut_off_at_the_limit(app: App) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield b" " * 2**20

    try:
        status = httpx.post(f"{app.url}gradio_api/run/ask", content=endless(), timeout=60).status_code
    except httpx.TransportError:
        status = 0
    assert status != 200
    assert Program(app).http.get("/config").status_code == 200


JSON = st.recursive(st.none() | st.text(max_size=8), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(JSON, st.integers(1, 9), st.booleans())
def test_json_is_counted_alike_in_whatever_pieces_it_comes(value: object, size: int, ascii: bool) -> None:
    body, counted = json.dumps(value, ensure_ascii=ascii).encode(), JsonTokens()
    pieces = [body[begin : begin + size] for begin in range(0, len(body), size)]

    def tokens(part: object) -> int:
        inner = list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max(0, len(inner) - 1) + sum(map(tokens, inner))

    assert [counted.add(piece) for piece in pieces][-1] == tokens(value)


def test_a_body_of_brackets_is_not_parsed(app: App) -> None:
    body = b'{"data": [' + b'{"a":[]},' * 200_000 + b"0]}"
    assert httpx.post(f"{app.url}gradio_api/run/ask", content=body, timeout=60).status_code == 400
    assert Program(app).http.get("/config").status_code == 200


def test_a_body_in_another_encoding_is_not_parsed() -> None:
    assert JsonTokens().add('{"data": []}'.encode("utf-16-le")) > MAX_TOKENS


def test_what_only_names_an_event_is_short(app: App) -> None:
    refused = httpx.post(f"{app.url}gradio_api/cancel", content=b" " * 5000, timeout=60)
    assert (refused.status_code, refused.text) == (413, "A request may have at most 4,096 bytes here.")


def test_the_longest_message_is_within_the_limit_of_a_body_however_it_is_encoded() -> None:
    longest = json.dumps({"data": ["Ida", "\N{SLICE OF PIZZA}" * MAX_MESSAGE, None]})
    assert len(longest) < MAX_BODY_BYTES


@pytest.mark.parametrize("header", ["boundary=ab", 'Boundary="ab"', "boundary=x; boundary=ab", "boundary*=ab"])
@pytest.mark.parametrize("piece", [1, 7, 10_000])
def test_one_request_brings_no_more_files_than_may_wait(tmp_path: Path, header: str, piece: int) -> None:
    def heard(files: int) -> list[str]:
        body = b"".join(b"--ab\r\nContent-Disposition: form-data\r\n\r\n1\r\n" for _ in range(files)) + b"--ab--"
        pieces = [body[n : n + piece] for n in range(0, len(body), piece)]
        parts = iter([{"type": "http.request", "body": part} for part in pieces])
        types: list[str] = []

        async def receive() -> Message:
            return next(parts)

        async def read(scope: Scope, receive: Receive, send: Send) -> None:
            for _ in pieces:
                types.append((await receive())["type"])

        async def send(message: Message) -> None:
            raise AssertionError(message)

        headers = [(b"content-type", f"multipart/form-data; {header}".encode())]
        scope = {"type": "http", "path": "/gradio_api/upload", "headers": headers}
        asyncio.run(FileLimits(read, tmp_path, ())(scope, receive, send))
        return types

    with pytest.raises(MultiPartException, match="At most 50 uploads"):
        heard(300)
    assert set(heard(MAX_UPLOADS // 2)) == {"http.request"}


def test_an_upload_that_breaks_off_leaves_nothing(app: App) -> None:
    def files() -> set[Path]:
        return {path for path in (app.home / "uploads").rglob("*") if path.is_file()}

    Program(app).events()  # building the page leaves files of its own
    before = files()
    head = 'Content-Disposition: form-data; name="files"; filename="a.txt"'
    line = http.client.HTTPConnection("127.0.0.1", app.port, timeout=30)
    line.putrequest("POST", "/gradio_api/upload")
    line.putheader("Content-Type", "multipart/form-data; boundary=ab")
    line.putheader("Content-Length", "5000")
    line.endheaders(f"--ab\r\n{head}\r\n\r\nmy diary".encode())
    wait_until(lambda: files() != before)
    line.close()
    wait_until(lambda: files() == before)


def wait_until(what: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_an_upload_for_which_the_disk_has_no_room_is_refused_in_words(tmp_path: Path) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return await asyncio.sleep(3600, {})

    scope = {"type": "http", "path": "/gradio_api/upload", "headers": [(b"content-length", b"%d" % 10**18)]}
    asyncio.run(FileLimits(PlainTextResponse("taken"), tmp_path / "uploads", ())(scope, receive, send))
    assert sent[0]["status"] == 507
    assert b"no room" in sent[1]["body"]


def test_an_upload_that_would_exceed_what_its_user_may_store_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / "waiting.txt").write_bytes(b"x" * 2**19)
    (tmp_path / "bank.db").write_bytes(b"x" * 2**18)

    def answer(size: int) -> tuple[int, bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        scope = {"type": "http", "path": "/gradio_api/upload", "headers": [(b"content-length", b"%d" % size)]}
        taken = PlainTextResponse("taken")
        limits = FileLimits(taken, tmp_path / "uploads", (), bank=tmp_path / "bank.db", most_megabytes=1)
        asyncio.run(limits(scope, receive, send))
        return sent[0]["status"], sent[1]["body"]

    assert answer(2**18) == (200, b"taken")
    status, said = answer(2**18 + 1)
    assert status == 507
    assert b"You may store 1 MB, and there is no room left for this file" in said


def test_no_more_events_wait_than_the_queue_takes(app: App) -> None:
    program = Program(app)
    (path,) = program.put("long.txt", b"[2024-01-01]\n" + b"Ann: hello\nBob: hello\n" * 1000).json()
    upload = next(e["id"] for e in program.events() if any(t[1] == "upload" for t in e["targets"]))
    file = {"path": path, "meta": HELD}
    accepted = next(n for n in range(2 * MAX_QUEUED) if not program.join(upload, [file], f"window {n}"))
    Path(path).unlink()
    assert accepted >= MAX_QUEUED


def test_uploads_are_not_served_and_their_number_is_limited(app: App) -> None:
    client = Program(app)
    paths = [client.put(f"like-a-download.memoir-{n}-.txt", b"%d" % n) for n in range(MAX_UPLOADS + 1)]
    assert [answer.status_code for answer in paths[:MAX_UPLOADS]] == [200] * MAX_UPLOADS
    assert paths[-1].status_code == 413
    assert "Import one of them" in paths[-1].text
    first = Path(paths[0].json()[0])
    assert first.is_relative_to(app.home / "uploads")
    assert client.http.get(f"/gradio_api/file={first}").status_code == 403
    assert client.http.get(f"/gradio_api/file={app.home / 'bank.db'}").status_code == 403


def test_an_url_in_place_of_a_file_is_not_fetched(app: App) -> None:
    asked: list[str] = []

    class Elsewhere(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            address = f"http://huggingface.co:{server.server_port}/history.txt"
            assert "Memoir does not fetch" in Program(app).look_into(address)
        finally:
            server.shutdown()
    assert asked == []


def test_files_of_the_app_are_closed_to_other_accounts(app: App) -> None:
    made = [path for path in app.home.rglob("*") if path.name != "app.log"]
    assert app.home / "bank.db" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []
