"""Progress of a long operation: the share that is done, the time left, and a way to cancel it from another thread."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memory.errors import Cancelled

Progress = Callable[[float], None]
"""Called with the share of an operation that is done, 0..1; raises `Cancelled` if the user cancelled it."""

SQLITE_STEPS_BETWEEN_CHECKS = 100_000
"""Steps of SQLite's virtual machine between two checks for a cancellation: some milliseconds."""

MIN_SHARE_FOR_ETA = 0.02
"""Below this share the time left cannot be estimated."""

NOTHING_CHANGED = "Cancelled. Nothing was changed."


def without_progress(share: float) -> None:
    """Ignore the progress: the default where nobody watches."""


def rescale(progress: Progress, first: float, last: float) -> Progress:
    """The progress of one step of an operation, which covers the shares from `first` to `last` of the whole."""
    return lambda share: progress(first + (last - first) * share)


class Task:
    """An operation that another thread can watch and cancel; `watch` is called with every share reported."""

    def __init__(self, watch: Progress = without_progress) -> None:
        self.share = 0.0
        self.uncancellable = False
        self._watch = watch
        self._cancel = threading.Event()
        self._started = time.monotonic()

    def report(self, share: float) -> None:
        """Report the share that is done.

        Raises:
            Cancelled: the user cancelled the task.
        """
        if self.cancelled:
            raise Cancelled(NOTHING_CHANGED)
        self.share = share
        self._watch(share)

    def make_uncancellable(self) -> None:
        """Ignore cancellations from here on; raises `Cancelled` if one came before."""
        self.report(self.share)
        self.uncancellable = True

    def cancel(self) -> None:
        """Ask the task to end."""
        self._cancel.set()

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled while it still could be."""
        return self._cancel.is_set() and not self.uncancellable

    @property
    def seconds_left(self) -> float | None:
        """The estimated time left; None as long as too little is done to estimate it."""
        if self.share < MIN_SHARE_FOR_ETA:
            return None
        return (time.monotonic() - self._started) / self.share * (1 - self.share)

    @contextmanager
    def interruptible(self, conn: sqlite3.Connection) -> Iterator[None]:
        """Within this context, a cancellation also interrupts a running statement of the connection."""
        conn.set_progress_handler(lambda: int(self.cancelled), SQLITE_STEPS_BETWEEN_CHECKS)
        try:
            yield
        except sqlite3.OperationalError as fault:
            if not self.cancelled:
                raise
            raise Cancelled(NOTHING_CHANGED) from fault
        finally:
            conn.set_progress_handler(None, 0)
