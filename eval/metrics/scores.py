"""Every figure of a run, by the names under which reports show them.

A probe is scored on what its gold knows: `turn_*` on the turns of the evidence, `session_*` on its sessions, and the
metrics without a prefix on the level that a benchmark ranks. All values are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from eval.metrics import abstention, answers, classification, retrieval
from eval.metrics.intervals import Numbers, jackknife_figure, mean_figures, set_figures
from eval.types import Figure, Found, Sample

PROACTIVE = "proactive"
"""How the abilities begin whose probes ask nothing: something is told, and a memory should come up."""

Level = Literal["sessions", "items"]
OfficialNDCG = Callable[[Sequence[str], Set[str], int], float]
Scores = dict[str, float | None]

KEPT = 1 << 14
"""Answers whose scores are kept: a report looks at each once for every group that it belongs to."""

TEXT_METRICS: Mapping[str, Callable[[str, Sequence[str]], float]] = {
    "exact_match": answers.exact_match,
    "token_f1": answers.token_f1,
    "token_recall": answers.token_recall,
    "containment": answers.containment,
    "rouge_l": answers.rouge_l,
    "bleu": answers.bleu,
}


def score(
    sample: Sample, ks: Sequence[int], level: Level, official_ndcg: OfficialNDCG | None, *, answered: bool
) -> Scores:
    """The figures of one probe; a name is missing where its gold is, None where it could not be scored.

    Args:
        sample: The probe and what became of it.
        ks: Cut-offs of the ranking.
        level: What `recall@k`, `precision@k`, `map@k`, `mrr@k` and `ndcg@k` rank, and a memory brought up is judged
            on; sessions have the first two under names of their own.
        official_ndcg: The benchmark's own nDCG, given as `ndcg_official@k` beside the standard one.
        answered: Whether the run had a reader; without one no answer is scored.
    """
    scores = _of_turns(sample, ks) | _of_sessions(sample, ks) | _of_level(sample, ks, level, official_ndcg)
    return scores | _of_answer(sample, level) if answered else scores


def figures(
    samples: Iterable[Sample],
    *,
    ks: Sequence[int],
    level: Level,
    official_ndcg: OfficialNDCG | None,
    answered: bool,
) -> dict[str, Figure]:
    """Every figure over a set of probes with its 95 % interval and the number of probes that it is the value of.

    The mean of each figure of `score`, and those that only a whole set has: of classification, of abstention, the
    geometric mean, Dist-1 and Dist-2. The order of the samples does not matter.
    """
    ordered = sorted(samples, key=lambda s: (s.probe.id, s.prediction.history_id))
    scored = [score(s, ks, level, official_ndcg, answered=answered) for s in ordered]
    names = dict.fromkeys(name for scores in scored for name in scores)
    found = mean_figures({name: [scores.get(name) for scores in scored] for name in names})
    found |= _classification(ordered)
    if level == "items":
        found |= _geometric_means(ordered, ks)
    return found | _abstention(ordered) | _diversity(ordered) if answered else found


def is_evidence(name: str) -> bool:
    """Whether a figure is about what was found, at a cut-off; all others are about stores and answers."""
    return "@" in name


# --- what was found


def _of_turns(sample: Sample, ks: Sequence[int]) -> Scores:
    """Recall counts the units that the first k hits hold together; nDCG takes a hit for one thing (`_as_one`)."""
    gold = frozenset(sample.probe.gold.turns)
    if not gold:
        return {}
    found = sample.prediction.found
    # Where the evidence was said in sessions, turns are ranked among turns: a profile takes no turn's place.
    fresh = _fresh([hit for hit in found if hit.session] if sample.probe.gold.sessions else found)
    ranking, relevant = _as_one(fresh, gold)
    scores: Scores = {}
    for k in ks:
        held = [unit for units in fresh[:k] for unit in units]
        depth = max(k, len(held))
        scores[f"turn_recall@{k}"] = retrieval.recall(held, gold, depth)
        scores[f"turn_recall_any@{k}"] = retrieval.recall_any(held, gold, depth)
        scores[f"turn_recall_all@{k}"] = retrieval.recall_all(held, gold, depth)
        scores[f"turn_ndcg@{k}"] = retrieval.ndcg(ranking, relevant, k)
    return scores


def _fresh(found: Iterable[Found]) -> list[list[str]]:
    """The new units that each hit brings, best hit first; a hit that brings none takes no place."""
    seen: set[str] = set()
    fresh = []
    for hit in _unfiltered(found):
        units = [unit for unit in dict.fromkeys(hit.units) if unit not in seen]
        seen.update(units)
        if units:
            fresh.append(units)
    return fresh


def _as_one(fresh: Sequence[Sequence[str]], gold: Set[str]) -> tuple[list[str], set[str]]:
    """Hits by the name of one unit each, and the names that are relevant.

    A hit with several turns of evidence (a round, a session) is one relevant thing. Turns of evidence that no hit has
    brought count as one each, so that the ideal is what the same hits would be in the best order.
    """
    ranking = [next((unit for unit in units if unit in gold), units[0]) for units in fresh]
    brought = {unit for units in fresh for unit in units}
    return ranking, {name for name in ranking if name in gold} | (gold - brought)


def _of_sessions(sample: Sample, ks: Sequence[int]) -> Scores:
    gold = frozenset(sample.probe.gold.sessions)
    if not gold:
        return {}
    ranking = _sessions(sample.prediction.found)
    measures = {
        "session_recall": retrieval.recall,
        "session_recall_any": retrieval.recall_any,
        "session_recall_all": retrieval.recall_all,
    }
    return {f"{name}@{k}": measure(ranking, gold, k) for k in ks for name, measure in measures.items()}


def _sessions(found: Iterable[Found]) -> list[str]:
    """Distinct sessions, best first: the ranking of hits, widened until there are k of them."""
    return list(dict.fromkeys(hit.session for hit in _unfiltered(found) if hit.session))


def _items(found: Iterable[Found]) -> list[str]:
    return list(dict.fromkeys(hit.item for hit in _unfiltered(found) if hit.session or hit.units))


def _unfiltered(found: Iterable[Found]) -> Iterable[Found]:
    return (hit for hit in found if hit.place != "filtered")


def _of_level(sample: Sample, ks: Sequence[int], level: Level, official_ndcg: OfficialNDCG | None) -> Scores:
    gold, found = sample.probe.gold, sample.prediction.found
    ranking, relevant = (_sessions(found), gold.sessions) if level == "sessions" else (_items(found), gold.items)
    if not relevant:
        return {}
    measures: dict[str, OfficialNDCG] = {
        "map": retrieval.average_precision,
        "mrr": retrieval.reciprocal_rank,
        "ndcg": retrieval.ndcg,
    }
    if level == "items":
        measures = {"recall": retrieval.recall, "precision": retrieval.precision, **measures}
    if official_ndcg is not None:
        measures["ndcg_official"] = official_ndcg
    wanted = frozenset(relevant)
    return {f"{name}@{k}": measure(ranking, wanted, k) for k in ks for name, measure in measures.items()}


# --- what was answered


def _of_answer(sample: Sample, level: Level) -> Scores:
    probe, prediction, judged = sample.probe, sample.prediction, sample.verdict
    scores: Scores = {"answer_accuracy": _right(answers.verdict(probe, prediction).state)}
    if judged is not None and judged.by != answers.RULE:
        scores["judge_accuracy"] = _right(judged.state)
    if probe.choices and probe.gold.choice is not None:
        scores["choice_accuracy"] = answers.choice_accuracy(probe, prediction)
    if probe.ability.startswith(PROACTIVE):
        scores |= _of_reminder(sample, level)
    return scores | _of_text(sample) if probe.gold.answerable else scores


def _of_reminder(sample: Sample, level: Level) -> Scores:
    """Whether a memory was brought up unasked, and, of those that were, whether it is relevant on the ranked level.

    An answer that cites is none: the message was taken for a question.
    """
    gold, prediction = sample.probe.gold, sample.prediction
    if not prediction.cited or prediction.reader:
        return {"brought_up": 0.0, "brought_up_precision": None}
    found = [hit for hit in prediction.found if not set(hit.units).isdisjoint(prediction.cited)]
    relevant = gold.sessions if level == "sessions" else gold.items
    ranked = {hit.session if level == "sessions" else hit.item for hit in found}
    return {"brought_up": 1.0, "brought_up_precision": float(not ranked.isdisjoint(relevant))}


def _right(state: str) -> float | None:
    return None if state == "unscored" else float(state == "right")


def _of_text(sample: Sample) -> Scores:
    """The answer beside the gold answers; a refusal to answer what can be answered is worth nothing."""
    gold, prediction = sample.probe.gold, sample.prediction
    scores: Scores = {}
    if gold.answers:
        scores |= dict.fromkeys(TEXT_METRICS, 0.0) if prediction.abstained else _text(prediction.answer, gold.answers)
        scores["similarity"] = 0.0 if prediction.abstained else prediction.similarity
    if gold.anchors:
        held = not prediction.abstained and answers.anchor_map(prediction.answer, gold.anchors)
        scores["anchor_map"] = float(held)
    if gold.anchor_ceiling is not None:
        scores["anchor_ceiling"] = gold.anchor_ceiling
    return scores


@lru_cache(maxsize=KEPT)
def _text(answer: str, golds: tuple[str, ...]) -> dict[str, float]:
    return {name: metric(answer, golds) for name, metric in TEXT_METRICS.items()}


# --- what only a whole set has


def _classification(samples: Sequence[Sample]) -> dict[str, Figure]:
    rows = [
        classification.cell(kind, taken)
        for s in samples
        if (kind := s.probe.gold.kind) and (taken := classification.kind_taken(s.prediction.stores))
    ]
    return set_figures(np.array(rows), classification.classification) if rows else {}


def _geometric_means(samples: Sequence[Sample], ks: Sequence[int]) -> dict[str, Figure]:
    measures = (
        retrieval.average_precision,
        retrieval.reciprocal_rank,
        retrieval.ndcg_madial,
        retrieval.recall,
        retrieval.precision,
    )
    rankings = [(_items(s.prediction.found), frozenset(s.probe.gold.items)) for s in samples if s.probe.gold.items]
    rows = [[measure(*ranking, k) for k in ks for measure in measures] for ranking in rankings]
    statistic = partial(_by_cutoff, tuple(ks), len(measures))
    return set_figures(np.array(rows), statistic) if rows else {}


def _by_cutoff(ks: tuple[int, ...], measures: int, means: Numbers) -> dict[str, Numbers]:
    together = retrieval.geometric_mean(means.reshape(*means.shape[:-1], len(ks), measures))
    return {f"geometric_mean@{k}": together[..., place] for place, k in enumerate(ks)}


def _abstention(samples: Sequence[Sample]) -> dict[str, Figure]:
    if not samples:
        return {}
    return set_figures(abstention.cells([s.prediction.abstained for s in samples], samples), abstention.abstention)


def _diversity(samples: Sequence[Sample]) -> dict[str, Figure]:
    """Dist-1 and Dist-2 of what was answered; the set words of a refusal are no answer."""
    responses = [s.prediction.answer for s in samples if s.prediction.answer and not s.prediction.abstained]
    if not responses:
        return {}
    return {
        f"dist_{n}": jackknife_figure(answers.distinct_n(responses, n), answers.distinct_n_without_each(responses, n))
        for n in (1, 2)
    }
