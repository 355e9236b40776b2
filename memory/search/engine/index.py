"""A persona's memories in memory, kept in step with the bank: what every search starts from."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.embedding.embedder import Vectors
from memory.search.engine import packing
from memory.search.engine import segments as segment
from memory.search.engine.packing import Gap
from memory.search.engine.postings import bm25, code, complete
from memory.search.engine.segments import Columns, Segment
from memory.search.fusion import Scores
from memory.search.scoring import TURNS, Candidates
from memory.types import SEMANTIC, STORES, TimeSpan

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
Ends = tuple[Rows, NDArray[np.float64]]
"""Rows, ascending, and when each ended."""

FACTS = [STORES.index(store) for store in SEMANTIC]


OFTEN = 0.2
"""The share of all turns that makes somebody one of those whose talk it is."""

HELD_BYTES = 1 << 30
"""Of all indexes together, but the one in use is held whatever its size: a million packed memories take nine tenths."""

LOOSE_ROWS = 1 << 13
"""Rows of a segment that is not packed, at most: it is copied when its memories get their vectors."""

MANY_ROWS = 1 << 18
"""Rows from which on several threads scan them; below, sharing the work costs what it saves."""

_scanning = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="scan")

_STATE = "SELECT value, rewritten, (SELECT coalesce(max(id), 0) FROM vectors) FROM revision"

_LATE = """
SELECT m.id, v.vector FROM vectors v CROSS JOIN memories m INDEXED BY memories_key ON m.key_hash = v.key_hash
WHERE v.id > ? AND v.model = ? AND m.persona_id = ? AND m.id > ? AND m.id < ?
"""
"""The vectors first, for they are few; the rows that wait for one may be a million."""


@dataclass(frozen=True, slots=True)
class State:
    """How often the bank was written to, how many rows went or changed, and which vector came last."""

    revision: int
    rewritten: int
    vector: int


@dataclass(frozen=True, slots=True)
class Index:
    """All memories of one persona at one state of the bank; a row is a memory's place, in order of id.

    `starts` are the first rows of the segments, and n. `stores`, (n,), is of which store every memory is, as a place in
    `STORES`; `turns`, ascending, the rows of what was said. `last` is when the last of all came to be known, `length`
    how many terms they have on average. `closed_rows`, ascending, are the memories that stopped holding, and
    `closed_at` when; `taken_rows` and `taken_at` those that were taken back. Times are seconds since 1970. `size` is
    how many bytes all that takes.
    """

    state: State
    segments: tuple[Segment, ...]
    starts: Rows
    stores: NDArray[np.int8]
    turns: Rows
    last: float
    length: float
    closed_rows: Rows
    closed_at: NDArray[np.float64]
    taken_rows: Rows
    taken_at: NDArray[np.float64]
    size: int

    @classmethod
    def of(cls, state: State, segments: Sequence[Segment], closed: Ends, taken: Ends) -> Index:
        """The index that these segments make up."""
        columns = [part.columns for part in segments]
        starts = np.cumsum([0, *map(len, segments)])
        stores = np.concatenate([np.zeros(0, dtype=np.int8), *(c.stores for c in columns)])
        last = max((float(c.said.max()) for c in columns), default=-np.inf)
        length = sum(int(part.postings.lengths.sum()) for part in segments) / max(len(stores), 1)
        turns = np.flatnonzero(stores == TURNS)
        size = sum(part.size for part in segments) + stores.nbytes + turns.nbytes
        return cls(state, tuple(segments), starts, stores, turns, last, length, *closed, *taken, size)

    def __len__(self) -> int:
        return len(self.stores)

    def said_by(self, moment: datetime) -> Mask:
        """Which memories had been said by that moment and not taken back, still held or not; shape (n,)."""
        if self.last <= moment.timestamp():
            said = np.ones(len(self), dtype=np.bool_)
        else:
            said = np.concatenate([s.columns.said <= moment.timestamp() for s in self.segments])
        said[self.taken_rows[self.taken_at <= moment.timestamp()]] = False
        return said

    def rows_of(self, ids: Sequence[int]) -> Rows:
        """The rows of these memories, ascending; those that are not there are left out."""
        wanted = np.array(sorted(ids), dtype=np.int64)
        if not len(wanted):
            return np.zeros(0, dtype=np.intp)
        held = np.concatenate([np.zeros(0, dtype=np.int64), *(part.columns.ids for part in self.segments)])
        return np.flatnonzero(np.isin(held, wanted))

    def within(self, spans: Sequence[TimeSpan]) -> Mask:
        """Which memories are of one of the spans; shape (n,)."""
        begun, ended = (
            np.concatenate([getattr(s.columns, name) for s in self.segments]) for name in ("begun", "ended")
        )
        facts = np.isin(self.stores[self.closed_rows], FACTS)
        ended[self.closed_rows[facts]] = self.closed_at[facts]
        inside = np.zeros(len(begun), dtype=np.bool_)
        for span in spans:
            inside |= (begun < span.end.timestamp()) & (ended >= span.start.timestamp())
        return inside

    def by_words(self, queries: Sequence[Sequence[str]]) -> Scores:
        """BM25 of every memory for each query, a list of distinct terms; shape (queries, n)."""
        return bm25([s.postings for s in self.segments], queries)

    def by_meaning(self, queries: Vectors) -> Meaning:
        """How near every memory is to each query."""
        turned = [part.dense.turned(queries) for part in self.segments]
        near = np.empty((len(queries), len(self)), dtype=np.float32)

        def scan(part: Segment, first: int, asked: Vectors) -> None:
            near[:, first : first + len(part)] = part.dense.near(asked)

        each = map if len(self) < MANY_ROWS else _scanning.map
        for _ in each(scan, self.segments, self.starts.tolist(), turned):
            pass
        return Meaning(self, turned, near)

    def speaking(self, speakers: Sequence[int], moment: datetime) -> frozenset[int]:
        """Which of the speakers, given as codes, had said `OFTEN` of all that had been said by that moment."""
        turns = self.said_by(moment) & (self.stores == TURNS)
        said = dict.fromkeys(speakers, 0)
        for part, (first, end) in zip(self.segments, pairwise(self.starts), strict=True):
            for who in said:
                said[who] += int(np.count_nonzero((part.columns.speakers == who) & turns[first:end]))
        often = OFTEN * np.count_nonzero(turns)
        return frozenset(who for who, times in said.items() if times > often)

    def frequencies(self, terms: Sequence[str], moment: datetime) -> tuple[int, dict[str, int]]:
        """How many memories had been said by that moment, and how many of them hold each of the terms."""
        said, codes = self.said_by(moment), [code(term) for term in terms]
        held = dict.fromkeys(terms, 0)
        for part, first in zip(self.segments, self.starts, strict=False):
            for term, at in zip(terms, part.postings.holding(codes), strict=True):
                held[term] += int(np.count_nonzero(said[part.postings.rows[at] + first]))
        return int(np.count_nonzero(said)), held

    def candidates(
        self, rows: Rows, queries: Sequence[Sequence[str]], legible: Scores, lexical: Scores, dense: Scores
    ) -> Candidates:
        """What is known of these rows, ascending, with each view's terms and legibility, and scores (views, m)."""
        parts = list(self.split(rows))
        columns = Columns.joined([part.columns.at(here) for part, here in parts])
        lengths = np.concatenate([part.postings.lengths[here] for part, here in parts])
        closed = np.full(len(rows), np.inf)
        here = np.searchsorted(rows, self.closed_rows)
        among = here < len(rows)
        among[among] = rows[here[among]] == self.closed_rows[among]
        closed[here[among]] = self.closed_at[among]
        ended = np.where(np.isin(columns.stores, FACTS), closed, columns.ended)
        # Whatever is no turn has no neighbours: no two of these places differ by one.
        places = np.where(columns.stores == TURNS, np.searchsorted(self.turns, rows), -2 * (rows + 1))
        return Candidates(
            columns.ids,
            columns.stores,
            columns.sessions,
            places,
            closed,
            columns.begun,
            ended,
            columns.speakers,
            columns.own.astype(np.bool_),
            np.concatenate([part.embedded[here] for part, here in parts]),
            lengths / max(self.length, 1.0),
            complete([s.postings for s in self.segments], queries),
            legible,
            lexical,
            dense,
        )

    def split(self, rows: Rows) -> Iterator[tuple[Segment, Rows]]:
        """The rows of each segment, counted within it."""
        cuts = np.searchsorted(rows, self.starts).tolist()
        for part, first, (lo, hi) in zip(self.segments, self.starts, pairwise(cuts), strict=False):
            yield part, rows[lo:hi] - first


