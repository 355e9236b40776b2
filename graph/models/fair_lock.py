"""Let the users who wait for a chat model or for the processor take turns, whoever of them asks for more."""

import asyncio
import threading
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

USER: ContextVar[str] = ContextVar("user", default="")
"""For whom this task or thread works; empty in the background, which counts as one user."""


class FairLock(AbstractAsyncContextManager[None]):
    """A lock that goes to the waiting user who had it longest ago, and of one user's waiters to the first.

    As many hold it at once as it has places. Any thread and any event loop may wait for it, a loop without holding a
    thread meanwhile; any may release it.
    """

    def __init__(self, places: int = 1) -> None:
        self._lock = threading.Lock()
        self._places = self._free = places
        self._turns = 0
        self._last_turn: dict[str, int] = {}
        self._waiting: list[tuple[Future[None], str]] = []

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

    __aenter__ = acquire_async

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Give it to the next."""
        with self._lock:
            self._free += 1
            while self._free and self._waiting:
                waiter = min(self._waiting, key=lambda each: self._last_turn.get(each[1], 0))
                self._waiting.remove(waiter)
                if waiter[0].set_running_or_notify_cancel():
                    self._give(*waiter)
            if self._free == self._places:
                self._last_turn.clear()

    def _ask(self) -> Future[None]:
        """What is done once the lock is this user's."""
        grant, user = Future[None](), USER.get()
        with self._lock:
            if self._free:
                self._give(grant, user)
            else:
                self._waiting.append((grant, user))
        return grant

    def _give(self, grant: Future[None], user: str) -> None:
        self._free, self._turns = self._free - 1, self._turns + 1
        self._last_turn[user] = self._turns
        grant.set_result(None)

    def _decline(self, grant: Future[None]) -> None:
        if not grant.cancel():
            self.release()
