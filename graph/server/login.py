"""Lets in who has an account, each to a page of their own: the login page, logging out, and programs with a token."""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template

from anyio import CapacityLimiter, sleep, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from graph.server.login_backoff import Throttle
from graph.server.user_pages import UserPages
from memory.errors import MemoirError
from memory.users import MAX_PASSWORD, UnknownUser, User, Users

COOKIE = "memoir-session"
LASTING = 7 * 24 * 3600
"""Seconds that a login lasts; it ends with the app, too."""

FREE_OF_NAME, FREE_OF_ADDRESS = 3, 20
"""Wrong passwords that cost no wait; an address may be that of a whole house."""

LOOK_EVERY = 2.0
"""Seconds between two looks for who was removed; a stream goes on no longer for somebody who is logged in no more."""

LARGEST_FORM = 8192
"""Bytes of what the login page sends."""

WRONG = "This name and password do not belong together."


@dataclass(frozen=True, slots=True)
class Session:
    """A login. With another password the user's earlier logins end, so it holds the one it was made by."""

    user_id: str
    password: str
    ends: float


class LoginMiddleware:
    """Stands before the pages: every request but that for the login page needs to come from a user."""

    def __init__(self, users: Users, pages: UserPages, page: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._users = users
        self._pages = pages
        self._page = Template(page.read_text("utf-8"))
        self._clock = clock
        self._sessions: dict[str, Session] = {}
        self._throttle = Throttle(clock)
        self._hashing = CapacityLimiter(2)  # each takes 64 MiB

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request by the page of the user who makes it."""
        request = Request(scope, receive)
        path = request.url.path.rstrip("/")
        if path == "/login":
            answer = await self._login(request) if request.method == "POST" else self._form("", 200)
        elif (user := await to_thread.run_sync(self._who, request)) is None:
            answer = _refused(request)
        elif path == "/logout" and request.method == "POST":
            answer = self._logout(request)
        else:
            try:
                page = await self._pages.of(user.id)
            except UnknownUser:  # removed while the page was made
                answer = _refused(request)
            else:
                await page(scope, receive, self._while_known(request, send))
                return
        await answer(scope, receive, send)

    async def close_pages_of_removed(self) -> None:
        """Close, for as long as the app runs, the pages of those who were removed."""
        while True:
            await sleep(LOOK_EVERY)
            with suppress(MemoirError):  # a broken file lets nobody in, and removes nobody
                self._pages.close_all_but([user.id for user in await to_thread.run_sync(self._users.all)])

    def _while_known(self, request: Request, send: Send) -> Send:
        """Sends an answer on for as long as the request would be let in: some are streams that never end."""
        looked, over = self._clock(), False

        async def sent(message: Message) -> None:
            nonlocal looked, over
            if over:
                return
            if self._clock() - looked >= LOOK_EVERY and message["type"] == "http.response.body":
                looked, over = self._clock(), await to_thread.run_sync(self._who, request) is None
            await send({"type": "http.response.body"} if over else message)

        return sent

    def _who(self, request: Request) -> User | None:
        """The user whom a request comes from, by its cookie, or by its token where it is a program's."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._users.authenticate_token(token.strip())
        session = self._sessions.get(_digest(request.cookies.get(COOKIE, "")))
        if session is None or session.ends < self._clock():
            return None
        user = self._users.get(session.user_id)
        return user if user is not None and user.password == session.password else None

    async def _login(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > LARGEST_FORM:
            return self._form(f"A name and a password take at most {LARGEST_FORM:,} bytes.", 413)
        async with request.form(max_files=0, max_fields=4) as form:
            name, password = str(form.get("username", ""))[:64], str(form.get("password", ""))
        of_name, of_address = f"name {name.strip().casefold()}", f"address {request.client and request.client.host}"
        wait = self._throttle.wait({of_name: FREE_OF_NAME, of_address: FREE_OF_ADDRESS})
        if wait > 0:
            said = f"Too many wrong passwords. Try again in {math.ceil(wait)} seconds."
            return self._form(said, 429, {"Retry-After": str(math.ceil(wait))})
        self._throttle.failed(of_name)
        self._throttle.failed(of_address)
        user = await to_thread.run_sync(self._known, name, password, limiter=self._hashing)
        if user is None:
            return self._form(WRONG, 401)
        self._throttle.cleared(of_name)
        self._throttle.spared(of_address)
        return self._let_in(request, user)

    def _known(self, name: str, password: str) -> User | None:
        return self._users.authenticate(name, password) if len(password) <= MAX_PASSWORD else None

    def _let_in(self, request: Request, user: User) -> Response:
        token, now = secrets.token_urlsafe(32), self._clock()
        self._sessions = {key: held for key, held in self._sessions.items() if held.ends >= now}
        self._sessions[_digest(token)] = Session(user.id, user.password, now + LASTING)
        # A browser goes on to the page; gradio_client takes the cookie and wants to hear that all is well.
        answer: Response = RedirectResponse("/", 303) if _is_browser(request) else JSONResponse({"success": True})
        safe = request.url.scheme == "https"
        answer.set_cookie(COOKIE, token, max_age=LASTING, httponly=True, samesite="lax", secure=safe)
        return answer

    def _logout(self, request: Request) -> Response:
        self._sessions.pop(_digest(request.cookies.get(COOKIE, "")), None)
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE)
        # Whoever sits down next finds no page of theirs in the browser's store, and nothing behind "Back".
        answer.headers["Clear-Site-Data"] = '"cache", "storage"'
        return answer

    def _form(self, said: str, status: int, headers: dict[str, str] | None = None) -> Response:
        page = self._page.substitute(said=escape(said))
        return HTMLResponse(page, status, {"Cache-Control": "no-store", "X-Frame-Options": "DENY", **(headers or {})})


def _refused(request: Request) -> Response:
    if request.method == "GET" and _is_browser(request):
        return RedirectResponse("/login", 303)
    told = "Log in first: with a name and password at /login, or with a token of `python -m memory user token NAME`."
    return JSONResponse({"error": told}, 401, {"WWW-Authenticate": "Bearer"})


def _is_browser(request: Request) -> bool:
    return "text/html" in request.headers.get("accept", "")


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
