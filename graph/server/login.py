"""Require a login for every page: the login form, its wait after failures, the logout, and tokens for programs."""

import hmac
import math
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from anyio import CapacityLimiter, fail_after, sleep, to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from graph.server.request_limits import network
from graph.server.user_pages import UserPages, end_when
from memory.errors import MemoirError
from memory.tab.parts import render
from memory.users import MAX_PASSWORD, UnknownUser, User, Users, digest

COOKIE = "memoir-session"
LOGIN_SECONDS = 7 * 24 * 3600
"""How long a login lasts; it ends with the app, too."""

BROWSER, BROWSER_SECONDS = "memoir-browser", 365 * 24 * 3600
"""The cookie of a browser that has logged in before, and how long it is kept: its wrong passwords are counted apart, so
that guesses from elsewhere never keep its user out."""

FREE_OF_NAME, FREE_OF_ADDRESS, FREE_OF_NAME_ANYWHERE = 3, 20, 50
"""Wrong passwords that cost no wait: for a name from one address, for all names from one address (a whole household may
share it), and for a name from all addresses."""

MAX_WAIT_OF_NAME = 5.0
"""Seconds of the longest wait for a name from all addresses: nobody can lock a user out by guessing elsewhere."""

MAX_WAIT, FORGET_AFTER = 300.0, 3600.0
"""Seconds of the longest wait, and seconds without a failure after which earlier ones no longer count."""

MAX_KEYS = 10_000
"""Names and addresses that are counted; beyond, the one that failed least recently is dropped."""

CHECK_SECONDS = 2.0
"""Seconds between two checks for removed users; a stream ends at most this long after its login has ended."""

KEEP_OPEN = 3600.0
"""Seconds that the page of a user is kept open without a request."""

MAX_FORM_BYTES = 8192
"""Most bytes that the login form may send."""

FORM_SECONDS = 10.0
"""Seconds that the login form may take to arrive."""

WRONG = "Wrong name or password."


@dataclass(frozen=True, slots=True)
class Login:
    """A login. It keeps the hash of the password it was made with: a new password ends earlier logins."""

    user_id: str
    password_hash: str
    expires: float


