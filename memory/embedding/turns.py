"""Who computes first: what somebody asked comes before what is embedded and learned in the background."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds for which a batch of the background waits at most, so that it goes on where somebody always asks."""

_turn = threading.Lock()
_change = threading.Condition()
_asking = 0
_here = threading.local()


@contextmanager
def asking() -> Iterator[None]:
    """Let the background wait for as long as the context lasts."""
    global _asking
    with _change:
        _asking += 1
    try:
        yield
    finally:
        with _change:
            _asking -= 1
            _change.notify_all()


def anyone_asks() -> bool:
    """Whether the background waits now."""
    return _asking > 0


def give_way() -> None:
    """Wait until nobody asks, with patience."""
    with _change:
        _change.wait_for(lambda: not _asking, PATIENCE)


@contextmanager
def background_turn(stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Do one thing in the background, once nobody asks and nothing else in this process is done there.

    Who was `stopped` meanwhile has the turn at once, to do nothing.
    """
    with _turn:
        if not stopped():
            give_way()
        _here.in_background = True
        try:
            yield
        finally:
            _here.in_background = False


def in_background() -> bool:
    """Whether this thread has the turn of the background."""
    return getattr(_here, "in_background", False)


class BackgroundThread:
    """A thread that works whenever it is woken, and where `every` is set once in so many seconds, until it is ended."""

    def __init__(self, name: str, work: Callable[[], None], every: float | None = None) -> None:
        self._work = work
        self._every = every
        self._woken = threading.Event()
        self._idle = threading.Event()
        self.ending = threading.Event()
        self.fault: Exception | None = None
        """The exception that stopped the last attempt, if any; the next one continues there."""
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; it continues with what the last run left."""
        self._woken.set()
        self._thread.start()

    def wake(self) -> None:
        """Tell the thread that there is something to do."""
        self._idle.clear()
        self._woken.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until there is nothing to do; False if `timeout` seconds passed first."""
        return self._idle.wait(timeout)

    def end(self) -> None:
        """Ask the thread to end after what it is doing."""
        self.ending.set()
        self._woken.set()

    def stop(self) -> None:
        """End the thread after what it is doing, and wait for it."""
        self.end()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self.ending.is_set():
            self._woken.wait(self._every)
            self._woken.clear()
            try:
                self._work()
                self.fault = None
            except Exception as fault:  # a thread has no caller to raise to
                self.fault = fault
            if not self._woken.is_set():
                self._idle.set()
