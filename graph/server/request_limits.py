"""What no request gets past, whoever makes it: too many of them, too large, from another site, or for other files."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory.exporting import downloads

BURST, PER_SECOND = 2000, 50.0
"""Requests of one address: at once (opening the page takes some 100), and for as long as it likes."""

ADDRESSES = 10_000
"""Addresses that are counted; beyond, those that have been quiet are forgotten."""

LARGEST_UPLOAD, LARGEST = 512 * 2**20, 32 * 2**20
"""Bytes of an upload, and of any other request: a long chat is sent whole with each of its messages."""

MOST_UPLOADS = 50
"""Files of one user that may wait to be imported."""

UPLOAD, FILE = "/gradio_api/upload", "/gradio_api/file"


class Buckets:
    """How many requests each address has left; they come back with time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, address: str) -> bool:
        """Take one of an address's requests; False if it has none left."""
        now = self._clock()
        left, at = self._left.pop(address, (float(BURST), now))
        left = min(BURST, left + (now - at) * PER_SECOND)
        if len(self._left) >= ADDRESSES:
            self._left.pop(next(iter(self._left)))  # of all, the one that asked last the longest ago
        self._left[address] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class RequestLimits:
    """Stands before the whole app. `hosts` are the names it answers to, any if None."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts
        self._buckets = Buckets()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, or hand it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse("There is nothing here.", 404) if scope["type"] != "http" else self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await _Measured(self._app, _limit(scope["path"]))(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers, path = Headers(scope=scope), str(scope["path"])
        client = scope.get("client")
        if not self._buckets.take(client[0] if client else ""):
            wait = {"Retry-After": str(math.ceil(1 / PER_SECOND))}
            return PlainTextResponse("Too many requests. Wait a moment, then go on.", 429, wait)
        if self._hosts is not None and _host(headers.get("host", "")) not in self._hosts:
            # A name that somebody else's server made point here lets that site's scripts read what they like.
            known = ", ".join(sorted(self._hosts))
            return PlainTextResponse(f"Memoir answers as {known} only; other names need --auth.", 403)
        if not _of_this_site(headers):
            # To read, too: Gradio lets every page of this machine, whatever its port.
            return PlainTextResponse("Only Memoir's own pages may do this.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > _limit(path):
            return _too_large(path)
        return None


class FileLimits:
    """Stands before one user's page, whose uploads and downloads lie in `folder`.

    It serves the page's own pictures (`served`) and downloads, and takes in so many uploads at a time.
    """

    def __init__(self, app: ASGIApp, folder: Path, served: Collection[Path]) -> None:
        self._app = app
        self._folder = folder
        self._served = frozenset(served)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on, unless it is for another file, or one upload too many."""
        path = str(scope["path"])
        if path.startswith(FILE) and not self._serves(path.removeprefix(FILE)):
            await PlainTextResponse("This file is not served.", 403)(scope, receive, send)
        elif path.startswith(UPLOAD) and self._full():
            text = f"{MOST_UPLOADS} uploads wait already. Import one of them, or wait an hour."
            await PlainTextResponse(text, 413)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _serves(self, asked: str) -> bool:
        if "\0" in asked or not asked.startswith("=/"):
            return False
        file = Path(asked[1:])
        if file in self._served:
            return ".." not in file.parts
        # Resolved: neither ".." nor a link leads out of the folder, or to what was uploaded.
        file = file.resolve()
        return file.is_relative_to(self._folder.resolve()) and downloads.NAME_MARK in file.name

    def _full(self) -> bool:
        # Each lies in a folder of its own.
        return self._folder.is_dir() and sum(1 for _ in self._folder.rglob("*")) >= 2 * MOST_UPLOADS


class _Measured:
    """Hands on no more of a body than its limit: a client need not tell the length beforehand, or the true one."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._left = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def measured() -> Message:
            message = await receive()
            self._left -= len(message.get("body", b""))
            return message if self._left >= 0 else {"type": "http.disconnect"}

        await self._app(scope, measured, send)


def _limit(path: str) -> int:
    return LARGEST_UPLOAD if path.startswith(UPLOAD) else LARGEST


def _too_large(path: str) -> PlainTextResponse:
    return PlainTextResponse(f"At most {_limit(path) >> 20} MiB at once.", 413)


def _of_this_site(headers: Headers) -> bool:
    """Whether a page of this app sent it, or a program that is no browser."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc in (headers.get("host"), headers.get("x-forwarded-host"))


def _host(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
