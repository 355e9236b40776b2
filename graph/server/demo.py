"""Serve a public demo: each visitor has a page and a bank of their own, until an hour after their last request.

Their messages and the tokens of the chat model that they use are limited.
"""

import asyncio
import math
import secrets
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import NoReturn

from anyio import sleep
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from graph.assistant import Answer, Assistant, Event
from graph.server.login import is_browser
from graph.server.request_limits import RequestBudget, network
from graph.server.user_pages import UserPages, end_when
from graph.state import Ask, Services
from memory import read_table
from memory.errors import MemoirError
from memory.formatting import format_count, format_duration
from memory.tab.parts import render
from memory.users import digest

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

TEXTS = read_table(__file__)
"""What visitors are told who have no page, or no more of it for now."""

MESSAGES, MESSAGES_SECONDS = 60, 600.0
"""Messages that a visitor may send in so many seconds."""

TOKENS_SECONDS = 3600.0
"""Seconds after which a visitor may use the chat model's tokens anew; they begin with the first answer."""

ANSWER_TOKENS = 4_000
"""Tokens that an answer is counted as while it is made, and for good if it fails or is stopped before its first word: a
usual prompt has some 2,400, the reply at most 1,000, and its check some more."""


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

        async def has_left() -> bool:
            return visitor not in self._seen

        await page(scope, receive, end_when(has_left, send))

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
            return JSONResponse({"error": TEXTS["unknown"]}, 401)
        if visitor not in self._offered:
            return _plain(TEXTS["no_cookie"], 403) if request.url.path == BEGIN else self._offer_cookie(request)
        if len(self._seen) >= MAX_VISITORS:
            wait = min(self._seen.values()) + STAY_SECONDS - self._clock()
            minutes = format_count(max(1, math.ceil(wait / 60)), "minute")
            return _plain(TEXTS["full"].format(MAX_VISITORS, minutes), 503, wait)
        if not self._newcomers.take(network(request.client)):
            return _plain(TEXTS["too_many"], 429, NEW_SECONDS)
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


def _redirect(path: str, request: Request) -> Response:
    """Lead to another path, with what the address asks of the page ("?__theme=dark")."""
    return RedirectResponse(f"{path}?{request.url.query}".rstrip("?"), 303)


def _plain(message: str, status: int, wait: float = 0.0) -> Response:
    headers = {"Retry-After": str(max(1, math.ceil(wait)))} if wait else None
    return HTMLResponse(render("demo_message.html", message=message), status, headers)


@dataclass(slots=True)
class TokenHour:
    """The hour in which a visitor uses the chat model: the tokens used, and whether it was said that none are left.

    It is an object of its own, because copies of an assistant share it.
    """

    ends: float = -math.inf
    used: int = 0
    told: bool = False


class VisitorAssistant(Assistant):
    """Answers one visitor of the demo; when the tokens are used up, without the chat model."""

    def __init__(self, services: Services, tokens_an_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(services)
        self._clock, self._most = clock, tokens_an_hour
        self._sent: deque[float] = deque(maxlen=MESSAGES)
        self._hour = TokenHour()
        self._lock = threading.Lock()  # calls of programs come in threads of their own

    async def stream(self, ask: Ask, stop: asyncio.Event | None = None) -> AsyncGenerator[Event, None]:
        """Answer one message, as `Assistant.stream` does; raise `MemoirError` if the visitor has to wait for it."""
        with self._lock:
            self._count_message()
            without = self.services.model is not None and not self._has_tokens()
        services = replace(self.services, model=None) if without else self.services
        async with aclosing(Assistant(services).stream(ask, stop)) as events:
            async for event in events:
                yield self._count_answer(event, without=without) if isinstance(event, Answer) else event

    def _count_message(self) -> None:
        now = self._clock()
        if len(self._sent) == MESSAGES and (wait := self._sent[0] + MESSAGES_SECONDS - now) > 0:
            raise MemoirError(TEXTS["too_many_messages"].format(MESSAGES, format_duration(wait)))
        self._sent.append(now)

    def _has_tokens(self) -> bool:
        """Whether any are left for an answer that begins, which is counted then."""
        now, hour = self._clock(), self._hour
        if now >= hour.ends:
            hour.ends, hour.used, hour.told = now + TOKENS_SECONDS, 0, False
        is_left = hour.used < self._most
        hour.used += ANSWER_TOKENS if is_left else 0
        return is_left

    def _count_answer(self, answer: Answer, *, without: bool) -> Answer:
        """Count an answer as what it cost; add to one `without` the chat model, once an hour, why that is."""
        with self._lock:
            hour = self._hour
            if without and not hour.told:
                hour.told = True
                used_up = TEXTS["used_up"].format(format_duration(hour.ends - self._clock()))
                notice = "\n\n".join(filter(None, [answer.reading.notice, used_up]))
                return replace(answer, reading=replace(answer.reading, notice=notice))
            if not without and self.services.model is not None:
                hour.used = max(0, hour.used - ANSWER_TOKENS + _cost(answer))
        return answer


def _cost(answer: Answer) -> int:
    """The tokens that an answer cost; `ANSWER_TOKENS` if the chat model failed and nothing says how many it took."""
    figures = [line.figures for line in answer.trace]
    counted = sum(int(each.get("tokens in", 0) + each.get("tokens out", 0)) for each in figures)
    failed = not answer.reading.unreachable and any(each.get("fallback") for each in figures)
    return counted or (ANSWER_TOKENS if failed else 0)
