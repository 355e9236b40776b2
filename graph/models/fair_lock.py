"""Let the users who wait for a chat model take turns, whoever of them asks for more."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from contextvars import ContextVar

USER: ContextVar[str] = ContextVar("user", default="")
"""For whom this task or thread works; empty in the background, which counts as one user."""


class FairLock:
    """A lock that goes to another waiting user each time, and of one user's waiters to the first.

    Any thread and any event loop may wait for it, a loop without holding a thread meanwhile; any may release it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holder: str | None = None
        self._waiting: dict[str, deque[Future[None]]] = {}

    def locked(self) -> bool:
        """Whether somebody holds it."""
        return self._holder is not None

    def acquire(self, timeout: float | None = None) -> bool:
        """Wait for it; False if `timeout` seconds passed first."""
        grant = self._ask()
        try:
            grant.result(timeout)
        except TimeoutError:
            return not grant.cancel()  # it may have come just now
        except BaseException:
            self._decline(grant)
            raise
        return True

    async def acquire_async(self) -> None:
        """Wait for it in an event loop; the task can be cancelled meanwhile."""
        grant = self._ask()
        try:
            await asyncio.wrap_future(grant)
        except BaseException:
            self._decline(grant)
            raise

    def release(self) -> None:
        """Give it to the next."""
        with self._lock:
            if self._holder in self._waiting:  # behind the others
                self._waiting[self._holder] = self._waiting.pop(self._holder)
            self._holder = None
            while self._holder is None and self._waiting:
                user, grants = next(iter(self._waiting.items()))
                grant = grants.popleft()
                if not grants:
                    del self._waiting[user]
                if grant.set_running_or_notify_cancel():
                    self._holder = user
                    grant.set_result(None)

    def _ask(self) -> Future[None]:
        """What is done once the lock is this user's."""
        grant, user = Future[None](), USER.get()
        with self._lock:
            if self._holder is None:
                self._holder = user
                grant.set_result(None)
            else:
                self._waiting.setdefault(user, deque()).append(grant)
        return grant

    def _decline(self, grant: Future[None]) -> None:
        if not grant.cancel():
            self.release()
