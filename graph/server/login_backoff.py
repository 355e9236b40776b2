"""Slow down password guessing: failed logins back off exponentially."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

MAX_WAIT, FORGET_AFTER = 300.0, 3600.0
"""Seconds of the longest wait, and seconds without a failure after which earlier ones no longer count."""

MAX_KEYS = 10_000
"""Names and addresses that are counted; beyond, the one that failed least recently is dropped."""


class LoginBackoff:
    """Counts failed logins by key. After the free ones of a key, each failure doubles the wait before the next try."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}

    def wait(self, free: Mapping[str, int], longest: float = MAX_WAIT) -> float:
        """Return the seconds until the next try, at most `longest`; `free` maps a key to its failures without wait."""
        return max(self._wait(key, failures, longest) for key, failures in free.items())

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

    def _wait(self, key: str, free: int, longest: float) -> float:
        count, at = self._current(key)
        if count < free:
            return 0.0
        return max(0.0, at + min(longest, 2.0 ** min(count - free + 1, 20)) - self._clock())

    def _current(self, key: str) -> tuple[int, float]:
        count, at = self._failures.get(key, (0, self._clock()))
        return (count, at) if self._clock() - at < FORGET_AFTER else (0, self._clock())