class LoginBackoff:
    """Counts failed logins by key. After the free ones of a key, each failure doubles the wait before the next try."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, key: str, free: int, longest: float = MAX_WAIT) -> float:
        """Return the seconds until the next try, at most `longest`; the first `free` failures cost no wait."""
        count, at = self._current(key)
        if count < free:
            return 0.0
        return max(0.0, at + min(longest, 2.0 ** min(count - free + 1, 20)) - self._clock())

    def add_failure(self, key: str) -> None:
        """Count a failure. A try counts as one from its start, so that parallel tries gain nothing."""
        count, _ = self._current(key)
        self._failures.pop(key, None)
        if len(self._failures) >= MAX_KEYS:
            self._failures.pop(next(iter(self._failures)))
        self._failures[key] = (count + 1, self._clock())

    def remove_failure(self, key: str) -> None:
        """Uncount the last failure: the try succeeded."""
        count, at = self._current(key)
        self._failures[key] = (max(0, count - 1), at)

    def clear(self, key: str) -> None:
        """Uncount all failures of a key."""
        self._failures.pop(key, None)

    def _current(self, key: str) -> tuple[int, float]:
        count, at = self._failures.get(key, (0, self._clock()))
        return (count, at) if self._clock() - at < FORGET_AFTER else (0, self._clock())


class LoginMiddleware:
    """Serves each user's page to that user; without a login, only the login form."""

    def __init__(self, users: Users, pages: UserPages, clock: Callable[[], float] = time.monotonic) -> None:
        self._users = users
        self._pages = pages
        self._clock = clock
        self._logins: dict[str, Login] = {}
        self._seen: dict[str, float] = {}
        self._backoff = LoginBackoff(clock)
        self._hashing = CapacityLimiter(2)  # each hash takes 64 MiB

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request with the page of the user who sent it."""
        request = Request(scope, receive)
        path = request.url.path.rstrip("/")
        if path == "/login":
            response = await self._login(request) if request.method == "POST" else self._form("", 200)
        elif (user := await to_thread.run_sync(self._user_of, request)) is None:
            response = _ask_to_log_in(request)
        elif path == "/logout" and request.method == "POST":
            response = self._logout(request, user)
        else:
            self._seen[user.id] = self._clock()
            try:
                page = await self._pages.of(user.id)
            except UnknownUser:  # removed while the page was built
                response = _ask_to_log_in(request)
            else:
                await page(scope, receive, self._while_logged_in(request, send))
                return
        await response(scope, receive, send)

    async def close_unused_pages(self) -> None:
        """Close the pages of removed users, and of those who have asked nothing for an hour, as long as the app runs.

        The next request opens a page again.
        """
        while True:
            await sleep(CHECK_SECONDS)
            oldest = self._clock() - KEEP_OPEN
            self._seen = {user_id: at for user_id, at in self._seen.items() if at > oldest}
            with suppress(MemoirError):  # while users.json is broken, nobody gets in and no page closes
                users = await to_thread.run_sync(self._users.all)
                self._pages.close_all_but([user.id for user in users if user.id in self._seen])

    def _while_logged_in(self, request: Request, send: Send) -> Send:
        """Cut a response off once its login has ended, which is checked every two seconds."""
        checked = self._clock()

        async def is_logged_out() -> bool:
            nonlocal checked
            if self._clock() - checked < CHECK_SECONDS:
                return False
            checked = self._clock()
            return await to_thread.run_sync(self._user_of, request) is None

        return end_when(is_logged_out, send)

    def _user_of(self, request: Request) -> User | None:
        """The user who sent a request, by its token, if it has one, or else by its cookie."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self._users.authenticate_token(token.strip())
        login = self._logins.get(digest(request.cookies.get(COOKIE, "")))
        if login is None or login.expires < self._clock():
            return None
        user = self._users.get(login.user_id)
        return user if user is not None and user.password == login.password_hash else None

    async def _login(self, request: Request) -> Response:
        length = request.headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MAX_FORM_BYTES:
            return self._form(f"Name and password together may have at most {MAX_FORM_BYTES:,} bytes.", 413)
        try:
            with fail_after(FORM_SECONDS):
                async with request.form(max_files=0, max_fields=4) as form:
                    name, password = str(form.get("username", ""))[:64], str(form.get("password", ""))
        except TimeoutError:
            return self._form("The form took too long to arrive. Try again.", 408, {"Connection": "close"})
        budgets = await to_thread.run_sync(self._budgets, request, name)
        wait = math.ceil(max(self._backoff.wait(key, free, longest) for key, (free, longest) in budgets.items()))
        if wait > 0:
            message = f"Too many wrong passwords. Try again in {wait} seconds."
            return self._form(message, 429, {"Retry-After": str(wait)})
        for key in budgets:
            self._backoff.add_failure(key)
        user = None
        if len(password) <= MAX_PASSWORD:
            user = await to_thread.run_sync(self._users.authenticate, name, password, limiter=self._hashing)
        if user is None:
            return self._form(WRONG, 401)
        for key in budgets:
            self._backoff.remove_failure(key)
        self._backoff.clear(next(iter(budgets)))
        await to_thread.run_sync(self._users.note_login, user, network(request.client))
        return self._start_login(request, user)

    def _budgets(self, request: Request, name: str) -> dict[str, tuple[int, float]]:
        """By what a try to log in is counted, with the free failures and the longest wait of each.

        The first is of this user at this place alone, and forgotten once they are in.
        """
        browser, _, proof = request.cookies.get(BROWSER, "").partition(".")
        user = self._users.named(name)
        if user is not None and hmac.compare_digest(proof.encode(), _proof(user, browser).encode()):
            return {f"user {user.id} in browser {browser}": (FREE_OF_NAME, MAX_WAIT)}
        by_name, by_address = f"name {name.strip().casefold()}", network(request.client)
        return {
            f"{by_name} from {by_address}": (FREE_OF_NAME, MAX_WAIT),
            by_address: (FREE_OF_ADDRESS, MAX_WAIT),
            by_name: (FREE_OF_NAME_ANYWHERE, MAX_WAIT_OF_NAME),
        }

    def _start_login(self, request: Request, user: User) -> Response:
        token, now = secrets.token_urlsafe(32), self._clock()
        self._logins = {key: login for key, login in self._logins.items() if login.expires >= now}
        self._logins[digest(token)] = Login(user.id, user.password, now + LOGIN_SECONDS)
        # A browser continues to the page; gradio_client takes the cookie and expects JSON.
        response: Response = RedirectResponse("/", 303) if is_browser(request) else JSONResponse({"success": True})
        https = request.url.scheme == "https"
        browser = secrets.token_urlsafe(16)
        cookies = (COOKIE, token, LOGIN_SECONDS), (BROWSER, f"{browser}.{_proof(user, browser)}", BROWSER_SECONDS)
        for name, value, seconds in cookies:
            response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=https)
        return response

    def _logout(self, request: Request, user: User) -> Response:
        """End the login of this browser, or with `?everywhere` all logins of the user; tokens stay."""
        ended = digest(request.cookies.get(COOKIE, ""))
        of_user = user.id if "everywhere" in request.query_params else None
        self._logins = {key: login for key, login in self._logins.items() if key != ended and login.user_id != of_user}
        response = RedirectResponse("/login", 303)
        response.delete_cookie(COOKIE)
        # The next person at this browser finds no stored page, and nothing behind "Back".
        response.headers["Clear-Site-Data"] = '"cache", "storage"'
        return response

    def _form(self, message: str, status: int, headers: dict[str, str] | None = None) -> Response:
        return HTMLResponse(render("login.html", message=message), status, headers)


def _ask_to_log_in(request: Request) -> Response:
    if request.method == "GET" and is_browser(request):
        return RedirectResponse("/login", 303)
    error = "Log in first: with name and password at /login, or with a token from `python -m memory user token NAME`."
    return JSONResponse({"error": error}, 401, {"WWW-Authenticate": "Bearer"})


def is_browser(request: Request) -> bool:
    """Whether the client shows pages, as opposed to a program or a request of a page's script."""
    return "text/html" in request.headers.get("accept", "")


def _proof(user: User, browser: str) -> str:
    """What only this server can give a browser once its user has logged in; a new password ends it."""
    return hmac.new(user.password.encode(), browser.encode(), "sha256").hexdigest()
