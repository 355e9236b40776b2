"""Which of very many memories are worth weighing for a question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.search.engine.index import Index, Mask, Meaning, Rows
from memory.search.engine.segments import MOST_ROWS
from memory.search.fusion import Scores
from memory.search.scoring import TURNS
from memory.types import STORES, TimeSpan

NEAREST = 3000
"""Memories of a store whose cosine to a view is worked out: of the ten nearest, 99 of 100 are then among them."""

KEPT = 300
"""Memories of a store that are weighed for being near to a view, and as many for its words. What a search hands out are
the ten best of a store by both together."""

BESIDE = 2
"""Turns before and after each that are weighed with it."""

SAMPLED = 64
"""Scores that decide where a sample is cut: the cut is then off by an eighth or so."""


def choose(
    held: Index, words: Scores, meaning: Meaning, as_of: datetime, during: Sequence[TimeSpan], wanted: int
) -> Rows:
    """The rows to weigh, ascending: all that had been said by then or, of more than fit a segment, the likely ones.

    Those are of each store the nearest and the best by words of what was known and, with `during`, of those times;
    and the turns next to them. `wanted` is how many of a store are to be ranked.
    """
    said = held.said_by(as_of)
    if len(held) <= MOST_ROWS:
        return np.flatnonzero(said)
    kept = max(KEPT, 3 * wanted)
    known = said.copy()
    known[held.closed_rows[held.closed_at <= as_of.timestamp()]] = False
    chosen = np.zeros(len(held), dtype=np.bool_)
    for mask in (known, said & held.within(during)) if during else (known,):
        many: list[tuple[Mask, Rows]] = []
        for store in range(len(STORES)):
            kind = mask & (held.stores == store)
            rows = np.flatnonzero(kind)
            if len(rows) > kept:
                many.append((kind, rows))
            else:
                chosen[rows] = True
        for view in range(len(words)) if many else ():
            for kind, rows in many:
                chosen[_best(kind, rows, words[view], kept)] = True
            for rows in _nearest(many, meaning, view, kept):
                chosen[rows] = True
    _add_beside(chosen, held)
    return np.flatnonzero(chosen & said)


def _nearest(many: Sequence[tuple[Mask, Rows]], meaning: Meaning, view: int, kept: int) -> Iterator[Rows]:
    """Of each kind about so many rows of the best cosine to a view."""
    likely = [_best(kind, rows, meaning.near[view], max(NEAREST, kept)) for kind, rows in many]
    together = np.sort(np.concatenate(likely), kind="stable")  # one way through the segments for all kinds
    cosine = meaning.cosine(together, slice(view, view + 1))[0]
    for rows in likely:
        its = cosine[np.searchsorted(together, rows)]
        yield rows[its >= _cut(its[_sample(kept)])]


def _best(kind: Mask, rows: Rows, scores: NDArray[Any], most: int) -> Rows:
    """Of these rows, those of the mask, about so many of the best of all scores."""
    cut = _cut(scores[rows[_sample(most)]])
    if len(rows) < len(scores) // 8:
        return rows[scores[rows] >= cut]
    return np.flatnonzero(kind & (scores >= cut))  # to gather the scores of most rows would take ten times as long


def _sample(most: int) -> slice:
    return slice(None, None, max(1, most // SAMPLED) | 1)  # an odd step, for sessions may repeat a pattern


def _cut(sample: NDArray[Any]) -> float:
    """The score above zero that the best of a sample have."""
    above = sample[sample > 0]
    if len(sample) <= SAMPLED or len(above) < SAMPLED:
        return float(np.finfo(sample.dtype).smallest_subnormal)
    return float(np.partition(above, -SAMPLED)[-SAMPLED])


def _add_beside(chosen: Mask, held: Index) -> None:
    rows = np.flatnonzero(chosen)
    places = np.searchsorted(held.turns, rows[held.stores[rows] == TURNS])
    for step in (*range(-BESIDE, 0), *range(1, BESIDE + 1)):
        beside = places + step
        chosen[held.turns[beside[(beside >= 0) & (beside < len(held.turns))]]] = True
