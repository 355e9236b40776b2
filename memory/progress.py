"""A long piece of work for those who wait for it: how far it is, how long it will still take, and a way to stop it."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memory.errors import Stopped

Progress = Callable[[float], None]
"""Told how much of a piece of work is done, 0..1; raises `Stopped` where it is to go no further."""

STEPS = 100_000
"""Steps of SQLite's machine between two looks whether to stop: some milliseconds."""

SURE = 0.02
"""Below this share nothing is said about the time left."""


def unwatched(share: float) -> None:
    """The progress of what nobody waits for."""


def part(progress: Progress, first: float, last: float) -> Progress:
    """The progress of a step, which is the whole's from one share to another."""
    return lambda share: progress(first + (last - first) * share)


class Task:
    """A piece of work that may be watched and stopped from another thread; `watch` is told every share."""

    def __init__(self, watch: Progress = unwatched) -> None:
        self.share = 0.0
        self.bound = False
        self._watch = watch
        self._stop = threading.Event()
        self._began = time.monotonic()

    def at(self, share: float) -> None:
        """Say how much is done.

        Raises:
            Stopped: it was asked to stop, and may.
        """
        if self.stopping:
            raise Stopped("Stopped. Everything is as it was before.")
        self.share = share
        self._watch(share)

    def bind(self) -> None:
        """Say that from here on it has to be brought to its end; raises what `at` raises."""
        self.at(self.share)
        self.bound = True

    def stop(self) -> None:
        """Ask it to stop."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop, and may."""
        return self._stop.is_set() and not self.bound

    @property
    def seconds_left(self) -> float | None:
        """How long it will still take if it goes on as it went; None as long as nothing can be said."""
        if self.share < SURE:
            return None
        return (time.monotonic() - self._began) / self.share * (1 - self.share)

    @contextmanager
    def stops(self, conn: sqlite3.Connection) -> Iterator[None]:
        """Within this, a stop breaks off a statement of the connection in its midst, too."""
        conn.set_progress_handler(lambda: int(self.stopping), STEPS)
        try:
            yield
        except sqlite3.OperationalError as fault:
            if not self.stopping:
                raise
            raise Stopped("Stopped. Everything is as it was before.") from fault
        finally:
            conn.set_progress_handler(None, 0)
