"""Metrics of a ranking against the set of relevant ids, with binary relevance.

All take a ranking of distinct ids (best first; it may be shorter than k), the set of relevant ids (not empty) and a
cut-off k of at least 1, and return a fraction of 1. A ranking that finds nothing scores 0.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

CACHED = 1 << 15
"""Results of ir-measures that are cached: a report scores each ranking once for every group that it belongs to."""


def recall(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """The share of the relevant that is among the first k (LoCoMo's recall of evidence); `R@k` of ir-measures."""
    return _standard("R", ranking, relevant, k)


def recall_any(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if anything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025; Success@k elsewhere)."""
    check_arguments(relevant, k)
    return float(not set(relevant).isdisjoint(ranking[:k]))


def recall_all(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if everything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025); 0 where R > k."""
    check_arguments(relevant, k)
    return float(set(relevant) <= set(ranking[:k]))


def precision(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """How many of the first k are relevant, over k even if fewer than k were found; `P@k` of ir-measures."""
    return _standard("P", ranking, relevant, k)


def reciprocal_rank(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 / the rank of the first relevant one, 0 if none is among the first k; `RR@k` of ir-measures."""
    return _standard("RR", ranking, relevant, k)


def average_precision(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """The precisions at the ranks <= k that hold something relevant, summed and divided by min(R, k).

    MADial-Bench's convention (He et al. 2025): a ranking that could not be better scores 1 at every k. The AP@k of
    trec_eval and ir-measures divides by R instead and cannot reach 1 where R > k, so it is not used.
    """
    check_arguments(relevant, k)
    ranks = [rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant]
    return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / min(len(relevant), k)


def ndcg(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """DCG over that of min(R, k) relevant ones in front, discount log2(i + 1) from i = 1; `nDCG@k` of ir-measures.

    Järvelin and Kekäläinen 2002, in the form of trec_eval: the second rank is discounted already.
    """
    return _standard("nDCG", ranking, relevant, k)


def geometric_mean(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """The geometric mean over the last axis, 0 where any is 0.

    MADial-Bench sums a retriever up by it: over its five means over all probes, MAP, MRR, nDCG, recall and precision,
    each @k (He et al. 2025). It is the geometric mean of means, not the mean of geometric means.
    """
    means: NDArray[np.float64] = np.prod(figures, axis=-1) ** (1 / figures.shape[-1])
    return means


def check_arguments(relevant: Set[str], k: int) -> None:
    """Raise ValueError unless there is something relevant and k >= 1."""
    if not relevant or k < 1:
        raise ValueError(f"a ranking is scored against at least one relevant id and k >= 1, got {relevant!r}, k = {k}")


def _standard(name: str, ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    check_arguments(relevant, k)
    top = tuple(ranking[:k])
    return _calculated(name, top, frozenset(relevant), k) if top else 0.0


@lru_cache(maxsize=CACHED)
def _calculated(name: str, ranking: tuple[str, ...], relevant: frozenset[str], k: int) -> float:
    import ir_measures

    measure = _measure(name, k)
    scored = {found: -float(rank) for rank, found in enumerate(ranking)}  # no ties, which it would break by id
    result = ir_measures.pytrec_eval.calc_aggregate([measure], {"probe": dict.fromkeys(relevant, 1)}, {"probe": scored})
    return float(result[measure])


@cache
def _measure(name: str, k: int) -> Any:  # noqa: ANN401  # ir-measures has no types
    import ir_measures

    return ir_measures.parse_measure(f"{name}@{k}")
