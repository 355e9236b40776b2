"""Which of very many memories are worth weighing for a question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.fusion import Scores
from memory.index import Index, Mask, Meaning, Rows
from memory.segment import MOST_ROWS
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
    stores = held.stores()
    for mask in (known, said & held.within(during)) if during else (known,):
        for store in range(len(STORES)):
            rows = np.flatnonzero(mask & (stores == store))
            if len(rows) <= kept:
                chosen[rows] = True
                continue
            for view in range(len(words)):
                chosen[_best(rows, words[view, rows], kept)] = True
                nearest = _best(rows, meaning.near[view, rows], max(NEAREST, kept))
                cosine = meaning.cosine(nearest, slice(view, view + 1))[0]
                chosen[_best(nearest, cosine, kept)] = True
    _add_beside(chosen, held)
    return np.flatnonzero(chosen & said)


def _best(rows: Rows, scores: NDArray[Any], most: int) -> Rows:
    """About so many rows of the best scores, none of them zero or less: all above a cut that a sample suggests."""
    sample = scores[:: max(1, most // SAMPLED) | 1]  # an odd step, for sessions may repeat a pattern
    cut = np.partition(sample, -SAMPLED)[-SAMPLED] if len(sample) > SAMPLED else 0
    return rows[scores >= cut] if cut > 0 else rows[scores > 0]


def _add_beside(chosen: Mask, held: Index) -> None:
    turns = held.turns()
    places = np.flatnonzero(chosen[turns])
    for step in (*range(-BESIDE, 0), *range(1, BESIDE + 1)):
        beside = places + step
        chosen[turns[beside[(beside >= 0) & (beside < len(turns))]]] = True
