"""LongMemEval's own metrics of a ranking, and answers for its own judge script.

The metrics are those of `src/retrieval/eval_utils.py` and `run_retrieval.py` in github.com/xiaowu0162/LongMemEval (Wu
et al. 2025, section 3.3). The script indexes what the user says only, so that evidence is the user's marked turns, and
leaves out the questions without any (51 of 470; until April 2025 it gave them a recall of 1). Its figures can be
compared with those of a run that indexes the user's turns alone (`indexed=user`).

The judge script, `src/evaluation/evaluate_qa.py`, reads one object a line, `{"question_id": "q17", "hypothesis": "In
Porto."}`, asks a judging model about each, and writes beside its input `<file>.eval-results-<model>`: the same lines
with the label added,

    {"question_id": "q17", "hypothesis": "In Porto.", "autoeval_label": {"model": "gpt-4o-2024-08-06", "label": true}}

It has no third state: a reply without "yes" is labelled false.
"""

import math
from collections.abc import Iterator, Sequence, Set
from pathlib import Path
from typing import Any

from pydantic import BaseModel, StrictBool, ValidationError

from eval.metrics.evidence import Scores, new_units, recall_all, recall_any
from eval.types import Sample, Verdict
from memory.errors import MemoirError

LAST_SESSION_K = 10
"""The largest k at the level of sessions. The authors print 5 and 10 (print_retrieval_metrics.py), and a prediction
keeps no more of a ranking than these need (`eval.play.ids.WIDENED`)."""


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
    hits = list(_new_turns(sample))
    ranking = [turn for turns, _ in hits for turn in turns]
    whole = len(ranking) > len(hits) == len({session for _, session in hits})
    ranked = hits if whole else [((turn,), session) for turns, session in hits for turn in turns]
    found = [
        session if session not in sessions or not evidence.isdisjoint(turns) else f"{session}, without evidence"
        for turns, session in ranked
    ]
    names, relevant = (found, sessions) if whole else (ranking, evidence)
    # The ranks at which another session is found.
    first_ranks = sorted({session: rank for rank, session in reversed(list(enumerate(found, start=1)))}.values())
    scores: Scores = {}
    for k in ks:
        scores[f"turn_recall_any_official@{k}"] = recall_any(ranking, evidence, k)
        scores[f"turn_recall_all_official@{k}"] = recall_all(ranking, evidence, k)
        scores[f"turn_ndcg_official@{k}"] = ndcg_longmemeval(ranking, evidence, k)
        if k <= LAST_SESSION_K:
            depth = first_ranks[k - 1] if len(first_ranks) >= k else max(k, len(found))
            scores[f"session_recall_any_official@{k}"] = recall_any(found, sessions, depth)
            scores[f"session_recall_all_official@{k}"] = recall_all(found, sessions, depth)
            scores[f"ndcg_official@{k}"] = ndcg_longmemeval(names, relevant, depth)
    return scores


def retrieval_log_line(sample: Sample) -> dict[str, Any] | None:
    """The line of a sample in the log of run_retrieval.py, as far as print_retrieval_metrics.py reads it.

    A turn without evidence in a session of evidence has the script's name for it. There is no line for a question
    without evidence by the user, which run_retrieval.py leaves out of its own figures, and no text of what was found.
    """
    probe, evidence = sample.probe, sample.probe.gold.user_turns
    if not evidence:
        return None
    metrics: dict[str, dict[str, float | None]] = {"session": {}, "turn": {}}
    for name, value in official_scores(sample, (1, 3, 5, 10, 30, 50)).items():
        level = "turn" if name.startswith("turn_") else "session"
        plain = name.removeprefix(f"{level}_").replace("_official", "").replace("ndcg", "ndcg_any")
        metrics[level][plain] = value
    turns = [turn for turns, _ in _new_turns(sample) for turn in turns]
    names = [turn if turn in evidence else turn.replace("answer", "noans") for turn in turns]
    found = {"query": probe.question, "ranked_items": [{"corpus_id": name} for name in names], "metrics": metrics}
    return {
        "question_id": probe.id,
        "question_type": probe.ability,
        "question": probe.question,
        "answer": probe.gold.answers[0],
        "retrieval_results": found,
    }


def ndcg_longmemeval(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """nDCG@k as LongMemEval computes it: the first two ranks are not discounted.

    DCG = rel_1 + sum over i >= 2 of rel_i / log2(i), and log2(2) is 1. The ideal is the same over min(R, k) relevant
    ones in front.
    """
    gains = [float(found in relevant) for found in ranking[:k]]
    return _dcg(gains) / _dcg([1.0] * min(len(relevant), k))


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / max(1.0, math.log2(rank)) for rank, gain in enumerate(gains, start=1))


def _new_turns(sample: Sample) -> Iterator[tuple[tuple[str, ...], str]]:
    """The turns that each hit of a session adds to those before it, and its session."""
    added = new_units(sample, of_sessions=True, units_of=lambda hit: hit.indexed or hit.units)
    return ((turns, hit.session) for turns, hit in added)


# --- the judge script

DECLINED = "I don't know."
"""The hypothesis for an abstention without words; the script would label an empty one false."""


class _Label(BaseModel):
    model: str
    label: StrictBool


class _Line(BaseModel):
    question_id: str
    autoeval_label: _Label


def hypothesis(sample: Sample) -> dict[str, str]:
    """The line of a sample in the script's input."""
    answer = sample.prediction.answer.strip() or (DECLINED if sample.prediction.abstained else "")
    return {"question_id": sample.probe.id, "hypothesis": answer}


def read_labels(path: Path) -> dict[str, Verdict]:
    """Read the script's verdicts by question id, signed with the full name of the judging model.

    Raises `MemoirError` if the file is missing, a line is not as above, or a question is labelled twice.
    """
    verdicts: dict[str, Verdict] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as fault:
        raise MemoirError(f"{path} cannot be read ({fault}). Run LongMemEval's evaluate_qa.py to make it") from fault
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        try:
            line = _Line.model_validate_json(text)
        except ValidationError as fault:
            first = fault.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the line"
            raise MemoirError(
                f"{path}, line {number}: {place}: {first['msg']}; expected "
                '{"question_id": "...", "autoeval_label": {"model": "...", "label": true}}. None was kept'
            ) from fault
        if line.question_id in verdicts:
            raise MemoirError(f"{path}, line {number}: {line.question_id!r} was labelled before. None was kept")
        label = line.autoeval_label
        verdicts[line.question_id] = Verdict("right" if label.label else "wrong", label.model)
    return verdicts
