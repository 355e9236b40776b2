"""A persona's memories in memory, updated as the bank changes: what every search starts from."""

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.bank.queries import indexing
from memory.bank.queries.indexing import BankState
from memory.bank.queries.memories import ended_elsewhere
from memory.embedding.embedder import Embedder, Vectors
from memory.search.engine import packing, segments
from memory.search.engine.packing import Gap
from memory.search.engine.postings import Mask, bm25, frequencies, term_code
from memory.search.engine.segments import Columns, Segment, column
from memory.search.scoring import DIALOGUE, Candidates, Scores, overlapping
from memory.types import SEMANTIC, STORES, SUMMARY, TimeSpan

Rows = NDArray[np.intp]
FACTS = [STORES.index(store) for store in SEMANTIC]

CACHE_BYTES = 1 << 30
"""For all indexes together; the one in use is kept whatever its size (a million packed memories take nine tenths)."""

MAX_UNPACKED_ROWS = 1 << 13
"""Rows of an unpacked segment at most: it is copied when its memories get their vectors."""

PARALLEL_ROWS = 1 << 18
"""From so many rows on several threads scan them; below, sharing the work costs more than it saves."""

_threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="scan")


class EndTimes(NamedTuple):
    """Rows and when each ended, in seconds since 1970; of two times of a row the last counts."""

    rows: Rows
    at: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Index:
    """All memories of one persona at one state of the bank; row r is the r-th memory in order of id.

        segments        3 segments of 32768, 5000 and 12 rows, so n = 37780
        starts (4,)     [0, 32768, 37768, 37780]: rows 32768 to 37767 are in segment 1
        stores (n,)     place of each memory's store in `STORES`
        turns (t,)      rows of the dialogue store, ascending

    `latest` is when the newest memory came to be known, in seconds since 1970. `closed` memories stopped holding;
    `retracted` ones were retracted. `size` is in bytes.
    """

    state: BankState
    segments: tuple[Segment, ...]
    starts: Rows
    stores: NDArray[np.int8]
    turns: Rows
    latest: float
    closed: EndTimes
    retracted: EndTimes
    size: int

    @classmethod
    def build(cls, state: BankState, parts: Sequence[Segment], closed: EndTimes, retracted: EndTimes) -> "Index":
        """The index that these segments make up."""
        starts = np.cumsum([0, *map(len, parts)])
        stores = column(parts, "stores")
        latest = max((float(part.columns.known_since.max()) for part in parts), default=-np.inf)
        turns = np.flatnonzero(stores == DIALOGUE)
        size = sum(part.size for part in parts) + stores.nbytes + turns.nbytes
        return cls(state, tuple(parts), starts, stores, turns, latest, closed, retracted, size)

    @classmethod
    def join(cls, indexes: Sequence["Index"], summaries: Sequence[int], ended: Mapping[int, float]) -> "Index":
        """The index of a persona, the first, followed by those of others, in which only what the user said is known.

        Their other rows and `summaries`, by memory id, stay hidden: they count as retracted before all time. `ended` is
        when facts of the user stopped holding because of what they told to another persona, by memory id.

            indexes of 5 and 3 rows, the last row said by a persona: n = 8, row 7 is hidden
        """
        offsets = np.cumsum([0, *map(len, indexes)])
        parts = [part for index in indexes for part in index.segments]
        ids = column(parts, "ids")
        is_hidden = (column(parts, "by_user") == 0) | np.isin(ids, summaries)
        is_hidden[: offsets[1]] = False
        hidden, closed = np.flatnonzero(is_hidden), np.flatnonzero(np.isin(ids, list(ended)))

        def shifted(ends: Sequence[EndTimes], further: Rows, times: Scores) -> EndTimes:
            rows = [each.rows + start for each, start in zip(ends, offsets, strict=False)]
            return EndTimes(np.concatenate([*rows, further]), np.concatenate([*(each.at for each in ends), times]))

        times = np.array([ended[i] for i in ids[closed].tolist()], dtype=np.float64)
        all_closed = shifted([index.closed for index in indexes], closed, times)
        all_retracted = shifted([index.retracted for index in indexes], hidden, np.full(len(hidden), -np.inf))
        joined = cls.build(indexes[0].state, parts, all_closed, all_retracted)
        # The segments are counted where they are kept. What is hidden is to be left out whatever the moment.
        return replace(joined, latest=np.inf, size=joined.stores.nbytes + joined.turns.nbytes)

    def __len__(self) -> int:
        return len(self.stores)

    def known_at(self, moment: datetime) -> Mask:
        """Which memories were known by that moment and not retracted, whether or not they still held; shape (n,)."""
        if self.latest <= moment.timestamp():
            known = np.ones(len(self), dtype=np.bool_)
        else:
            known = np.concatenate([s.columns.known_since <= moment.timestamp() for s in self.segments])
        known[self.retracted.rows[self.retracted.at <= moment.timestamp()]] = False
        return known

    def rows_of(self, ids: Sequence[int]) -> Rows:
        """The rows of these memory ids, ascending; ids that do not exist are left out."""
        return np.flatnonzero(np.isin(column(self.segments, "ids"), ids)) if ids else np.zeros(0, dtype=np.intp)

    def overlapping(self, spans: Sequence[TimeSpan]) -> Mask:
        """Which memories are about a time in one of the spans; shape (n,)."""
        starts, ends = column(self.segments, "starts"), column(self.segments, "ends")
        facts = np.isin(self.stores[self.closed.rows], FACTS)
        ends[self.closed.rows[facts]] = self.closed.at[facts]
        return overlapping(starts, ends, spans)

    def lexical_scores(self, queries: Sequence[Sequence[str]], moment: datetime | None = None) -> Scores:
        """BM25 of every memory for each query, a list of distinct terms; shape (queries, n).

        As of a `moment`, what was said later does not count (`bm25`).
        """
        known = self.known_at(moment) if moment is not None and self.latest > moment.timestamp() else None
        return bm25([s.postings for s in self.segments], queries, known)

    def dense_scores(self, queries: Vectors) -> "DenseScores":
        """The nearness of every memory to each query vector; `queries` has shape (queries, d)."""
        rotated = [part.vectors.rotate(queries) for part in self.segments]
        coarse = np.empty((len(queries), len(self)), dtype=np.float32)

        def scan(part: Segment, start: int, rotated_queries: Vectors) -> None:
            coarse[:, start : start + len(part)] = part.vectors.coarse_scores(rotated_queries)

        each = map if len(self) < PARALLEL_ROWS else _threads.map
        list(each(scan, self.segments, self.starts.tolist(), rotated))
        return DenseScores(self, rotated, coarse)

    def document_frequencies(self, terms: Sequence[str], moment: datetime) -> tuple[int, dict[str, int]]:
        """How many memories were known by that moment, and how many of them contain each of the terms."""
        known, parts = self.known_at(moment), [s.postings for s in self.segments]
        slices = [part.look_up([term_code(term) for term in terms]) for part in parts]
        counts = frequencies(parts, slices, known) if parts else [0] * len(terms)
        return int(np.count_nonzero(known)), dict(zip(terms, counts, strict=True))

    def candidates(self, rows: Rows, share_in_vocabulary: Scores, lexical: Scores, dense: Scores) -> Candidates:
        """The candidates at m ascending rows; `share_in_vocabulary` has shape (views,), both scores (views, m)."""
        parts = list(self.split(rows))
        columns = Columns.concatenate([part.columns.take(of_part) for part, of_part in parts])
        valid_until = np.full(len(rows), np.inf)
        among = np.isin(self.closed.rows, rows)
        valid_until[np.searchsorted(rows, self.closed.rows[among])] = self.closed.at[among]
        # Only turns have neighbours: no two of the places of other memories differ by one.
        places = np.where(columns.stores == DIALOGUE, np.searchsorted(self.turns, rows), -2 * (rows + 1))
        ends = np.where(np.isin(columns.stores, FACTS), valid_until, columns.ends)
        embedded = np.concatenate([part.embedded[of_part] for part, of_part in parts])
        columns = columns._replace(ends=ends)
        return Candidates(columns, places, valid_until, embedded, share_in_vocabulary, lexical, dense)

    def split(self, rows: Rows) -> Iterator[tuple[Segment, Rows]]:
        """Ascending rows by segment, numbered within it: [3, 40000] gives [3] and [7232] of segments 0 and 1."""
        cuts = np.searchsorted(rows, self.starts).tolist()
        for part, start, (lo, hi) in zip(self.segments, self.starts, pairwise(cuts), strict=False):
            yield part, rows[lo:hi] - start


