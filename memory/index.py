"""A persona's memories in memory, kept in step with the bank: what every search starts from."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory import segment
from memory.embedder import Vectors
from memory.fusion import Scores
from memory.postings import MOST_ROWS, bm25, code
from memory.scoring import Candidates
from memory.segment import Columns, Segment
from memory.types import SEMANTIC, STORES

Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]

FACTS = [STORES.index(store) for store in SEMANTIC]
TURNS = STORES.index("dialogue")


@dataclass(frozen=True, slots=True)
class Index:
    """All memories of one persona at one revision of the bank; a row is a memory's place, in order of id.

    `closed_rows` are the memories that stopped holding, and `closed_at` when, in seconds since 1970.
    """

    revision: int
    segments: tuple[Segment, ...]
    closed_rows: Rows
    closed_at: NDArray[np.float64]

    def __len__(self) -> int:
        return sum(map(len, self.segments))

    def said_by(self, moment: datetime) -> Mask:
        """Which memories had been said by that moment, whether they still held or not; shape (n,)."""
        return np.concatenate([s.columns.said <= moment.timestamp() for s in self.segments])

    def by_words(self, queries: Sequence[Sequence[str]]) -> Scores:
        """BM25 of every memory for each query, a list of distinct terms; shape (queries, n)."""
        return bm25([s.postings for s in self.segments], queries)

    def by_meaning(self, queries: Vectors) -> Vectors:
        """Cosine of every memory to each query, shape (queries, n); 0 where a memory has no vector."""
        return np.concatenate([queries @ s.vectors.T for s in self.segments], axis=1)

    def frequencies(self, terms: Sequence[str], moment: datetime) -> tuple[int, dict[str, int]]:
        """How many memories had been said by that moment, and how many of them hold each of the terms."""
        held = dict.fromkeys(terms, 0)
        total = 0
        for part in self.segments:
            said = part.columns.said <= moment.timestamp()
            total += int(said.sum())
            for term in held:
                held[term] += int(said[part.postings.rows[part.postings.holding(code(term))]].sum())
        return total, held

    def candidates(self, rows: Rows, lexical: Scores, dense: Scores) -> Candidates:
        """What is known of these rows, ascending, with their scores, each (views, m)."""
        columns = self._at(rows)
        closed = np.full(len(rows), np.inf)
        here = np.searchsorted(rows, self.closed_rows)
        among = here < len(rows)
        among[among] = rows[here[among]] == self.closed_rows[among]
        closed[here[among]] = self.closed_at[among]
        ended = np.where(np.isin(columns.stores, FACTS), closed, columns.ended)
        turns = np.flatnonzero(np.concatenate([s.columns.stores for s in self.segments]) == TURNS)
        # Whatever is no turn has no neighbours: no two of these places differ by one.
        places = np.where(columns.stores == TURNS, np.searchsorted(turns, rows), -2 * (rows + 1))
        return Candidates(
            columns.ids,
            columns.stores,
            columns.sessions,
            places,
            columns.said,
            closed,
            columns.begun,
            ended,
            columns.speakers,
            columns.emotions,
            columns.scenes,
            np.concatenate([s.embedded for s in self.segments])[rows],
            lexical,
            dense,
        )

    def _at(self, rows: Rows) -> Columns:
        starts = np.cumsum([0, *map(len, self.segments)])
        cuts = np.searchsorted(rows, starts)
        parts = zip(self.segments, starts[:-1], cuts[:-1], cuts[1:], strict=True)
        return Columns.joined([part.columns.at(rows[lo:hi] - first) for part, first, lo, hi in parts])


class Indexes:
    """The indexes of a bank's personas for one embedding model, renewed when the bank has been written to."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self._held: dict[int, Index] = {}
        self._lock = threading.Lock()

    def of(self, db: Database, persona_id: int) -> Index:
        """The persona's memories as they are now; `db` is in a transaction, so that all that is read agrees."""
        revision = int(db.conn.execute("SELECT value FROM revision").fetchone()[0])
        with self._lock:
            held = self._held.get(persona_id)
        if held is not None and held.revision == revision:
            return held
        fresh = self._read(db, persona_id, revision)
        with self._lock:
            self._held[persona_id] = fresh
        return fresh

    def _read(self, db: Database, persona_id: int, revision: int) -> Index:
        segments = segment.read(db, persona_id, self.model, self.dimensions, MOST_ROWS)
        closed = db.conn.execute(
            "SELECT id, unixepoch(valid_to) FROM memories WHERE persona_id = ? AND valid_to IS NOT NULL ORDER BY id",
            (persona_id,),
        ).fetchall()
        ids = np.concatenate([s.columns.ids for s in segments]) if segments else np.zeros(0, dtype=np.int64)
        rows = np.searchsorted(ids, [memory_id for memory_id, _ in closed])
        return Index(revision, tuple(segments), rows, np.array([at for _, at in closed], dtype=np.float64))
