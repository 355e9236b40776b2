"""How well a ranking finds what is relevant.

All take a ranking of distinct ids (best first; it may be shorter than k), the set of relevant ids (not empty) and a
cut-off k of at least 1, and give a fraction of 1. Relevance is binary. A ranking that finds nothing scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 1 << 15
"""Results of ir-measures that are kept: a report looks at each ranking once for every group that it belongs to."""


def recall(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """The share of the relevant that is among the first k (LoCoMo's recall of evidence); `R@k` of ir-measures."""
    return _standard("R", ranking, relevant, k)


def recall_any(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if anything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025; Success@k elsewhere)."""
    _check(relevant, k)
    return float(not set(relevant).isdisjoint(ranking[:k]))


def recall_all(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if everything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025); 0 where R > k."""
    _check(relevant, k)
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
    _check(relevant, k)
    ranks = [rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant]
    return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / min(len(relevant), k)


def ndcg(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """DCG over that of min(R, k) relevant ones in front, discount log2(i + 1) from i = 1; `nDCG@k` of ir-measures.

    Järvelin and Kekäläinen 2002, in the form of trec_eval: the second rank is discounted already.
    """
    return _standard("nDCG", ranking, relevant, k)


def ndcg_longmemeval(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """LongMemEval's own nDCG, in which the first two ranks count alike.

    DCG = rel_1 + sum over i >= 2 of rel_i / log2(i), and log2(2) is 1. The ideal is the same over min(R, k) relevant
    ones in front (Wu et al. 2025, src/retrieval/eval_utils.py of their repository).
    """
    _check(relevant, k)
    gains = [float(found in relevant) for found in ranking[:k]]
    return _undiscounted_twice(gains) / _undiscounted_twice([1.0] * min(len(relevant), k))


def ndcg_madial(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """MADial-Bench's own nDCG: the ideal is the hits among the first k moved to the front; 0 if there are none.

    What was missed costs nothing: one hit at rank 1 out of seven relevant ones scores 1. Discount log2(i + 1) from
    i = 1 (He et al. 2025, embedding_score_new.py of their repository).
    """
    _check(relevant, k)
    retrieved = relevant & set(ranking[:k])
    return ndcg(ranking, retrieved, k) if retrieved else 0.0


def geometric_mean(figures: NDArray[np.float64]) -> NDArray[np.float64]:
    """The geometric mean over the last axis, 0 where any is 0.

    MADial-Bench sums a retriever up in that of its five means over all probes: MAP, MRR, `ndcg_madial`, recall and
    precision, each @k (He et al. 2025). It is of means, and not a mean of geometric means.
    """
    means: NDArray[np.float64] = np.prod(figures, axis=-1) ** (1 / figures.shape[-1])
    return means


def _undiscounted_twice(gains: Sequence[float]) -> float:
    return sum(gain / max(1.0, math.log2(rank)) for rank, gain in enumerate(gains, start=1))


def _check(relevant: Set[str], k: int) -> None:
    if not relevant or k < 1:
        raise ValueError(f"a ranking is scored against at least one relevant id and k >= 1, got {relevant!r}, k = {k}")


def _standard(name: str, ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    _check(relevant, k)
    top = tuple(ranking[:k])
    return _calculated(name, top, frozenset(relevant), k) if top else 0.0


@lru_cache(maxsize=KEPT)
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
