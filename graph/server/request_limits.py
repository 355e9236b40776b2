"""Refuse requests, whoever sends them: too many, too large, from another site, or for files that are not served."""

import ipaddress
import math
import re
import shutil
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.formparsers import MultiPartException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memory import read_table
from memory.exporting import downloads

BURST, PER_SECOND = 2000, 50.0
"""Requests that one address may send at once (opening the page takes about 100), and per second in the long run."""

MAX_ADDRESSES = 10_000
"""Addresses that are counted; beyond, the one that has been quiet longest is dropped."""

BODY_SECONDS, BODY_BYTES_PER_SECOND = 60.0, 2**14
"""Seconds that a body may take, and how many more bytes of it give it a further one."""

MAX_UPLOAD_BYTES, MAX_BODY_BYTES = 512 * 2**20, 2 * 2**20
"""Most bytes of an upload, and of the body of any other request: a message of 100,000 characters has up to 1.2 million,
and a request in memory takes many times its bytes."""

MAX_TOKENS = 20_000
"""Most brackets, braces and commas of a body that is no upload, outside its strings: parsed, each takes many times its
size. A message is one string."""

SHORT = {"/gradio_api/cancel": 4096, "/gradio_api/reset": 4096}
"""Most bytes of what only names an event."""

MAX_QUEUED = 32
"""Events of one user's page that may wait for their turn."""

MAX_UPLOADS = 50
"""Uploads of one user that may wait to be imported."""

UPLOAD, FILE = "/gradio_api/upload", "/gradio_api/file"

_TABLE = read_table(__file__)
REFUSALS: Mapping[str, str] = _TABLE["refusals"]
PAGE_ROUTES, API_ROUTES = frozenset(_TABLE["routes"]["page"]), frozenset(_TABLE["routes"]["api"])


def network(client: Sequence[Any] | None) -> str:
    """What counts as one client: an IPv4 address, or the /64 of an IPv6 address, which one household has to itself."""
    address = str(client[0]) if client else ""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is None:
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(getattr(ip, "ipv4_mapped", None) or ip)