@dataclass(frozen=True, slots=True)
class Meaning:
    """How near the memories of an index are to some queries.

    `near` is about the cosine, shape (queries, n), and 0 where a memory has no vector; `turned` are the queries as each
    segment has turned its vectors.
    """

    held: Index
    turned: Sequence[Vectors]
    near: Vectors

    def cosine(self, rows: Rows, views: slice = slice(None)) -> Vectors:
        """The cosine of these rows, ascending, to some of the queries, shape (queries, m)."""
        parts = zip(self.held.split(rows), self.turned, strict=True)
        further = [part.dense.beyond(turned[views], here) for (part, here), turned in parts]
        return np.asarray(self.near[views][:, rows] + np.concatenate(further, axis=1))


class Indexes:
    """The indexes of a bank's personas for one embedding model, renewed when the bank has been written to.

    Those asked last are held, as many as `HELD_BYTES` allows.
    """

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self._held: OrderedDict[int, Index] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, db: Database, persona_id: int) -> Index:
        """The persona's memories as they are now; `db` is in a transaction, so that all that is read agrees."""
        state = State(*db.conn.execute(_STATE).fetchone())
        with self._lock:
            held = self._held.get(persona_id)
        if held is None or held.state != state:
            held = self._renewed(db, persona_id, state, held)
        with self._lock:
            self._held[persona_id] = held
            self._held.move_to_end(persona_id)
            while len(self._held) > 1 and sum(index.size for index in self._held.values()) > HELD_BYTES:
                self._held.popitem(last=False)
        return held

    def _renewed(self, db: Database, persona_id: int, state: State, held: Index | None) -> Index:
        listed = packing.packed(db, persona_id, self.model)
        known = {part.number: part for part in held.segments} if held else {}
        parts = [known.get(p.number) or packing.load(db, p.number) for p in listed]
        gaps = packing.gaps_between(persona_id, listed)
        if held is None or held.state.rewritten != state.rewritten:
            parts += [part for gap in gaps for part in self._read(db, gap)]
        else:
            parts += [part for gap in gaps for part in self._followed(db, gap, held)]
        parts.sort(key=lambda part: int(part.columns.ids[0]))
        ends = (_ends(db, persona_id, parts, ended) for ended in ("valid_to", "taken_back"))
        return Index.of(state, parts, *ends)

    def _read(self, db: Database, gap: Gap, after: int = 0) -> Iterator[Segment]:
        after = max(gap.after, after)
        return segment.read(db, gap.persona_id, self.model, self.dimensions, after, gap.before, LOOSE_ROWS)

    def _followed(self, db: Database, gap: Gap, held: Index) -> list[Segment]:
        """What is held of a gap, with the vectors and the rows that have come since; reads nothing else."""
        parts = [part for s in held.segments if not s.number and len(part := s.between(gap.after, gap.before))]
        if not all(part.embedded.all() for part in parts):
            late = db.conn.execute(
                _LATE, (held.state.vector, self.model, gap.persona_id, gap.after, gap.before)
            ).fetchall()
            if late:
                ids = np.array([memory_id for memory_id, _ in late], dtype=np.int64)
                vectors = np.frombuffer(b"".join(blob for _, blob in late), dtype=np.float32).reshape(len(ids), -1)
                parts = [part.with_vectors(ids, vectors) for part in parts]
        last = int(held.segments[-1].columns.ids[-1]) if held.segments else 0
        for new in self._read(db, gap, last) if gap.before > last else ():
            parts.append(new)
            # Small ones are joined, so that there are few and each row is copied a dozen times at most.
            while len(parts) > 1 and len(parts[-2]) <= min(2 * len(parts[-1]), LOOSE_ROWS - len(parts[-1])):
                parts[-2:] = [segment.joined(*parts[-2:])]
        return parts


def _ends(db: Database, persona_id: int, parts: Sequence[Segment], ended: str) -> Ends:
    """Which memories stopped holding or were taken back, and when."""
    found = db.conn.execute(
        f"SELECT id, unixepoch({ended}) FROM memories WHERE persona_id = ? AND {ended} IS NOT NULL", (persona_id,)
    ).fetchall()
    if not found:
        return np.zeros(0, dtype=np.intp), np.zeros(0)
    closed = np.array(sorted(found))
    rows = np.searchsorted(np.concatenate([part.columns.ids for part in parts]), closed[:, 0])
    return rows, closed[:, 1].astype(np.float64)
