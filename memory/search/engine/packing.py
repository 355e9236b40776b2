"""Packed segments in the bank: derived from rows and vectors, so that opening a million memories reads a few hundred MB
and not a million rows.

Memories that are not packed lie in gaps: new ones, those without a vector, and those packed with a memory that was
forgotten. A gap is packed from its newest end, once a whole segment there is embedded. To keep segments few, the
packed segment before a gap is packed again with it unless it is `MERGE_BELOW` times as long, so that each memory is
packed some five times (the logarithmic method, Bentley & Saxe 1980).

    memory ids      1 ......... 8000 | 8001 ... 9200 | 9201 .. 9500
                    packed, 8000 rows  packed, 1200    gap, 300 rows, all embedded
    pack            1200 >= 4 * 300: the gap becomes a segment of its own           8000 + 1200 + 300
    300 more later  300 < 4 * 300 joins it, 1200 < 4 * 600, too; 8000 >= 4 * 1800   8000 + 1800
"""

from dataclasses import dataclass, replace
from itertools import pairwise

from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.bank.queries import indexing
from memory.bank.queries.indexing import BankState
from memory.search.engine import segments
from memory.search.engine.segments import MAX_ROWS, Segment, SegmentVectors

MIN_ROWS = 256
"""Memories worth packing: fewer are read as fast row by row."""

MERGE_BELOW = 4

ABOVE_ALL_IDS = 1 << 62


@dataclass(frozen=True, slots=True)
class Packed:
    """A packed segment without its payload: its own id, those of its first and last memory, and its length in rows."""

    number: int
    first: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A persona's memories with ids between `after` and `before`, none of them packed."""

    persona_id: int
    after: int
    before: int


def list_packed(db: Database, persona_id: int, model: str) -> list[Packed]:
    """A persona's packed segments with vectors of this model, in order of their memories."""
    query = "SELECT id, first_id, last_id, size FROM segments WHERE persona_id = ? AND kind = ? ORDER BY first_id"
    return [Packed(*row) for row in db.conn.execute(query, (persona_id, segments.kind(model)))]


def load(db: Database, packed: Packed) -> Segment | None:
    """A packed segment; None if it is damaged."""
    # A SELECT would copy it twice.
    with db.conn.blobopen("segments", "payload", packed.number, readonly=True) as payload:
        segment = segments.from_bytes(payload.read(), packed.number)
    fits = segment is not None and segment.span == (packed.first, packed.last) and len(segment) == packed.size
    return segment if fits else None


def gaps_between(persona_id: int, packed: list[Packed]) -> list[Gap]:
    """Where there may be memories that are not packed, in order of id."""
    bounds = pairwise([(0, 0), *((p.first, p.last) for p in packed), (ABOVE_ALL_IDS, 0)])
    return [Gap(persona_id, after, before) for (_, after), (before, _) in bounds if before - after > 1]


def gaps(db: Database, model: str, persona_id: int | None = None) -> list[Gap]:
    """The gaps of one persona or of all."""
    query = "SELECT id FROM personas WHERE id = coalesce(?, id) ORDER BY id"
    return [
        gap
        for (persona,) in db.conn.execute(query, (persona_id,)).fetchall()
        for gap in gaps_between(persona, list_packed(db, persona, model))
    ]


def pack(bank: Bank, model: str, dimensions: int, persona_id: int | None = None) -> None:
    """Pack what is ready (of one persona, or of all)."""
    with bank.reading() as db:
        open_gaps = gaps(db, model, persona_id)
    for gap in open_gaps:
        while run := _pack_newest(bank, model, dimensions, gap):
            gap = replace(gap, before=run.first)


def _pack_newest(bank: Bank, model: str, dimensions: int, gap: Gap) -> Packed | None:
    """Pack the newest end of a gap in place of the segments that it takes in, and return it without a number.

    None if there is too little for a segment, or if rows or segments changed meanwhile.
    """
    with bank.reading_snapshot() as db:
        preceding = [p for p in list_packed(db, gap.persona_id, model) if p.last <= gap.after]
        run = _next_run(db, model, gap, preceding)
        if run is None:
            return None
        (segment,) = segments.read_rows(db, gap.persona_id, model, dimensions, run.first - 1, run.last + 1)
        total = db.table("memories").count_where("persona_id = ?", [gap.persona_id])
        rewritten = BankState.read(db).rewritten
    if total > MAX_ROWS:
        segment = replace(segment, vectors=SegmentVectors.packed(segment.vectors.head))
    covered = {p.number for p in preceding if p.first >= run.first}
    row = (gap.persona_id, segments.kind(model), run.first, run.last, len(segment), segments.to_bytes(segment))
    with bank.writing() as db:
        packed = list_packed(db, gap.persona_id, model)
        overlapping = {p.number for p in packed if p.first <= run.last and p.last >= run.first}
        if BankState.read(db).rewritten != rewritten or overlapping != covered:
            return None
        db.conn.executemany("DELETE FROM segments WHERE id = ?", [(number,) for number in covered])
        db.conn.execute(indexing.SQL["insert_segment"], row)
    return run


def _next_run(db: Database, model: str, gap: Gap, preceding: list[Packed]) -> Packed | None:
    """What to pack next, as a segment without a number: the newest end of a gap, and small ones of those before it."""
    newest = "SELECT id FROM memories WHERE persona_id = ? AND id > ? AND id < ? ORDER BY id DESC LIMIT ?"
    ids = [int(i) for (i,) in db.conn.execute(newest, (gap.persona_id, gap.after, gap.before, MAX_ROWS))]
    if len(ids) < MIN_ROWS:
        return None
    first, last, size = ids[-1], ids[0], len(ids)
    if indexing.newest_keys_without_vector(db, model, gap.persona_id, first - 1, last + 1, limit=1):
        return None
    for previous in reversed(preceding):
        if previous.size >= MERGE_BELOW * size or size + previous.size > MAX_ROWS:
            break
        first, size = previous.first, size + previous.size
    return Packed(0, first, last, size)