class RequestBudget:
    """A token bucket for each address: requests use it up, and time refills it."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, burst: int = BURST, per_second: float = PER_SECOND
    ) -> None:
        self._clock = clock
        self._burst, self._per_second = burst, per_second
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, address: str) -> bool:
        """Count a request of an address; return False if it has none left."""
        now = self._clock()
        left, at = self._left.pop(address, (float(self._burst), now))
        left = min(self._burst, left + (now - at) * self._per_second)
        if len(self._left) >= MAX_ADDRESSES:
            self._left.pop(next(iter(self._left)))
        self._left[address] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class JsonTokens:
    """Counts the brackets, braces and commas of JSON that comes in pieces, outside its strings."""

    def __init__(self) -> None:
        self._count, self._in_string, self._rest = 0, False, b""

    def add(self, piece: bytes) -> int:
        """Count those of a further piece; return how many there were until now."""
        # A backslash at the end may belong to the next piece's quotation mark.
        piece = self._rest + piece
        whole = piece.rstrip(b"\\")
        self._rest = piece[len(whole) :]
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[self._in_string :: 2])
        self._count += sum(map(outside.count, (b"[", b"{", b",")))
        self._in_string ^= len(parts) % 2 == 0
        if b"\0" in piece:  # UTF-16 and UTF-32, which are parsed, too, but whose strings end elsewhere
            self._count += MAX_TOKENS + 1
        return self._count


class RequestLimits:
    """Middleware before the whole app; `hosts` are the host names it answers to, None for any; `most_upload`: bytes."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] | None, most_upload: int = MAX_UPLOAD_BYTES) -> None:
        self._app = app
        self._hosts = hosts
        self._most_upload = most_upload
        self._budget = RequestBudget()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        left, headers = self._limit(scope["path"]), Headers(scope=scope)
        complete = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        counted = JsonTokens() if not scope["path"].startswith(UPLOAD) else None
        ends = time.monotonic() + BODY_SECONDS

        async def receive_limited() -> Message:
            """Cut the body off at its limit, for clients that send no length or a wrong one, and where it is slow."""
            nonlocal left, complete, ends
            message: Message = {"type": "http.disconnect"}
            with anyio.move_on_after(None if complete else ends - time.monotonic()):
                message = await receive()
            size = len(message.get("body", b""))
            left, ends = left - size, ends + size / BODY_BYTES_PER_SECOND
            complete = not message.get("more_body", False)
            if left < 0 or (counted is not None and counted.add(message.get("body", b"")) > MAX_TOKENS):
                return {"type": "http.disconnect"}
            return message

        async def send_last(message: Message) -> None:
            """Close the connection after an answer that did not wait for the body: the rest could come for ever."""
            if message["type"] == "http.response.start" and not complete:
                message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
            await send(message)

        refused = PlainTextResponse("Not found.", 404) if scope["type"] != "http" else self._refusal(scope)
        await (refused or self._app)(scope, receive_limited, send_last)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers, path = Headers(scope=scope), str(scope["path"])
        if not self._budget.take(network(scope.get("client"))):
            wait = {"Retry-After": str(math.ceil(1 / PER_SECOND))}
            return PlainTextResponse("Too many requests. Wait a moment and try again.", 429, wait)
        if self._hosts is not None and _host(headers.get("host", "")) not in self._hosts:
            # DNS rebinding: another site's name that resolves to this machine would let its scripts read everything.
            known = ", ".join(sorted(self._hosts))
            return PlainTextResponse(f"Memoir answers only to {known}. To use another name, start it with --auth.", 403)
        if not _of_this_site(headers):
            # Reading, too: Gradio would allow it to any page of this machine, whatever its port.
            return PlainTextResponse("Requests from other sites are not allowed.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._limit(path):
            return PlainTextResponse(f"A request may have at most {self._limit(path):,} bytes here.", 413)
        return None

    def _limit(self, path: str) -> int:
        return SHORT.get(path, self._most_upload if path.startswith(UPLOAD) else MAX_BODY_BYTES)


@dataclass(frozen=True, slots=True)
class FileLimits:
    """Middleware before one user's page, whose uploads and downloads are in `folder`.

    It passes on only the routes that Memoir uses, serves no files but the page's own pictures (`served`) and the user's
    downloads, and limits the uploads: their number, and the MiB that they and the user's bank take.
    """

    app: ASGIApp
    folder: Path
    served: Collection[Path]
    most_uploads: int = MAX_UPLOADS
    bank: Path | None = None
    most_megabytes: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse other files and further uploads; pass on everything else."""
        path = str(scope["path"])
        refused: PlainTextResponse | None = None
        if not _is_used(path):
            refused = PlainTextResponse("Not found.", 404)
        elif path.startswith(FILE) and not self._serves(path.removeprefix(FILE)):
            refused = PlainTextResponse("This file is not available.", 403)
        elif path.startswith(UPLOAD):
            left, too_many = self.most_uploads - self._waiting(), REFUSALS["too_many_uploads"].format(self.most_uploads)
            if full := self._is_full(int(Headers(scope=scope).get("content-length", 0))):
                refused = PlainTextResponse(full, 507)
            elif left <= 0:
                refused = PlainTextResponse(too_many, 413)
            receive = _limit_parts(scope, receive, left, too_many)
        await (refused or self.app)(scope, receive, send)

    def _serves(self, asked: str) -> bool:
        if "\0" in asked or not asked.startswith("=/"):
            return False
        file = Path(asked[1:])
        if file in self.served:
            return ".." not in file.parts
        # Resolved, so that neither ".." nor a link leads out of the folder.
        file = file.resolve()
        return file.is_relative_to(self.folder.resolve() / downloads.FOLDER)

    def _is_full(self, size: int) -> str:
        """Why there is no room for an upload; nothing if there is."""
        there = next(each for each in (self.folder, *self.folder.parents) if each.exists())
        if size > shutil.disk_usage(there).free:
            return REFUSALS["no_room"]
        if self.most_megabytes is None:
            return ""
        for path in filter(None, (*self.folder.rglob("*"), self.bank)):
            with suppress(FileNotFoundError):  # deleted meanwhile
                size += path.stat().st_size if path.is_file() else 0
        return REFUSALS["over_quota"].format(self.most_megabytes) if size > self.most_megabytes * 2**20 else ""

    def _waiting(self) -> int:
        made = self.folder / downloads.FOLDER
        return sum(1 for path in self.folder.rglob("*") if path.is_file() and not path.is_relative_to(made))


def _limit_parts(scope: Scope, receive: Receive, most: int, refusal: str) -> Receive:
    """Break an upload off when it begins more files than `most`: Gradio takes a thousand in one request.

    For this error, and not for a lost connection, Gradio deletes the files that it began, so it is raised for both.
    """
    boundaries = re.findall(r'boundary="?([-\w]+)', Headers(scope=scope).get("content-type", ""), re.IGNORECASE)
    # Of an unusual boundary only the beginning, which occurs at least as often.
    delimiter = b"--" + (boundaries[0].encode("latin-1") if len(boundaries) == 1 else b"")
    count, tail, complete = 0, b"", False

    async def receive_limited() -> Message:
        nonlocal count, tail, complete
        message = await receive()
        if message["type"] == "http.disconnect" and not complete:
            raise MultiPartException("The upload broke off.")
        complete = not message.get("more_body", False)
        window = tail + message.get("body", b"")
        count += window.count(delimiter)
        tail = window[len(window) - len(delimiter) + 1 :] if len(window) >= len(delimiter) else window
        if count > most + 1:  # one more ends the body
            raise MultiPartException(refusal)
        return message

    return receive_limited


def _is_used(path: str) -> bool:
    first, _, rest = path.removeprefix("/").partition("/")
    return first in PAGE_ROUTES and (first != "gradio_api" or re.split("[/=]", rest, maxsplit=1)[0] in API_ROUTES)


def _of_this_site(headers: Headers) -> bool:
    """Whether a page of this app sent the request, or a program that is not a browser."""
    origin = headers.get("origin")
    return origin is None or urlsplit(origin).netloc in (headers.get("host"), headers.get("x-forwarded-host"))


def _host(header: str) -> str:
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""
