"""What was written, learned, recalled and forgotten, when and by which request: numbers only, never a text.

A line is written in the transaction of what it tells of, so that neither is there without the other: one an answer, one
a batch of an import. What is forgotten leaves its numbers, which mean nothing any more. Lines are never changed or
removed; a persona's stay when it goes. Of answers that were not to be remembered there is none.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from sqlite_utils import Database

from memory.bank import rows

if TYPE_CHECKING:
    from memory.bank.bank import Bank

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula (OWASP, CSV injection)."""

HEADINGS = ("No.", "When", "What", "By", "Persona", "How much", "Memories")

SINGULAR = {"personas": "persona", "sessions": "session", "turns": "turn", "memories": "memory"}

_by: ContextVar[str] = ContextVar("by", default="app")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `memories` are the numbers of those that were recalled or forgotten, as "3, 7-12"."""

    id: int
    at: datetime
    action: str
    request: str
    persona_id: int | None
    persona: str
    counts: Mapping[str, int]
    memories: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The line as a row of a table, under `HEADINGS`."""
        who = self.persona or (f"No. {self.persona_id}, gone" if self.persona_id else "")
        counts = ", ".join(f"{n:,} {SINGULAR.get(name, name) if n == 1 else name}" for name, n in self.counts.items())
        return (str(self.id), f"{self.at:%Y-%m-%d %H:%M:%S}", self.action, self.request, who, counts, self.memories)


@contextmanager
def requested(by: str) -> Iterator[None]:
    """Say who asks for all that is written meanwhile in this thread: "command line", "Memory tab"."""
    token = _by.set(by)
    try:
        yield
    finally:
        _by.reset(token)


def note(
    db: Database,
    action: str,
    persona_id: int | None,
    counts: Mapping[str, int],
    memories: Iterable[int] = (),
    by: str = "",
) -> None:
    """Write a line inside the transaction of what it tells of; none if nothing came of it."""
    happened = {name: n for name, n in counts.items() if n}
    listed = ranges(memories)
    if happened or listed:
        db.conn.execute(
            "INSERT INTO journal (at, action, request, persona_id, counts, memories) VALUES (?, ?, ?, ?, ?, ?)",
            (rows.stamp(datetime.now(UTC)), action, by or _by.get(), persona_id, json.dumps(happened), listed),
        )


def entries(bank: Bank, limit: int = -1, offset: int = 0) -> list[Entry]:
    """The lines, the newest first."""
    query = (
        "SELECT j.*, coalesce(p.name, '') AS persona FROM journal j LEFT JOIN personas p ON p.id = j.persona_id "
        "ORDER BY j.id DESC LIMIT ? OFFSET ?"
    )
    with bank.reading() as db:
        return [_entry(row) for row in db.query(query, [limit, offset])]


def count(bank: Bank) -> int:
    """How many lines there are."""
    with bank.reading() as db:
        return db.table("journal").count


def as_csv(lines: Iterable[Entry]) -> str:
    """The lines as CSV in which no cell is a formula: one that would be one is put behind an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(HEADINGS)
    writer.writerows([_harmless(cell) for cell in entry.cells] for entry in lines)
    return file.getvalue()


def ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, runs of them as "7-12"."""
    ordered = sorted(set(numbers))
    breaks = [0, *(place for place, (a, b) in enumerate(pairwise(ordered), start=1) if b != a + 1), len(ordered)]
    runs = (ordered[a:b] for a, b in pairwise(breaks) if a < b)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _harmless(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _entry(row: rows.Row) -> Entry:
    return Entry(
        row["id"],
        datetime.fromisoformat(row["at"]),
        row["action"],
        row["request"],
        row["persona_id"],
        row["persona"],
        json.loads(row["counts"]),
        row["memories"],
    )
