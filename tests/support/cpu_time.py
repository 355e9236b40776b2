"""A limit in seconds of processor time, which other work on the machine does not change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_most_cpu_seconds(limit: float) -> Iterator[None]:
    """Fail if this process spends more processor time in the block."""
    started = time.process_time()
    yield
    spent = time.process_time() - started
    assert spent < limit, f"{spent:.1f} s of processor time; at most {limit} s was expected"
