"""Build the whole web app around the pages, and serve it: headers, limits, login or demo if wanted, then the page.

It says whether it is well (`/health`), and counts and logs its requests, without what they hold (`/metrics`).
"""

import asyncio
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NoReturn

import h11
import uvicorn
from anyio import create_task_group, sleep, to_thread
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from graph.models.hosted.profile import is_loopback
from graph.server.demo import DemoMiddleware
from graph.server.login import LoginMiddleware
from graph.server.page import isolate_pages
from graph.server.request_limits import RequestLimits
from graph.server.user_pages import BuildPage, PageOpener, UserPages
from graph.settings import Settings
from graph.tab.personas import import_sample
from memory import read_table
from memory.bank.bank import Bank
from memory.cli.program import OWN_FILES_ONLY
from memory.embedding.embedder import shared
from memory.errors import MemoirError
from memory.exporting.downloads import VISITORS
from memory.formatting import format_count
from memory.users import Users

LOOPBACK = ("127.0.0.1", "localhost", "::1")

HEADER_SECONDS = 10.0
"""Seconds in which a client must send the headers of a request."""

CLEAN_UP_SECONDS, KEEP_SECONDS = 600.0, 3600.0
"""Seconds between two clean-ups, and how long a file is kept. An upload that broke off is a file like any other."""

HEADERS: Mapping[str, str] = read_table(__file__)["headers"]
"""What browsers are told: nothing comes from other sites, and only those in `frames` may show the page."""

SAME_FOR_EVERYBODY = ("/assets/", "/static/", "/svelte/")
"""Gradio's own files: a phone need not load them again with each page."""

ROUTE_DEPTH = 3
"""Parts of a path that are named: those after them may be names of files and of events."""


def build_site(settings: Settings, build_page: BuildPage) -> Starlette:
    """Build the app that any ASGI server can run. Files made from now on can be read by this account only.

    Raises:
        MemoirError: the bank cannot be used, there are no users to log in, or both a login and a demo are wanted.
    """
    os.umask(OWN_FILES_ONLY)
    users = Users(settings.home)
    _check_bank(settings, users)
    isolate_pages()
    os.environ["GRADIO_TEMP_DIR"] = str(settings.home / "uploads")
    opener = PageOpener(settings, users, build_page)
    pages = UserPages(opener.open)
    login = LoginMiddleware(users, pages) if settings.auth else None
    demo = DemoMiddleware(pages, framed=bool(settings.demo_frame)) if settings.demo else None

    async def only_page(scope: Scope, receive: Receive, send: Send) -> None:
        await (await pages.of(""))(scope, receive, send)

    ended = threading.Event()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        for folder in (VISITORS, "uploads") if demo else ():  # left over if the last run was killed
            shutil.rmtree(settings.home / folder, ignore_errors=True)
        async with pages.running(), create_task_group() as tasks:
            if login is not None:
                tasks.start_soon(login.close_unused_pages)
            elif demo is not None:
                tasks.start_soon(demo.close_pages_of_gone)
                tasks.start_soon(to_thread.run_sync, opener.make_sample, ended.is_set)
            else:
                await pages.of("")
            tasks.start_soon(delete_old_forever, settings.home / "uploads")
            print(_greeting(settings, users), flush=True)
            yield
            ended.set()
            tasks.cancel_scope.cancel()

    check = users.all if login or demo else Bank(settings.bank_path).personas
    health = Health(check, settings.embedding_model, logs=bool(login or demo))
    hosts = LOOPBACK if settings.host in LOOPBACK and not (login or demo) else None
    limits = Middleware(RequestLimits, hosts=hosts, most_upload=opener.most_upload)
    middleware = [Middleware(finished, frames=settings.demo_frame if demo else "", note=health.note), limits]
    routes = [*health.routes, Mount("/", login or demo or only_page)]
    return Starlette(routes=routes, middleware=middleware, lifespan=lifespan)


def serve(settings: Settings, build_page: BuildPage) -> None:
    """Serve the app until it is interrupted.

    Raises:
        MemoirError: the port is taken, the bank cannot be used, or there are no users to log in.
    """
    _check_port(settings.host, settings.port)
    if not settings.auth and not settings.demo and settings.host not in LOOPBACK:
        print(f"memoir: anyone who reaches {settings.host} can read your memories; use --auth", file=sys.stderr)
    shutil.rmtree(settings.home / "uploads", ignore_errors=True)  # left over if the last run was killed
    uvicorn.run(
        build_site(settings, build_page),
        host=settings.host,
        port=settings.port,
        http=HeaderTimeoutProtocol,
        log_level="warning",
        proxy_headers="FORWARDED_ALLOW_IPS" in os.environ,  # else any client could claim any address
        server_header=False,
        timeout_graceful_shutdown=2,  # an open page never stops listening
    )


