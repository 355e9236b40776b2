"""The audit log: what was written, learned, recalled and forgotten, when and at whose request; ids and counts, no text.

An entry is written in the transaction that it describes, so that neither exists without the other: one for each answer
and each batch of an import. Forgetting leaves an entry with ids that no longer mean anything. Entries are never changed
or deleted, not even with their persona. An answer that was not to be remembered has no entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.bank import rows

if TYPE_CHECKING:
    from sqlite_utils import Database

_by: ContextVar[str] = ContextVar("by", default="app")


@contextmanager
def requested_by(by: str) -> Iterator[None]:
    """Name who requests all that this thread writes meanwhile: "command line", "Memory tab"."""
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
    """Add an entry inside the transaction that it describes; none if nothing happened."""
    happened = {name: n for name, n in counts.items() if n}
    listed = format_ranges(memories)
    if happened or listed:
        db.conn.execute(
            "INSERT INTO journal (at, action, request, persona_id, counts, memories) VALUES (?, ?, ?, ?, ?, ?)",
            (rows.format_time(datetime.now(UTC)), action, by or _by.get(), persona_id, json.dumps(happened), listed),
        )


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, with runs as "7-12"."""
    ordered = sorted(set(numbers))
    breaks = [0, *(place for place, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1), len(ordered)]
    runs = (ordered[a:b] for a, b in pairwise(breaks) if a < b)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
