"""Slows down who guesses passwords."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

LONGEST_WAIT, FORGIVEN = 300.0, 3600.0
"""Seconds that a wait grows to, and after which what went wrong no longer counts."""

KEPT = 10_000
"""Names and addresses that are counted; beyond, those that have been quiet are forgotten."""


class Throttle:
    """Counts failures by key; after the free ones of a key, each doubles the wait before the next try counts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: dict[str, tuple[int, float]] = {}

    def wait(self, free: Mapping[str, int]) -> float:
        """Seconds until the next try; `free` holds, by key, the failures that cost nothing."""
        return max(self._wait(key, failures) for key, failures in free.items())

    def failed(self, key: str) -> None:
        """Count a failure; a try counts as one from its start, so that many at once gain nothing."""
        count, _ = self._current(key)
        self._failed.pop(key, None)
        if len(self._failed) >= KEPT:
            self._failed.pop(next(iter(self._failed)))
        self._failed[key] = (count + 1, self._clock())

    def spared(self, key: str) -> None:
        """Take back the last failure: it was none."""
        count, at = self._current(key)
        self._failed[key] = (max(0, count - 1), at)

    def cleared(self, key: str) -> None:
        """Forget all failures of a key."""
        self._failed.pop(key, None)

    def _wait(self, key: str, free: int) -> float:
        count, at = self._current(key)
        if count < free:
            return 0.0
        return max(0.0, at + min(LONGEST_WAIT, 2.0 ** min(count - free + 1, 20)) - self._clock())

    def _current(self, key: str) -> tuple[int, float]:
        count, at = self._failed.get(key, (0, self._clock()))
        return (count, at) if self._clock() - at < FORGIVEN else (0, self._clock())
