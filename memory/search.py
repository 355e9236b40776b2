"""Find the memories that may answer a question: for every store the best k, by words and by meaning together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory import fusion, lexical
from memory.bank import Bank
from memory.dense import Snapshot, VectorCache
from memory.embedder import Embedder, Vectors
from memory.fusion import Scores
from memory.types import STORES, Hit


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How candidates are found.

    `k` best of each store are kept, so that one full store never crowds out another (PerLTQA, Du et al. 2024).
    `neighbours` is the share of its score that a turn lends to the turns said just after and just before it: an answer
    often has no word in common with the question, but follows one that has.
    `dense_weight` is the share of meaning against words; 0 is words alone, 1 meaning alone.
    """

    k: int = 10
    dense_weight: float = 0.5
    neighbours: float = 0.4
    ranker: str = "fts5"


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

    def frequencies(self, persona_id: int, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many memories a persona has, and how many of them hold each of the terms (see `lexical.terms`)."""
        with self.bank.reading() as db:
            return lexical.frequencies(db, persona_id, terms)

    def search(
        self, persona_id: int, views: Sequence[View], as_of: datetime, settings: SearchSettings | None = None
    ) -> tuple[Hit, ...]:
        """The best k memories of each store that were known to the persona at `as_of`, best first.

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
            rank = lexical.RANKERS[chosen.ranker]
            by_words = [
                _spread(held, rank(db, persona_id, lexical.content_terms(v.text), -1))
                if chosen.dense_weight < 1
                else None
                for v in views
            ]
        known = held.known_at(as_of)
        by_meaning = held.similarity(np.stack([v.vector for v in views])).astype(np.float64)
        nothing = np.zeros(len(held.ids))
        words = [nothing if w is None else np.where(known, w, 0.0) for w in by_words]
        meaning = [np.where(known, m, 0.0) for m in by_meaning]
        weights = np.array([v.weight for v in views])
        # What has no vector yet is judged by its words alone: said a moment ago, it must not rank behind.
        mixed = [
            np.where(held.embedded, fusion.convex(w, m, chosen.dense_weight), fusion.normalise(w))
            for w, m in zip(words, meaning, strict=True)
        ]
        fused = np.average(mixed, axis=0, weights=weights)
        lent = chosen.neighbours * _next_to(held, np.where(known, fused, 0.0))
        total = fused + lent
        best = _best_of_each_store(held, np.where(known, total, -1.0), chosen.k)
        scores = {
            int(held.ids[row]): {
                "lexical": round(float(words[0][row]), 4),
                "dense": round(float(meaning[0][row]), 4),
                "fused": round(float(fused[row]), 4),
                "lent": round(float(lent[row]), 4),
            }
            for row in best
        }
        found = self.bank.memories(persona_id, ids=list(scores))
        return tuple(Hit(m, scores[m.id]["fused"] + scores[m.id]["lent"], scores[m.id]) for m in found)


def _spread(held: Snapshot, scores: dict[int, float]) -> Scores:
    """Scores by id as one value a memory of the snapshot."""
    spread = np.zeros(len(held.ids))
    ids = np.fromiter(scores, dtype=np.int64, count=len(scores))
    spread[held.rows_of(ids)] = list(scores.values())
    return spread


def _next_to(held: Snapshot, scores: Scores) -> Scores:
    """For each turn the better score of the turn before and the turn after it in its session; 0 for other memories."""
    dialogue = held.stores == STORES.index("dialogue")
    follows = (held.sessions[1:] == held.sessions[:-1]) & dialogue[1:] & dialogue[:-1]
    lent = np.zeros_like(scores)
    lent[1:] = np.where(follows, scores[:-1], 0.0)
    lent[:-1] = np.maximum(lent[:-1], np.where(follows, scores[1:], 0.0))
    return lent


def _best_of_each_store(held: Snapshot, scores: Scores, k: int) -> list[int]:
    """Rows of the k best memories of each store whose score is above zero, best first over all stores."""
    chosen: list[int] = []
    for code in range(len(STORES)):
        rows = np.flatnonzero((held.stores == code) & (scores > 0))
        # A stable order: equal scores go to the older memory.
        chosen.extend(rows[np.argsort(-scores[rows], kind="stable")][:k].tolist())
    return sorted(chosen, key=lambda row: (-scores[row], held.ids[row]))