def finished(app: ASGIApp, frames: str, note: Callable[[Scope, int, float], None]) -> ASGIApp:
    """The app with `HEADERS` added to its responses, and each request noted with its status and its seconds.

    All but Gradio's own files is kept out of caches. The origins in `frames` may show the app in a frame.
    """
    added = {name: text.format(frames=frames or "'none'") for name, text in HEADERS.items()}
    if not frames:
        added["X-Frame-Options"] = "DENY"  # for browsers that do not know frame-ancestors

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status, headers = message["status"], MutableHeaders(scope=message)
                headers.update(added)
                if not scope["path"].startswith(SAME_FOR_EVERYBODY):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        try:
            await app(scope, receive, send_with_headers)
        finally:
            if scope["type"] == "http":
                note(scope, status, time.perf_counter() - started)

    return answer


class Health:
    """The two routes, and what they count; `check` reads the bank, or the users, and raises MemoirError."""

    def __init__(self, check: Callable[[], object], embedding_model: str, *, logs: bool) -> None:
        self._check, self._model, self._logs = check, embedding_model, logs
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        labels = ("method", "route", "status")
        self._seconds = Histogram("memoir_request_seconds", "Seconds of a request", labels, registry=self._registry)
        self.routes = [Route("/health", self.tell), Route("/metrics", self.count)]

    async def tell(self, request: Request) -> Response:
        """Whether the bank opens, and whether the embedding model is loaded; status 503 if the bank does not."""
        try:
            await to_thread.run_sync(self._check)
            opens = True
        except MemoirError:
            opens = False
        loaded = shared(self._model).ready
        return JSONResponse({"bank_opens": opens, "model_loaded": loaded}, 200 if opens else 503)

    def count(self, request: Request) -> Response:
        """What Prometheus reads; only for programs on this machine, and not through a proxy."""
        host = request.client.host if request.client else ""
        if "x-forwarded-for" in request.headers or not is_loopback(host):
            return PlainTextResponse("Not found", 404)
        return Response(generate_latest(self._registry), media_type="text/plain; version=0.0.4")

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request, and log it where several users do."""
        route = "/".join(scope["path"].partition("=")[0].split("/")[: ROUTE_DEPTH + 1])
        method, route = (scope["method"], route) if status < 400 else ("any", "any")  # or anybody could make up many
        self._seconds.labels(method, route, status).observe(seconds)
        if self._logs:
            print(f"{method} {route} {status} {seconds * 1000:.0f} ms", file=sys.stderr, flush=True)


class HeaderTimeoutProtocol(H11Protocol):
    """uvicorn's HTTP/1.1, which closes connections whose headers do not come; each would keep a file open for ever."""

    _timeout: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._await_headers()

    def data_received(self, data: bytes) -> None:
        """Stop waiting once the headers are complete; wait anew where a further request begins."""
        super().data_received(data)
        self._await_headers()

    def _await_headers(self) -> None:
        if self.conn.their_state is h11.IDLE:
            # Of a connection that was lost meanwhile, closing does nothing.
            self._timeout = self._timeout or self.loop.call_later(HEADER_SECONDS, self.transport.close)
        elif self._timeout is not None:
            self._timeout.cancel()
            self._timeout = None


async def delete_old_forever(folder: Path) -> NoReturn:
    """Delete the old files below a folder every ten minutes, for as long as the app runs."""
    while True:
        await to_thread.run_sync(delete_old, folder)
        await sleep(CLEAN_UP_SECONDS)


def delete_old(folder: Path) -> None:
    """Delete the files below a folder that are older than an hour, and the folders that have been empty for as long.

    The folders right in it belong to users, and stay.
    """
    oldest = time.time() - KEEP_SECONDS
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        with suppress(OSError):  # in use, not empty, or deleted meanwhile
            if path.lstat().st_ctime >= oldest:
                continue
            if not path.is_dir():
                path.unlink()
            elif path.parent != folder:
                path.rmdir()


def _check_bank(settings: Settings, users: Users) -> None:
    """Fail before anything is served, not when the first page is opened."""
    if settings.auth and settings.demo:
        raise MemoirError("A demo has no logins. Leave out either --auth (MEMOIR_AUTH) or --demo (MEMOIR_DEMO).")
    if not settings.auth and not settings.demo:
        import_sample(Bank(settings.bank_path))
    elif settings.auth and not users.all():
        raise MemoirError("There are no users yet. Add one first: python -m memory user add NAME")


def _check_port(host: str, port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            raise MemoirError(
                f"Cannot listen on http://{host}:{port} ({fault.strerror}). Another program, or another Memoir, "
                "uses this port: stop it, or set MEMOIR_PORT to another number."
            ) from fault


def _greeting(settings: Settings, users: Users) -> str:
    memory = format_count(len(users.all()), "user") if settings.auth else f"bank: {settings.bank_path}"
    memory = "demo: what visitors tell is deleted an hour after they leave" if settings.demo else memory
    return f"Memoir is at http://{settings.host}:{settings.port} ({memory})"