@dataclass(frozen=True, slots=True)
class DenseScores:
    """The nearness of the memories of an index to some queries.

    `coarse` is about the cosine, shape (queries, n), 0 where a memory has no vector; `rotated` has, for each segment,
    the queries in the coordinates of its vectors.
    """

    index: Index
    rotated: Sequence[Vectors]
    coarse: Vectors

    def cosine(self, rows: Rows, views: slice = slice(None)) -> Vectors:
        """The cosine of these rows, ascending, to some of the queries, shape (queries, m)."""
        parts = zip(self.index.split(rows), self.rotated, strict=True)
        tails = [part.vectors.refine(rotated[views], of_part) for (part, of_part), rotated in parts]
        return np.asarray(self.coarse[views][:, rows] + np.concatenate(tails, axis=1))


class IndexCache:
    """The indexes of a bank's personas for one embedding model, updated when the bank was written to.

    Keeps those used last, as many as `CACHE_BYTES` allows.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._indexes: OrderedDict[tuple[int, ...], Index] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, db: Database, *personas: int) -> Index:
        """The index of a persona's memories as they are now, joined with those of others that it knows the user's of.

        `db` is in a transaction, so that all reads agree.
        """
        state = BankState.read(db)
        with self._lock:
            index = self._indexes.get(personas)
        if index is not None and not index.state.precedes(db, state):
            index = None
        if index is None or index.state != state:
            index = self._join(db, personas) if len(personas) > 1 else self._update(db, personas[0], state, index)
        with self._lock:
            # An old joined index would keep segments that were replaced.
            for key in [key for key, each in self._indexes.items() if len(key) > 1 and each.state != state]:
                del self._indexes[key]
            self._indexes[personas] = index
            self._indexes.move_to_end(personas)
            while len(self._indexes) > 1 and sum(index.size for index in self._indexes.values()) > CACHE_BYTES:
                self._indexes.popitem(last=False)
        return index

    def _join(self, db: Database, personas: Sequence[int]) -> Index:
        summaries = indexing.ids_of_attribute(db, personas[1:], SUMMARY)
        ended = {i: datetime.fromisoformat(at).timestamp() for i, at in ended_elsewhere(db, personas[0]).items()}
        return Index.join([self.get(db, persona) for persona in personas], summaries, ended)

    def _update(self, db: Database, persona_id: int, state: BankState, old: Index | None) -> Index:
        loaded = {(part.number, *part.span): part for part in old.segments} if old else {}
        found = [
            (p, loaded.get((p.number, p.first, p.last)) or packing.load(db, p))
            for p in packing.list_packed(db, persona_id, self.embedder.model)
        ]
        # The memories of a damaged one are read row by row.
        packed = [p for p, part in found if part is not None]
        parts = [part for _, part in found if part is not None]
        current = old if old is not None and old.state.rewritten == state.rewritten else None
        for gap in packing.gaps_between(persona_id, packed):
            parts += self._read_gap(db, gap, current)
        parts.sort(key=lambda part: int(part.columns.ids[0]))
        closed, retracted = (_end_times(db, persona_id, parts, kind) for kind in ("valid_to", "taken_back"))
        return Index.build(state, parts, closed, retracted)

    def _read(self, db: Database, persona_id: int, after: int, before: int) -> Iterator[Segment]:
        model, dimensions = self.embedder.model, self.embedder.dimensions
        return segments.read_rows(db, persona_id, model, dimensions, after, before, MAX_UNPACKED_ROWS)

    def _read_gap(self, db: Database, gap: Gap, old: Index | None) -> list[Segment]:
        """The segments of a gap: those of the old index that lie in it, with new vectors, and other rows."""
        spans = [(part, part.span) for part in old.segments if not part.number] if old else []
        parts = [part for part, (first, last) in spans if gap.after < first and last < gap.before]
        if old and not all(part.embedded.all() for part in parts):
            arguments = (old.state.newest_vector, self.embedder.model, gap.persona_id, gap.after, gap.before)
            new_vectors = db.conn.execute(indexing.SQL["new_vectors"], arguments).fetchall()
            if new_vectors:
                ids = np.array([memory_id for memory_id, _ in new_vectors], dtype=np.int64)
                blobs = b"".join(blob for _, blob in new_vectors)
                vectors = np.frombuffer(blobs, dtype=np.float32).reshape(len(ids), -1)
                parts = [part.with_vectors(ids, vectors) for part in parts]
        first = parts[0].span[0] if parts else gap.before
        parts[:0] = self._read(db, gap.persona_id, gap.after, first)
        for new in self._read(db, gap.persona_id, parts[-1].span[1] if parts else first, gap.before):
            parts.append(new)
            # Small ones are merged, so that there are few and each row is copied a dozen times at most.
            while len(parts) > 1 and len(parts[-2]) <= min(2 * len(parts[-1]), MAX_UNPACKED_ROWS - len(parts[-1])):
                parts[-2:] = [segments.merge(*parts[-2:])]
        return parts


def _end_times(db: Database, persona_id: int, parts: Sequence[Segment], kind: str) -> EndTimes:
    """The rows of the memories that have a time in a column ("valid_to", "taken_back"), and that time."""
    query = f"SELECT id, unixepoch({kind}) FROM memories WHERE persona_id = ? AND {kind} IS NOT NULL ORDER BY id"
    ended = np.array(db.conn.execute(query, (persona_id,)).fetchall(), dtype=np.int64).reshape(-1, 2)
    return EndTimes(np.searchsorted(column(parts, "ids"), ended[:, 0]), ended[:, 1].astype(np.float64))
