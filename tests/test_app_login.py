"""Pages, streams and threads of users who log out, are removed, or arrive while another page is opened."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import gradio as gr
import httpx
import pytest
from anyio.from_thread import start_blocking_portal
from gradio.events import api
from starlette.testclient import TestClient

from app import build_page
from eval.settings import EvalSettings
from graph.server import login as login_module
from graph.server.login import (
    BROWSER,
    CHECK_SECONDS,
    COOKIE,
    FREE_OF_NAME,
    FREE_OF_NAME_ANYWHERE,
    LoginMiddleware,
)
from graph.server.page import MAX_THREADS, Page, mount_page
from graph.server.site import build_site
from graph.server.user_pages import UserPages
from graph.tab.personas import import_sample
from memory.bank.bank import Bank
from memory.bank.queries.deletion import select_everything
from memory.forgetting.forget import forget_selected
from memory.types import Quota
from memory.users import Users
from support.app_client import PASSWORDS

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Receive, Scope, Send

T = TypeVar("T")

FORM = {"username": "ann", "password": PASSWORDS["ann"]}


@pytest.fixture
def users(tmp_path: Path) -> Users:
    users = Users(tmp_path)
    for name, password in PASSWORDS.items():
        users.add(name, password)
    return users


@pytest.fixture
def client(users: Users, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The whole app in this process, where its threads can be counted."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    settings = EvalSettings(home=tmp_path, auth=True)
    with TestClient(build_site(settings, partial(build_page, settings)), follow_redirects=False) as client:
        yield client


def run(call: Callable[[], Awaitable[T]]) -> T:
    """In a thread of its own: the one of the tests may hold the browser's event loop."""
    with start_blocking_portal() as portal:
        return portal.call(call)


def at_work() -> list[str]:
    """The threads that learn and index."""
    return sorted(thread.name for thread in threading.enumerate() if thread.name in ("indexer", "learner"))


def test_removing_a_user_closes_their_page_and_leaves_no_bank(client: TestClient, users: Users, tmp_path: Path) -> None:
    assert client.post("/login", data=FORM).status_code == 200
    assert client.get("/config").status_code == 200
    (path,) = client.post("/gradio_api/upload", files={"files": ("a.txt", b"Ann: hello")}).json()
    assert at_work() == ["indexer", "learner"]
    folder = users.remove("ann", with_memory=True)
    ends = time.monotonic() + 60
    while (at_work() or Path(path).exists()) and time.monotonic() < ends:
        time.sleep(0.1)
    assert at_work() == []
    assert not Path(path).exists()
    assert not folder.exists()
    assert client.get("/config").status_code == 401


def test_a_page_that_nobody_uses_is_let_go_and_opened_again_with_its_limit(
    client: TestClient, users: Users, monkeypatch: pytest.MonkeyPatch
) -> None:
    bearer = {"Authorization": f"Bearer {users.new_token('ann')}"}
    tell = {"json": {"data": ["Ida", "My kayak is called Sturmvogel.", None]}, "headers": bearer}
    assert client.post("/gradio_api/run/remember", **tell).status_code == 200
    users.limit("ann", Quota(memories=100))
    monkeypatch.setattr(login_module, "KEEP_OPEN", 0.0)
    ends = time.monotonic() + 60
    while at_work() and time.monotonic() < ends:
        time.sleep(0.1)
    assert at_work() == []
    monkeypatch.undo()
    assert "room for 100 memories" in client.post("/gradio_api/run/remember", **tell).text


