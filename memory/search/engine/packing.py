"""Packed segments in the bank: derived from rows and vectors, so that opening a million memories reads a few hundred MB
and not a million rows.

What is not packed lies in gaps: what is new or waits for its vector, and what was packed with a memory that was
forgotten. A gap is packed from its newest end, once all of a segment there is embedded. To keep segments few, the
packed segment before a gap is packed anew with it unless it is `GROWTH` times as long, so that each memory is packed
some five times (the logarithmic method, Bentley & Saxe 1980).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from sqlite_utils import Database

from memory.bank import indexing
from memory.bank.bank import Bank
from memory.search.engine import segments as segment
from memory.search.engine.segments import MOST_ROWS, Segment
from memory.search.engine.vectors import Dense

FEWEST = 256
"""Memories worth packing: fewer are read as fast row by row."""

GROWTH = 4

ENDLESS = 1 << 62
"""Above every id."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed segment without its payload: its own id, those of its first and last memory, and how many it holds."""

    number: int
    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Gap:
    """The memories of a persona with ids between the two, none of them packed; `behind` are the segments before it."""

    persona_id: int
    after: int
    before: int
    behind: tuple[Packed, ...] = ()


def packed(db: Database, persona_id: int, model: str) -> list[Packed]:
    """A persona's packed segments with vectors of this model, in order of their memories."""
    query = "SELECT id, first_id, last_id, size FROM segments WHERE persona_id = ? AND kind = ? ORDER BY first_id"
    return [Packed(*row) for row in db.conn.execute(query, (persona_id, segment.kind(model)))]


def load(db: Database, number: int) -> Segment:
    """A packed segment."""
    # A SELECT would copy it twice.
    with db.conn.blobopen("segments", "payload", number, readonly=True) as payload:
        return segment.from_bytes(payload.read(), number)


def gaps_between(persona_id: int, held: list[Packed]) -> list[Gap]:
    """Where memories may be that are not packed, in order of id."""
    bounds = [(0, 0), *((p.first, p.last) for p in held), (ENDLESS, 0)]
    return [
        Gap(persona_id, after, before, tuple(held[:n]))
        for n, ((_, after), (before, _)) in enumerate(pairwise(bounds))
        if before - after > 1
    ]


def gaps(db: Database, model: str, persona_id: int | None = None) -> list[Gap]:
    """The same for one persona or for all."""
    chosen = "SELECT id FROM personas WHERE id = coalesce(?, id) ORDER BY id"
    return [
        gap
        for (persona,) in db.conn.execute(chosen, (persona_id,)).fetchall()
        for gap in gaps_between(persona, packed(db, persona, model))
    ]


def pack(bank: Bank, model: str, dimensions: int, persona_id: int | None = None) -> int:
    """Pack what is ready (of one persona, or of all); returns how many segments were made."""
    with bank.reading() as db:
        found = gaps(db, model, persona_id)
    return sum(1 for gap in found for _ in _close(bank, model, dimensions, gap))


def _close(bank: Bank, model: str, dimensions: int, gap: Gap) -> Iterator[Packed]:
    """Pack a gap from its newest end for as long as there is a segment to be made."""
    while True:
        with bank.reading() as db:
            db.conn.execute("BEGIN")  # one view of rows and segments
            stretch = _stretch(db, model, gap)
            if stretch is None:
                return
            (made,) = segment.read(db, gap.persona_id, model, dimensions, stretch.first - 1, stretch.last + 1)
            total = db.table("memories").count_where("persona_id = ?", [gap.persona_id])
            rewritten = _rewritten(db)
        if total > MOST_ROWS:
            made = replace(made, dense=Dense.packed(made.dense.head))
        if not _store(bank, model, gap, stretch, made, rewritten):
            return
        yield stretch
        gap = replace(gap, before=stretch.first)


def _stretch(db: Database, model: str, gap: Gap) -> Packed | None:
    """What to pack of a gap, as a segment that has no number yet: its newest end, and small segments before it."""
    newest = "SELECT id FROM memories WHERE persona_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?"
    ids = [int(i) for (i,) in db.conn.execute(newest, (gap.persona_id, gap.after, gap.before, MOST_ROWS))]
    if len(ids) < FEWEST:
        return None
    first, last, size = ids[-1], ids[0], len(ids)
    if indexing.lacks_vectors(db, model, gap.persona_id, first - 1, last + 1):
        return None
    for before in reversed(gap.behind):
        if before.size >= GROWTH * size or size + before.size > MOST_ROWS:
            break
        first, size = before.first, size + before.size
    return Packed(0, first, last, size)


def _store(bank: Bank, model: str, gap: Gap, stretch: Packed, made: Segment, rewritten: int) -> bool:
    """Keep a packed segment in place of those that it covers, unless the rows or the segments changed meanwhile."""
    covered = {p.number for p in gap.behind if p.first >= stretch.first}
    payload = segment.to_bytes(made)
    with bank.writing() as db:
        held = packed(db, gap.persona_id, model)
        meets = {p.number for p in held if p.first <= stretch.last and p.last >= stretch.first}
        if _rewritten(db) != rewritten or meets != covered:
            return False
        db.conn.executemany("DELETE FROM segments WHERE id = ?", [(number,) for number in covered])
        db.conn.execute(
            "INSERT INTO segments (persona_id, kind, first_id, last_id, size, payload) VALUES (?, ?, ?, ?, ?, ?)",
            (gap.persona_id, segment.kind(model), stretch.first, stretch.last, len(made), payload),
        )
    return True


def _rewritten(db: Database) -> int:
    return int(db.conn.execute("SELECT rewritten FROM revision").fetchone()[0])
