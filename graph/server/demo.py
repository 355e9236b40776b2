"""Serve a public demo: each visitor has a page and a bank of their own, until an hour after their last request."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from typing import NoReturn

from anyio import sleep
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from graph.server.login import digest, is_browser
from graph.server.request_limits import RequestBudget, network
from graph.server.user_pages import UserPages
from memory.formatting import format_count
from memory.tab.parts import render

COOKIE = "memoir-visitor"

STAY_SECONDS = 3600.0
"""Seconds that a visitor may be idle before their page is closed and their bank deleted."""

MAX_VISITORS = 100
"""Visitors at once: the page of each takes some 12 MB of memory."""

NEW_VISITORS, NEW_SECONDS = 10, 60.0
"""New visitors from one address at once, and seconds until there may be a further one: ten in ten minutes."""

MAX_OFFERED = 10_000
"""Cookies that were sent and have not come back yet; beyond, the oldest is no longer valid."""

CHECK_SECONDS = 5.0
"""Seconds between two checks for visitors who left."""

BEGIN = "/begin"
"""Where a browser shows that it keeps the cookie."""

NO_COOKIE = (
    "This demo needs a cookie, to tell you from its other visitors. Your browser did not keep it. Allow cookies for "
    "this site, or open the demo in a window of its own."
)
FULL = f"All {MAX_VISITORS} places of this demo are taken. Come back in about {{}}."
TOO_MANY = "Too many new visitors came from your address. Come back in a minute."
UNKNOWN = (
    "Your visit to this demo has ended, or has not begun. What a visitor told is deleted an hour after the last click. "
    "Open or reload the page to begin."
)


class DemoMiddleware:
    """Serves each visitor's page to that visitor.

    Only browsers that keep the cookie become visitors, so no other client makes a page. The cookie is random; the
    server keeps a hash of it, which also names the visitor's page and folder. With `framed`, it works in other sites'
    frames.
    """

    def __init__(self, pages: UserPages, *, framed: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._pages = pages
        self._framed = framed
        self._clock = clock
        self._offered: dict[str, None] = {}
        self._seen: dict[str, float] = {}
        self._newcomers = RequestBudget(clock, NEW_VISITORS, 1 / NEW_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request with the page of the visitor who sent it, or with the way to become one."""
        request = Request(scope, receive)
        visitor = digest(request.cookies.get(COOKIE, ""))
        if visitor not in self._seen:
            await self._admit(request, visitor)(scope, receive, send)
            return
        self._seen[visitor] = self._clock()
        if request.url.path == BEGIN:
            await _redirect("/", request)(scope, receive, send)
            return
        page = await self._pages.of(visitor)
        await page(scope, receive, self._while_here(visitor, send))

    async def close_pages_of_gone(self) -> NoReturn:
        """Close the pages of visitors who left, for as long as the app runs."""
        while True:
            oldest = self._clock() - STAY_SECONDS
            self._seen = {visitor: at for visitor, at in self._seen.items() if at > oldest}
            self._pages.close_all_but(self._seen)
            await sleep(CHECK_SECONDS)

    def _admit(self, request: Request, visitor: str) -> Response:
        """Offer a browser the cookie, or let in one that brings it back."""
        if request.method != "GET" or not is_browser(request):
            return JSONResponse({"error": UNKNOWN}, 401)
        if visitor not in self._offered:
            return _plain(NO_COOKIE, 403) if request.url.path == BEGIN else self._offer_cookie(request)
        if len(self._seen) >= MAX_VISITORS:
            wait = min(self._seen.values()) + STAY_SECONDS - self._clock()
            return _plain(FULL.format(format_count(max(1, math.ceil(wait / 60)), "minute")), 503, wait)
        if not self._newcomers.take(network(request.client.host if request.client else "")):
            return _plain(TOO_MANY, 429, NEW_SECONDS)
        del self._offered[visitor]
        self._seen[visitor] = self._clock()
        return _redirect("/", request)

    def _offer_cookie(self, request: Request) -> Response:
        token = secrets.token_urlsafe(32)
        if len(self._offered) >= MAX_OFFERED:
            del self._offered[next(iter(self._offered))]
        self._offered[digest(token)] = None
        response = _redirect(BEGIN, request)
        secure = "; Secure" if request.url.scheme == "https" else ""
        # Starlette writes "Partitioned" on Python 3.14 only: another site's page gets a cookie of its own with it.
        site = "SameSite=None; Secure; Partitioned" if self._framed else f"SameSite=Lax{secure}"
        response.headers["Set-Cookie"] = f"{COOKIE}={token}; Path=/; HttpOnly; {site}"
        return response

    def _while_here(self, visitor: str, send: Send) -> Send:
        """Cut a response off once its visitor has left; some are streams that never end by themselves."""
        ended = False

        async def send_if_here(message: Message) -> None:
            nonlocal ended
            if not ended:
                ended = visitor not in self._seen and message["type"] == "http.response.body"
                await send({"type": "http.response.body"} if ended else message)

        return send_if_here


def _redirect(path: str, request: Request) -> Response:
    """Lead to another path, with what the address asks of the page ("?__theme=dark")."""
    return RedirectResponse(f"{path}?{request.url.query}".rstrip("?"), 303)


def _plain(message: str, status: int, wait: float = 0.0) -> Response:
    headers = {"Retry-After": str(max(1, math.ceil(wait)))} if wait else None
    return HTMLResponse(render("demo_message.html", message=message), status, headers)