class Knot:
    """What only a search for garbage frees, as it holds itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.mark.slow
def test_open_pages_are_spared_the_search_for_garbage_and_closed_ones_are_freed(
    users: Users, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    settings, built = EvalSettings(home=tmp_path, auth=True), list[weakref.ref[gr.Blocks]]()
    left_over = list[weakref.ref[Knot]]()

    def build(*of: Any) -> gr.Blocks:
        page, knot = build_page(settings, *of), Knot()
        built.append(weakref.ref(page))
        left_over.append(weakref.ref(knot))
        gc.collect()  # only such a search of everything finds it later
        return page

    with TestClient(build_site(settings, build), follow_redirects=False) as client:
        client.post("/login", data=FORM)
        gc.unfreeze()
        assert client.get("/config").status_code == 200
        assert gc.get_freeze_count() > len(gc.get_objects())
        assert left_over[0]() is None
        monkeypatch.setattr(login_module, "KEEP_OPEN", 0.0)
        ends = time.monotonic() + 60
        while at_work() and time.monotonic() < ends:
            time.sleep(0.1)
        monkeypatch.undo()
        assert client.get("/config").status_code == 200
        assert [page() is None for page in built] == [True, False]


def test_a_user_removed_while_their_page_opens_is_refused(
    client: TestClient, users: Users, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bearer = {"Authorization": f"Bearer {users.new_token('ann')}"}
    monkeypatch.setattr(Users, "get", lambda self, user_id: None)  # between being let in and the page's turn
    assert client.get("/config", headers=bearer).status_code == 401
    assert not (tmp_path / "bank.db").exists()


def test_an_open_page_answers_while_another_is_being_opened() -> None:
    async def nothing(scope: Scope, receive: Receive, send: Send) -> None: ...

    async def waited() -> None:
        begun, ready = anyio.Event(), anyio.Event()

        @asynccontextmanager
        async def opening(user_id: str) -> AsyncIterator[ASGIApp]:
            if user_id == "ben":
                begun.set()
                await ready.wait()
            yield nothing

        pages = UserPages(opening)
        async with pages.running(), anyio.create_task_group() as tasks:
            await pages.of("ann")
            tasks.start_soon(pages.of, "ben")
            await begun.wait()
            with anyio.fail_after(20):
                assert await pages.of("ann") is nothing
            ready.set()

    run(waited)


def test_clicks_of_one_user_take_no_threads_from_another(tmp_path: Path) -> None:
    running, go_on = list[int](), threading.Event()

    def wait() -> None:
        running.append(1)
        go_on.wait(60)

    def build(endpoint: Callable[[], object]) -> FastAPI:
        with Page() as page:
            api(endpoint, api_name="click", queue=False)
        return mount_page(page, tmp_path, 1)

    def browser(app: FastAPI) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=120)

    async def crowd() -> int:
        anns, bens = build(wait), build(lambda: None)
        with anyio.fail_after(60):
            async with (
                anns.router.lifespan_context(anns),
                bens.router.lifespan_context(bens),
                browser(anns) as ann,
                browser(bens) as ben,
                anyio.create_task_group() as clicks,
            ):
                click = "/gradio_api/run/click"
                for _ in range(50):
                    clicks.start_soon(partial(ann.post, click, json={"data": []}))
                while len(running) < MAX_THREADS:
                    await anyio.sleep(0.01)
                await anyio.wait_all_tasks_blocked()
                try:
                    return (await ben.post(click, json={"data": []})).status_code
                finally:
                    go_on.set()

    assert run(crowd) == 200


def test_the_sample_is_imported_once_and_not_after_everything_was_forgotten(tmp_path: Path) -> None:
    bank = Bank(tmp_path / "bank.db")
    for _ in range(2):
        import_sample(bank)
        assert len(bank.personas()) == 1
    forget_selected(bank, [bank.personas()[0].id], select_everything)
    import_sample(bank)
    assert bank.personas() == []


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("end", ["removed", "another password", "logged out"])
def test_a_stream_ends_with_its_login(users: Users, end: str) -> None:
    clock = Clock()

    async def told() -> bytes:
        async def stream(scope: Scope, receive: Receive, send: Send) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"before", "more_body": True})
            if end == "removed":
                users.remove("ann")
            elif end == "another password":
                users.set_password("ann", "quite another one")
            else:
                await ann.post("/logout")
            clock.now += CHECK_SECONDS
            for part in (b" after", b" long after"):
                await send({"type": "http.response.body", "body": part, "more_body": True})

        @asynccontextmanager
        async def opening(user_id: str) -> AsyncIterator[ASGIApp]:
            yield stream

        pages = UserPages(opening)
        login = LoginMiddleware(users, pages, clock)
        async with pages.running(), httpx.AsyncClient(transport=httpx.ASGITransport(login), base_url="http://x") as ann:
            assert (await ann.post("/login", data=FORM)).status_code == 200
            return (await ann.get("/stream")).content

    assert run(told) == b"before"


def test_wrong_guesses_elsewhere_do_not_lock_a_user_out(users: Users) -> None:
    login = LoginMiddleware(users, UserPages(nobody_opens))

    async def try_to_log_in(address: str, password: str) -> int:
        transport = httpx.ASGITransport(login, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return (await client.post("/login", data={"username": "ann", "password": password})).status_code

    async def guess() -> list[int]:
        guessed = [await try_to_log_in(f"2001:db8::{n:x}", f"guess {n}") for n in range(8)]
        return [*guessed, await try_to_log_in("2001:db8::1", PASSWORDS["ann"])]

    answers = run(guess)
    assert answers[:3] == [401] * 3
    assert 429 in answers
    assert run(partial(try_to_log_in, "198.51.100.1", PASSWORDS["ann"])) == 200
    assert [address for _, address in users.logins(users.all()[0])] == ["198.51.100.1"]


@pytest.mark.slow
def test_a_browser_that_was_logged_in_before_gets_in_while_others_guess(users: Users) -> None:
    login = LoginMiddleware(users, UserPages(nobody_opens))

    def client(address: str) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.ASGITransport(login, client=(address, 1)), base_url="http://localhost")

    async def tried() -> list[int]:
        ann = {"username": "ann", "password": PASSWORDS["ann"]}
        async with client("192.0.2.1") as own, client("192.0.2.2") as stolen:
            await own.post("/login", data=ann)
            del own.cookies[COOKIE]
            stolen.cookies.set(BROWSER, own.cookies[BROWSER][:-1] + "?")
            for n in range(FREE_OF_NAME_ANYWHERE + 1):
                async with client(f"198.51.100.{n}") as other:
                    await other.post("/login", data=ann | {"password": f"guess {n}"})
            statuses = [(await each.post("/login", data=ann)).status_code for each in (stolen, own)]
            for n in range(FREE_OF_NAME + 1):
                statuses.append((await own.post("/login", data=ann | {"password": f"guess {n}"})).status_code)
            return statuses

    assert run(tried) == [429, 200, *[401] * FREE_OF_NAME, 429]


def test_a_login_form_that_arrives_slowly_is_cut_off(users: Users, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "FORM_SECONDS", 0.2)

    async def drip() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"a"
            await anyio.sleep(0.05)

    async def tried() -> httpx.Response:
        transport = httpx.ASGITransport(LoginMiddleware(users, UserPages(nobody_opens)))
        headers = {"content-length": "100", "content-type": "application/x-www-form-urlencoded"}
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.post("/login", content=drip(), headers=headers)

    answered = run(tried)
    assert (answered.status_code, answered.headers["connection"]) == (408, "close")


@asynccontextmanager
async def nobody_opens(user_id: str) -> AsyncIterator[ASGIApp]:
    raise AssertionError(user_id)
    yield
