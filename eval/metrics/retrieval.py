"""Metrics of a ranking against the set of relevant ids, with binary relevance.

A ranking has distinct ids (best first; it may be shorter than a cut-off k) and the set of relevant ids (not empty). All
metrics take a k of at least 1 and are a fraction of 1. A ranking that finds nothing scores 0.
"""

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

Ranking = tuple[Sequence[str], Set[str]]
"""The ids, best first, and the relevant ids."""


def standard_scores(rankings: Sequence[Ranking], ks: Sequence[int]) -> list[dict[str, float]]:
    """The metrics of every ranking at each cut-off, by name ("recall@5"): those below, and these by ir-measures.

    - recall: the share of the relevant that is among the first k (LoCoMo's recall of evidence); `R@k`.
    - precision: how many of the first k are relevant, over k even if fewer than k were found; `P@k`.
    - mrr: 1 / the rank of the first relevant one, 0 if none is among the first k; `RR`.
    - ndcg: DCG over that of min(R, k) relevant ones in front, discount log2(i + 1) from i = 1, so that the second rank
      is discounted already (Järvelin and Kekäläinen 2002, in the form of trec_eval); `nDCG@k`.
    """
    for _, relevant in rankings:
        check_arguments(relevant, min(ks))
    if not rankings:
        return []
    import ir_measures

    measures = [ir_measures.parse_measure(name) for k in ks for name in (f"R@{k}", f"P@{k}", f"nDCG@{k}")]
    qrels = {str(n): dict.fromkeys(relevant, 1) for n, (_, relevant) in enumerate(rankings)}
    # Scores without ties, which it would break by id.
    run = {str(n): {name: -float(rank) for rank, name in enumerate(ids)} for n, (ids, _) in enumerate(rankings) if ids}
    values: dict[tuple[str, str], float] = {
        (metric.query_id, str(metric.measure)): float(metric.value)
        for metric in ir_measures.pytrec_eval.iter_calc([*measures, ir_measures.RR], qrels, run)
    }
    scores: list[dict[str, float]] = [{} for _ in rankings]
    for query, (found, ranking) in enumerate(zip(scores, rankings, strict=True)):
        first = values[str(query), "RR"]
        for k in ks:
            found[f"recall@{k}"] = values[str(query), f"R@{k}"]
            found[f"precision@{k}"] = values[str(query), f"P@{k}"]
            found[f"mrr@{k}"] = first if first * k >= 1 else 0.0
            found[f"ndcg@{k}"] = values[str(query), f"nDCG@{k}"]
            found[f"recall_any@{k}"] = recall_any(*ranking, k)
            found[f"recall_all@{k}"] = recall_all(*ranking, k)
            found[f"map@{k}"] = average_precision(*ranking, k)
    return scores


def recall_any(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if anything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025; Success@k elsewhere)."""
    check_arguments(relevant, k)
    return float(not set(relevant).isdisjoint(ranking[:k]))


def recall_all(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if everything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025); 0 where R > k."""
    check_arguments(relevant, k)
    return float(set(relevant) <= set(ranking[:k]))


def average_precision(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """The precisions at the ranks <= k that hold something relevant, summed and divided by min(R, k).

    MADial-Bench's convention (He et al. 2025): a ranking that could not be better scores 1 at every k. The AP@k of
    trec_eval and ir-measures divides by R instead and cannot reach 1 where R > k, so it is not used.
    """
    check_arguments(relevant, k)
    ranks = [rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant]
    return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / min(len(relevant), k)


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
