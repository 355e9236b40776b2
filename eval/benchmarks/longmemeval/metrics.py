"""LongMemEval's own metrics of a ranking.

They are those of `src/retrieval/eval_utils.py` and `run_retrieval.py` in github.com/xiaowu0162/LongMemEval (Wu et al.
2025, section 3.3). The script indexes what the user says only, so that evidence is the user's marked turns, and leaves
out the questions without any (51 of 470; until April 2025 it gave them a recall of 1). Its figures can be compared with
those of a run that indexes the user's turns alone (`indexed=user`).
"""

import math
from collections.abc import Iterable, Iterator, Sequence, Set

from eval.metrics.evidence import Scores
from eval.metrics.retrieval import check_arguments, recall_all, recall_any
from eval.types import RankedHit, Sample

LAST_SESSION_K = 10
"""The largest k at the level of sessions. The authors print 5 and 10 (print_retrieval_metrics.py), and a prediction
keeps no more of a ranking than these need (`eval.play.prediction.WIDENED`)."""


def official_scores(sample: Sample, ks: Sequence[int]) -> Scores:
    """Recall of any and of all evidence and nDCG, at the level of turns and, up to `LAST_SESSION_K`, of sessions.

    At the level of turns, a retrieved item with a marked turn is relevant. At the level of sessions, the ranking is
    read down to where it has k different sessions; a session is found by an item with a marked turn only, its other
    turns count as a session of their own, and nDCG is that of the items read. For a ranking of whole sessions this is
    the script's metric of sessions, for one of turns its `evaluate_retrieval_turn2session`.
    """
    evidence, sessions = frozenset(sample.probe.gold.user_turns), frozenset(sample.probe.gold.user_sessions)
    if not evidence:
        return {}
    items = list(_items(sample.prediction.found, evidence))
    ranking = [name for name, _, _ in items]
    relevant = {name for name in ranking if name in evidence} | evidence.difference(*(units for _, _, units in items))
    found = [
        session if name in evidence or session not in sessions else f"{session}, without evidence"
        for name, session, _ in items
    ]
    scores: Scores = {}
    for k in ks:
        scores[f"turn_recall_any_official@{k}"] = recall_any(ranking, relevant, k)
        scores[f"turn_recall_all_official@{k}"] = recall_all(ranking, relevant, k)
        scores[f"turn_ndcg_official@{k}"] = ndcg_longmemeval(ranking, relevant, k)
        if k <= LAST_SESSION_K:
            depth = _depth(found, k)
            scores[f"session_recall_any_official@{k}"] = recall_any(found, sessions, depth)
            scores[f"session_recall_all_official@{k}"] = recall_all(found, sessions, depth)
            scores[f"ndcg_official@{k}"] = ndcg_longmemeval(ranking, relevant, depth)
    return scores


def ndcg_longmemeval(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """nDCG@k as LongMemEval computes it: the first two ranks are not discounted.

    DCG = rel_1 + sum over i >= 2 of rel_i / log2(i), and log2(2) is 1. The ideal is the same over min(R, k) relevant
    ones in front.
    """
    check_arguments(relevant, k)
    gains = [float(found in relevant) for found in ranking[:k]]
    return _dcg(gains) / _dcg([1.0] * min(len(relevant), k))


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / max(1.0, math.log2(rank)) for rank, gain in enumerate(gains, start=1))


def _items(found: Iterable[RankedHit], evidence: Set[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The items that add turns of sessions: named by one turn, a marked one if there is any; its session; its turns."""
    seen: set[str] = set()
    for hit in found:
        units = tuple(unit for unit in hit.units if unit not in seen)
        if units and hit.session and hit.place != "filtered":
            seen.update(units)
            yield next((unit for unit in units if unit in evidence), units[0]), hit.session, units


def _depth(sessions: Sequence[str], k: int) -> int:
    """The rank at which k different sessions are found; all ranks, and at least k, if there are fewer."""
    first_ranks = sorted({session: rank for rank, session in reversed(list(enumerate(sessions, start=1)))}.values())
    return first_ranks[k - 1] if len(first_ranks) >= k else max(k, len(sessions))
