"""Read the journal: entries as rows of a table and as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memory.bank import rows
    from memory.bank.bank import Bank

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, CSV injection)."""

HEADINGS = ("No.", "When", "What", "By", "Persona", "How much", "Memories")

SINGULAR = {"personas": "persona", "sessions": "session", "turns": "turn", "memories": "memory"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `memories` are the ids that were recalled or forgotten, as "3, 7-12"."""

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
        """The entry as a table row under `HEADINGS`."""
        who = self.persona or (f"No. {self.persona_id}, gone" if self.persona_id else "")
        counts = ", ".join(f"{n:,} {SINGULAR.get(name, name) if n == 1 else name}" for name, n in self.counts.items())
        return (str(self.id), f"{self.at:%Y-%m-%d %H:%M:%S}", self.action, self.request, who, counts, self.memories)


def read(bank: Bank, limit: int = -1, offset: int = 0) -> list[Entry]:
    """Read the entries, newest first."""
    query = (
        "SELECT j.*, coalesce(p.name, '') AS persona FROM journal j LEFT JOIN personas p ON p.id = j.persona_id "
        "ORDER BY j.id DESC LIMIT ? OFFSET ?"
    )
    with bank.reading() as db:
        return [_entry(row) for row in db.query(query, [limit, offset])]


def count(bank: Bank) -> int:
    """Count the entries."""
    with bank.reading() as db:
        return db.table("journal").count


def to_csv(entries: Iterable[Entry]) -> str:
    """Write entries as CSV; a cell that a spreadsheet would take for a formula gets an apostrophe in front."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(HEADINGS)
    writer.writerows([_harmless(cell) for cell in entry.cells] for entry in entries)
    return file.getvalue()


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
