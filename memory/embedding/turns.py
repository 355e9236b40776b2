"""Who computes first: what somebody asked comes before what is embedded and learned in the background."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds for which a batch of the background waits at most, so that it goes on where somebody always asks."""

_turn = threading.Lock()
_count = threading.Lock()
_nobody_asks = threading.Event()
_nobody_asks.set()
_asking = 0


@contextmanager
def asking() -> Iterator[None]:
    """Let the background wait for as long as the context lasts."""
    _add(1)
    try:
        yield
    finally:
        _add(-1)


def _add(change: int) -> None:
    global _asking
    with _count:
        _asking += change
        (_nobody_asks.clear if _asking else _nobody_asks.set)()


def give_way() -> None:
    """Wait until nobody asks, with patience."""
    _nobody_asks.wait(PATIENCE)


@contextmanager
def background_turn(stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Do one thing in the background, once nobody asks and nothing else in this process is done there.

    Who was `stopped` meanwhile has the turn at once, to do nothing.
    """
    with _turn:
        if not stopped():
            give_way()
        yield
