"""MADial-Bench's own nDCG, and the metrics that it sums up in a geometric mean."""

from __future__ import annotations

from collections.abc import Sequence, Set

from eval.metrics.retrieval import average_precision, check_arguments, ndcg, precision, recall, reciprocal_rank


def ndcg_madial(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """nDCG@k as MADial-Bench computes it: the ideal ranking is the hits among the first k, moved to the front.

    What was missed costs nothing: one hit at rank 1 out of seven relevant ones scores 1. Without hits it is 0.
    Discount log2(i + 1) from i = 1 (He et al. 2025, embedding_score_new.py of their repository).
    """
    check_arguments(relevant, k)
    retrieved = relevant & set(ranking[:k])
    return ndcg(ranking, retrieved, k) if retrieved else 0.0


SUMMED_UP = (average_precision, reciprocal_rank, ndcg_madial, recall, precision)
"""The metrics whose means at each cut-off make up the geometric mean (He et al. 2025, table 4)."""
