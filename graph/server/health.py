"""Say whether the app is well (`/health`), and count and log its requests, without what they hold (`/metrics`)."""

import sys
import time
from collections.abc import Callable

from anyio import to_thread
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.models.hosted.profile import is_loopback
from memory.embedding.embedder import shared
from memory.errors import MemoirError

DEPTH = 3
"""Parts of a path that are named: those after them may be names of files and of events."""


class Health:
    """The two routes, and the middleware that counts; `check` reads the bank, or the users, and raises MemoirError."""

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

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """The app with its requests counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            started, status = time.perf_counter(), 500

            async def note_status(message: Message) -> None:
                nonlocal status
                status = message.get("status", status)
                await send(message)

            try:
                await app(scope, receive, note_status)
            finally:
                self._note(scope, status, time.perf_counter() - started)

        return counted

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = "/".join(scope["path"].partition("=")[0].split("/")[: DEPTH + 1])
        method, route = (scope["method"], route) if status < 400 else ("any", "any")  # or anybody could make up many
        self._seconds.labels(method, route, status).observe(seconds)
        if self._logs:
            print(f"{method} {route} {status} {seconds * 1000:.0f} ms", file=sys.stderr, flush=True)
