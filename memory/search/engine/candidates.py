"""Select, out of very many memories, the few thousand worth scoring for a question.

index of n = 1,000,000 rows, 2 views
lexical (2, n)           BM25 of all rows
dense.coarse (2, n)      about the cosine of all rows, from 96 of 384 coordinates
per store and view       300 best of lexical; 3000 best of coarse, of which the 300 best by cosine
result (m,)              their rows and the turns next to them, ascending; m is some thousands
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.search.engine.index import DenseScores, Index, Mask, Rows
from memory.search.engine.segments import MAX_ROWS
from memory.search.scoring import DIALOGUE, Scores
from memory.types import STORES, TimeSpan

COARSE = 3000
"""Memories of a store whose exact cosine to a view is computed: 99 of 100 of the ten nearest are among them."""

KEPT = 300
"""Memories of a store that are scored for being near to a view, and as many for its words. A search returns the ten
best of a store by both together."""

NEIGHBOURS = 2
"""Turns before and after each selected one that are scored with it."""

SAMPLE_TOP = 64
"""A cutoff is taken from a sample that holds so many of the best scores: it is then off by an eighth or so."""


def select(
    index: Index, lexical: Scores, dense: DenseScores, as_of: datetime, during: Sequence[TimeSpan], wanted: int
) -> Rows:
    """The rows to score, ascending: all known at `as_of` or, where they exceed a segment, the likely ones.

    Those are of each store the best by meaning and by words, among all that held then and, with `during`, among the
    memories of those times. `wanted` is how many of each store will be ranked. `lexical` has shape (views, n).
    """
    known = index.known_at(as_of)
    if len(index) <= MAX_ROWS:
        return np.flatnonzero(known)
    kept = max(KEPT, 3 * wanted)
    valid = known.copy()
    valid[index.closed_rows[index.closed_at <= as_of.timestamp()]] = False
    selected = np.zeros(len(index), dtype=np.bool_)
    for mask in (valid, known & index.overlapping(during)) if during else (valid,):
        large: list[tuple[Mask, Rows]] = []  # the stores with more rows than are kept
        for store in range(len(STORES)):
            of_store = mask & (index.stores == store)
            rows = np.flatnonzero(of_store)
            if len(rows) > kept:
                large.append((of_store, rows))
            else:
                selected[rows] = True
        for view in range(len(lexical)) if large else ():
            for of_store, rows in large:
                selected[_best(of_store, rows, lexical[view], kept)] = True
            for rows in _nearest(large, dense, view, kept):
                selected[rows] = True
    _add_neighbours(selected, index)
    return np.flatnonzero(selected & known)


def _nearest(stores: Sequence[tuple[Mask, Rows]], dense: DenseScores, view: int, kept: int) -> Iterator[Rows]:
    """For each store (its mask and rows), about `kept` rows of the best cosine to a view."""
    by_store = [_best(of_store, rows, dense.coarse[view], max(COARSE, kept)) for of_store, rows in stores]
    together = np.sort(np.concatenate(by_store), kind="stable")  # one pass over the segments for all stores
    cosine = dense.cosine(together, slice(view, view + 1))[0]
    for rows in by_store:
        of_rows = cosine[np.searchsorted(together, rows)]
        yield rows[of_rows >= _cutoff(of_rows[_sample(kept)])]


def _best(mask: Mask, rows: Rows, scores: NDArray[Any], count: int) -> Rows:
    """About `count` of the rows (those of the mask) with the best scores; `scores` and `mask` have shape (n,)."""
    cutoff = _cutoff(scores[rows[_sample(count)]])
    if len(rows) < len(scores) // 8:
        return rows[scores[rows] >= cutoff]
    return np.flatnonzero(mask & (scores >= cutoff))  # gathering the scores of most rows would take ten times as long


def _sample(count: int) -> slice:
    """Every k-th row, so that the best `SAMPLE_TOP` of them stand for the best `count` of all."""
    return slice(None, None, max(1, count // SAMPLE_TOP) | 1)  # an odd step, because sessions may repeat a pattern


def _cutoff(sample: NDArray[Any]) -> float:
    """The `SAMPLE_TOP`-th best score of a sample; with fewer above zero, the smallest positive number."""
    above = sample[sample > 0]
    if len(sample) <= SAMPLE_TOP or len(above) < SAMPLE_TOP:
        return float(np.finfo(sample.dtype).smallest_subnormal)
    return float(np.partition(above, -SAMPLE_TOP)[-SAMPLE_TOP])


def _add_neighbours(selected: Mask, index: Index) -> None:
    """Select the turns next to those selected."""
    rows = np.flatnonzero(selected)
    places = np.searchsorted(index.turns, rows[index.stores[rows] == DIALOGUE])
    for step in (*range(-NEIGHBOURS, 0), *range(1, NEIGHBOURS + 1)):
        neighbours = places + step
        selected[index.turns[neighbours[(neighbours >= 0) & (neighbours < len(index.turns))]]] = True
