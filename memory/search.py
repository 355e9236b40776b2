"""Find the memories that may answer a question: for every store the best k, by words and by meaning together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory import fusion, lexical, rows
from memory.bank import Bank
from memory.dense import Snapshot, VectorCache
from memory.embedder import Embedder, Vectors
from memory.fusion import Scores
from memory.types import STORES, Dropped, Hit, TimeSpan


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How candidates are found.

    `k` best of each store are kept, so that one full store never crowds out another (PerLTQA, Du et al. 2024).
    `neighbours` is the share of its score that a turn lends to the turns said just after and just before it: an answer
    often has no word in common with the question, but follows one that has.
    `dense_weight` is the share of meaning against words; 0 is words alone, 1 meaning alone.
    `depth` is how many of each store are ranked at all; those past `k` are shown in their order but not read, so that
    a longer look at the ranking changes no answer.
    """

    k: int = 10
    dense_weight: float = 0.5
    neighbours: float = 0.4
    ranker: str = "fts5"
    depth: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """One way of putting the question: its text, its vector, and its weight among the views."""

    text: str
    vector: Vectors
    weight: float = 1.0


class Searcher:
    """Searches one bank with one embedding model."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        self.bank = bank
        self.embedder = embedder
        self._cache: VectorCache | None = None

    def views(self, texts: Sequence[str]) -> tuple[View, ...]:
        """Embed several ways of putting a question in one encoder call."""
        vectors = self.embedder.encode(texts)
        return tuple(View(t, v) for t, v in zip(texts, vectors, strict=True))

    def frequencies(self, persona_id: int, terms: Sequence[str], as_of: datetime) -> tuple[int, dict[str, int]]:
        """How many memories a persona had at `as_of`, and how many of them held each of the terms of the index."""
        with self.bank.reading() as db:
            return lexical.frequencies(db, persona_id, terms, rows.stamp(as_of) or "")

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        during: Sequence[TimeSpan] = (),
    ) -> tuple[Hit, ...]:
        """The best k memories of each store that were known to the persona at `as_of`, best first.

        With `during`, the best k of those times are among them, too: what was asked of one week must not be crowded out
        by the other fifty.
        `Hit.scores` holds "lexical" (BM25) and "dense" (cosine) of the first view, "fused", the weighted mean of the
        views' mixed scores (0..1), and "lent", what the turns next to it add; `Hit.score` is the sum of the last two.
        """
        chosen = settings or SearchSettings()
        if self._cache is None:
            self._cache = VectorCache(self.embedder.model, self.embedder.dimensions)
        with self.bank.reading() as db:
            db.conn.execute("BEGIN")  # one view of rows and index
            held = self._cache.snapshot(db, persona_id)
            if not len(held.ids) or not views:
                return ()
            by_words = self._by_words(db, persona_id, held, views, chosen)
        said = held.said_by(as_of)
        scored = _score(held, views, np.where(said, by_words, 0.0), said, chosen)
        known = np.where(held.known_at(as_of), scored.total, -1.0)
        best = _best_of_each_store(held, known, chosen.k)
        if during:
            # A fact that holds no more held then: "where did I live in March?"
            best |= _best_of_each_store(held, np.where(said & held.within(during), scored.total, -1.0), chosen.k)
        further = _best_of_each_store(held, known, chosen.depth) - best
        ordered = sorted(best | further, key=lambda row: (row in further, -scored.total[row], held.ids[row]))
        found = self.bank.memories(persona_id, ids=[int(held.ids[row]) for row in ordered])
        beyond: tuple[Dropped, str] = ("rank", f"not among the {chosen.k} best of its kind")
        return tuple(
            Hit(m, float(scored.total[row]), scored.of(row), *(beyond if row in further else ()))
            for m, row in zip(found, ordered, strict=True)
        )

    @staticmethod
    def _by_words(
        db: Database, persona_id: int, held: Snapshot, views: Sequence[View], settings: SearchSettings
    ) -> Scores:
        """BM25 of every memory for every view, shape (views, n)."""
        spread = np.zeros((len(views), len(held.ids)))
        if settings.dense_weight < 1:
            for row, view in zip(spread, views, strict=True):
                scores = lexical.RANKERS[settings.ranker](db, persona_id, lexical.content_terms(view.text), -1)
                ids = np.fromiter(scores, dtype=np.int64, count=len(scores))
                row[held.rows_of(ids)] = list(scores.values())
        return spread


@dataclass(frozen=True, slots=True)
class _Scored:
    """Every memory's scores on the way, each of shape (n,), see `Searcher.search`."""

    lexical: Scores
    dense: Scores
    fused: Scores
    lent: Scores
    total: Scores

    def of(self, row: int) -> dict[str, float]:
        kinds = {"lexical": self.lexical, "dense": self.dense, "fused": self.fused, "lent": self.lent}
        return {kind: round(float(scores[row]), 4) for kind, scores in kinds.items()}


def _score(
    held: Snapshot, views: Sequence[View], by_words: Scores, said: NDArray[np.bool_], settings: SearchSettings
) -> _Scored:
    by_meaning = np.where(said, held.similarity(np.stack([v.vector for v in views])), 0.0)
    # What has no vector yet is judged by its words alone: said a moment ago, it must not rank behind.
    mixed = [
        np.where(held.embedded, fusion.convex(words, meaning, settings.dense_weight), fusion.normalise(words))
        for words, meaning in zip(by_words, by_meaning, strict=True)
    ]
    fused = np.average(mixed, axis=0, weights=[v.weight for v in views])
    lent = settings.neighbours * _next_to(held, np.where(said, fused, 0.0))
    return _Scored(by_words[0], by_meaning[0], fused, lent, fused + lent)


def _next_to(held: Snapshot, scores: Scores) -> Scores:
    """For each turn the better score of the turn before and the turn after it in its session; 0 for other memories."""
    turns = np.flatnonzero(held.stores == STORES.index("dialogue"))
    of_turns, sessions = scores[turns], held.sessions[turns]
    together = sessions[1:] == sessions[:-1]
    beside = np.zeros_like(of_turns)
    beside[1:] = np.where(together, of_turns[:-1], 0.0)
    beside[:-1] = np.maximum(beside[:-1], np.where(together, of_turns[1:], 0.0))
    lent = np.zeros_like(scores)
    lent[turns] = beside
    return lent


def _best_of_each_store(held: Snapshot, scores: Scores, k: int) -> set[int]:
    """Rows of the k best memories of each store whose score is above zero; of equal ones the older."""
    chosen: set[int] = set()
    for code in range(len(STORES)):
        rows = np.flatnonzero((held.stores == code) & (scores > 0))
        chosen.update(rows[np.argsort(-scores[rows], kind="stable")][:k].tolist())
    return chosen
