"""How well each candidate answers a question: words and meaning mixed, and what the turns next to it lend.

A pure function over arrays; it knows no bank and no index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory import fusion
from memory.fusion import Scores
from memory.types import TimeSpan


@dataclass(frozen=True, slots=True)
class Candidates:
    """The m memories that are weighed, ordered by id, all of them said by the time of asking.

    `lexical` (BM25) and `dense` (cosine; 0 where `embedded` is false) have shape (views, m), everything else (m,).
    `stores` are places in `memory.types.STORES`. Two memories are turns next to each other if they are of one session
    and their `places` differ by one; `sessions` is 0 for what no session said. `said`, `closed`, `begun` and `ended`
    are seconds since 1970, see `memory.segment.Columns`; `speakers`, `emotions` and `scenes` are codes of the words
    (`memory.postings.code`), 0 for none.
    """

    ids: NDArray[np.int64]
    stores: NDArray[np.int8]
    sessions: NDArray[np.int64]
    places: NDArray[np.int64]
    said: NDArray[np.float64]
    closed: NDArray[np.float64]
    begun: NDArray[np.float64]
    ended: NDArray[np.float64]
    speakers: NDArray[np.uint64]
    emotions: NDArray[np.uint64]
    scenes: NDArray[np.uint64]
    embedded: NDArray[np.bool_]
    lexical: Scores
    dense: Scores

    def within(self, spans: Sequence[TimeSpan]) -> NDArray[np.bool_]:
        """Which candidates are of one of the spans."""
        inside = np.zeros(len(self.ids), dtype=np.bool_)
        for span in spans:
            inside |= (self.begun < span.end.timestamp()) & (self.ended >= span.start.timestamp())
        return inside


@dataclass(frozen=True, slots=True)
class Weighed:
    """Every candidate's scores on the way, each of shape (m,), see `memory.search.Searcher.search`."""

    lexical: Scores
    dense: Scores
    fused: Scores
    lent: Scores
    total: Scores

    def of(self, row: int) -> dict[str, float]:
        """The scores of one candidate, by name."""
        kinds = {"lexical": self.lexical, "dense": self.dense, "fused": self.fused, "lent": self.lent}
        return {kind: round(float(scores[row]), 4) for kind, scores in kinds.items()}


def weigh(found: Candidates, weights: Sequence[float], dense_weight: float, neighbours: float) -> Weighed:
    """Score the candidates for a question of several views, each with its weight."""
    # What has no vector yet is judged by its words alone: said a moment ago, it must not rank behind.
    mixed = [
        np.where(found.embedded, fusion.convex(words, meaning, dense_weight), fusion.normalise(words))
        for words, meaning in zip(found.lexical, found.dense, strict=True)
    ]
    fused = np.average(mixed, axis=0, weights=weights)
    lent = neighbours * _next_to(found, fused)
    return Weighed(found.lexical[0], found.dense[0], fused, lent, fused + lent)


def _next_to(found: Candidates, scores: Scores) -> Scores:
    """For each turn the better score of the turn before and the turn after it in its session; 0 for other memories."""
    order = np.argsort(found.places)
    sessions, places, of_turns = found.sessions[order], found.places[order], scores[order]
    together = (sessions[1:] == sessions[:-1]) & (places[1:] - places[:-1] == 1)
    beside = np.zeros_like(of_turns)
    beside[1:] = np.where(together, of_turns[:-1], 0.0)
    beside[:-1] = np.maximum(beside[:-1], np.where(together, of_turns[1:], 0.0))
    lent = np.zeros_like(scores)
    lent[order] = beside
    return lent
