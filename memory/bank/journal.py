"""The audit log: what was written, learned, recalled and forgotten, when and at whose request; ids and counts, no text.

An entry is written in the transaction that it describes, so that neither exists without the other: one for each answer
and each batch of an import. Forgetting leaves an entry with ids that no longer mean anything. Entries are never changed
or deleted, not even with their persona. An answer that was not to be remembered has no entry.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from sqlite_utils import Database

from memory import named_queries
from memory.bank import rows
from memory.bank.connection import BankFile
from memory.formatting import csv_text, format_counts, safe_cell

Counts = Mapping[str, int]
"""How many there are of each kind."""

_ENTRIES = named_queries(__file__)["entries"]

CSV_HEADINGS = ("No.", "When", "What", "By", "Persona", "How much", "Memories")
"""The header of the CSV file, which other programs may read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry; `memories` are the ids that were recalled or forgotten, as "3, 7-12"."""

    id: int
    at: datetime
    action: str
    request: str
    persona_id: int | None
    persona: str
    counts: Counts
    memories: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The entry as a row of a table or of a CSV file."""
        who = self.persona or (f"No. {self.persona_id} (deleted)" if self.persona_id else "")
        at, counts = f"{self.at:%Y-%m-%d %H:%M:%S}", format_counts(self.counts)
        return (str(self.id), at, self.action, self.request, who, counts, self.memories)


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
    db: Database, action: str, persona_id: int | None, counts: Counts, memories: Iterable[int] = (), by: str = ""
) -> None:
    """Add an entry inside the transaction that it describes; none if nothing happened."""
    happened = {name: n for name, n in counts.items() if n}
    listed = format_ranges(memories)
    if happened or listed:
        entry = {"at": rows.now(), "action": action, "request": by or _by.get(), "persona_id": persona_id}
        rows.insert(db, "journal", [{**entry, "counts": json.dumps(happened), "memories": listed}])


def format_ranges(numbers: Iterable[int]) -> str:
    """Numbers in order, with runs as "7-12"."""
    # Within a run, a number less its place is always the same.
    by_run = groupby(enumerate(sorted(set(numbers))), lambda placed: placed[1] - placed[0])
    runs = ([number for _, number in run] for _, run in by_run)
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def read(bank: BankFile, limit: int = -1, offset: int = 0) -> list[Entry]:
    """Read the entries, newest first."""
    with bank.reading() as db:
        return [
            Entry(**{**row, "at": datetime.fromisoformat(row["at"]), "counts": json.loads(row["counts"])})
            for row in db.query(_ENTRIES, [limit, offset])
        ]


def count(bank: BankFile) -> int:
    """Count the entries."""
    with bank.reading() as db:
        return db.table("journal").count


def to_csv(entries: Iterable[Entry]) -> str:
    """Write entries as CSV; a cell that a spreadsheet would take for a formula gets an apostrophe in front."""
    return csv_text(CSV_HEADINGS, (map(safe_cell, entry.cells) for entry in entries))
