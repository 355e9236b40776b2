"""What was written, learned, recalled and forgotten, when and by which request: numbers only, never a text.

A line is written in the transaction of what it tells of, so that neither is there without the other: one an answer, one
a batch of an import. What is forgotten leaves its numbers, which mean nothing any more. Lines are never changed or
removed; a persona's stay when it goes. Of answers that were not to be remembered there is none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import pairwise

from sqlite_utils import Database

from memory.bank import rows

_by: ContextVar[str] = ContextVar("by", default="app")


@contextmanager
def requested_by(by: str) -> Iterator[None]:
    """Say who asks for all that is written meanwhile in this thread: "command line", "Memory tab"."""
    token = _by.set(by)
    try:
        yield
    finally:
        _by.reset(token)


def record(
    db: Database,
    action: str,
    persona_id: int | None,
    counts: Mapping[str, int],
    memories: Iterable[int] = (),
    by: str = "",
) -> None:
    """Write a line inside the transaction of what it tells of; none if nothing came of it."""
    happened = {name: n for name, n in counts.items() if n}
    listed = format_ranges(memories)
    if happened or listed:
        db.conn.execute(
            "INSERT INTO journal (at, action, request, persona_id, counts, memories) VALUES (?, ?, ?, ?, ?, ?)",
            (rows.format_time(datetime.now(UTC)), action, by or _by.get(), persona_id, json.dumps(happened), listed),
        )


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, runs of them as "7-12"."""
    ordered = sorted(set(numbers))
    breaks = [0, *(place for place, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1), len(ordered)]
    runs = (ordered[a:b] for a, b in pairwise(breaks) if a < b)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
