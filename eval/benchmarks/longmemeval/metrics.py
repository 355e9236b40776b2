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

    Every turn takes a rank: a hit with several counts as those of them that it is indexed by, in their order. At the
    level of sessions, the ranking is read down to where it has k different sessions; a session is found by a marked
    turn only, its other turns count as a session of their own, and nDCG is that of the turns read, as in the script's
    `evaluate_retrieval_turn2session`. Hits with several turns of which no two are of one session are whole sessions: at
    this level each of them takes one rank, as in the script's retrieval of sessions.
    """
    evidence, sessions = frozenset(sample.probe.gold.user_turns), frozenset(sample.probe.gold.user_sessions)
    if not evidence:
        return {}
    hits = list(_new_turns(sample.prediction.found))
    ranking = [turn for turns, _ in hits for turn in turns]
    whole = len(ranking) > len(hits) == len({session for _, session in hits})
    ranked = hits if whole else [((turn,), session) for turns, session in hits for turn in turns]
    found = [
        session if session not in sessions or not evidence.isdisjoint(turns) else f"{session}, without evidence"
        for turns, session in ranked
    ]
    names, relevant = (found, sessions) if whole else (ranking, evidence)
    scores: Scores = {}
    for k in ks:
        scores[f"turn_recall_any_official@{k}"] = recall_any(ranking, evidence, k)
        scores[f"turn_recall_all_official@{k}"] = recall_all(ranking, evidence, k)
        scores[f"turn_ndcg_official@{k}"] = ndcg_longmemeval(ranking, evidence, k)
        if k <= LAST_SESSION_K:
            depth = _depth(found, k)
            scores[f"session_recall_any_official@{k}"] = recall_any(found, sessions, depth)
            scores[f"session_recall_all_official@{k}"] = recall_all(found, sessions, depth)
            scores[f"ndcg_official@{k}"] = ndcg_longmemeval(names, relevant, depth)
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


def _new_turns(found: Iterable[RankedHit]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The turns that each hit of a session adds to those before it, and its session."""
    seen: set[str] = set()
    for hit in found:
        turns = tuple(turn for turn in hit.indexed or hit.units if turn not in seen)
        if turns and hit.session and hit.place != "filtered":
            seen.update(turns)
            yield turns, hit.session


def _depth(sessions: Sequence[str], k: int) -> int:
    """The rank at which k different sessions are found; all ranks, and at least k, if there are fewer."""
    first_ranks = sorted({session: rank for rank, session in reversed(list(enumerate(sessions, start=1)))}.values())
    return first_ranks[k - 1] if len(first_ranks) >= k else max(k, len(sessions))
