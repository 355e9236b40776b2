"""LongMemEval's own nDCG."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set

from eval.metrics.retrieval import check_arguments


def ndcg_longmemeval(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """nDCG@k as LongMemEval computes it: the first two ranks are not discounted.

    DCG = rel_1 + sum over i >= 2 of rel_i / log2(i), and log2(2) is 1. The ideal is the same over min(R, k) relevant
    ones in front (Wu et al. 2025, src/retrieval/eval_utils.py of their repository).
    """
    check_arguments(relevant, k)
    gains = [float(found in relevant) for found in ranking[:k]]
    return _dcg(gains) / _dcg([1.0] * min(len(relevant), k))


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / max(1.0, math.log2(rank)) for rank, gain in enumerate(gains, start=1))
