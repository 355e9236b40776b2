"""Compute every figure of a run, under the names that reports show.

A probe is scored on the levels of evidence that its gold has: `turn_*` on turns, `session_*` on sessions, and metrics
without a prefix on the level that the benchmark ranks. All values are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Literal

import numpy as np

from eval.metrics import abstention, answers, classification, retrieval
from eval.metrics.intervals import Numbers, jackknife_figure, mean_figures, set_figures
from eval.types import Figure, RankedHit, Sample
from graph.readers import prompts
from graph.replies import conversation
from graph.replies.checks import recites

PROACTIVE = "proactive"
"""Begins the names of abilities whose probes ask nothing: the user tells something, and a memory should come up."""

Level = Literal["sessions", "items"]
Measure = Callable[[Sequence[str], Set[str], int], float]
"""A metric of a ranking: best first, the relevant ids, the cut-off k."""

INSTRUCTIONS = f"{prompts.INSTRUCTIONS}\n{conversation.INSTRUCTION}"
"""What no reply should repeat."""

Scores = dict[str, float | None]

CACHED = 1 << 14
"""Answers whose scores are cached: a report scores each once for every group that it belongs to."""

TEXT_METRICS: Mapping[str, answers.TextMetric] = {
    "exact_match": answers.exact_match,
    "token_f1": answers.token_f1,
    "token_recall": answers.token_recall,
    "containment": answers.containment,
    "rouge_l": answers.rouge_l,
    "bleu": answers.bleu,
}


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a benchmark's protocol scores rankings.

    `level` is what the metrics without a prefix rank: sessions, or items (memories that are retrieved as a whole).
    `ks` are the cut-offs. `official_ndcg` is the benchmark's own nDCG where it differs from the standard one, reported
    as `ndcg_official@k`. `geometric_mean_of` are the measures summed up as `geometric_mean@k`. `text_metrics` are the
    benchmark's own of an answer's text, beside `TEXT_METRICS`.
    """

    level: Level
    ks: tuple[int, ...] = (1, 3, 5, 10)
    official_ndcg: Measure | None = None
    geometric_mean_of: tuple[Measure, ...] = ()
    text_metrics: Mapping[str, answers.TextMetric] = field(default_factory=dict, hash=False)


def score(sample: Sample, scoring: Scoring, *, answered: bool) -> Scores:
    """Score one probe: values by name, missing where its gold is missing, None where the answer could not be scored.

    `answered` is whether the run had a reader; without one no answer is scored.
    """
    scores = _turn_scores(sample, scoring.ks) | _session_scores(sample, scoring.ks) | _level_scores(sample, scoring)
    prediction = sample.prediction
    scores |= {f"{node}_fallback": float(used) for node, used in prediction.fallbacks.items()}
    if prediction.fallbacks and answered:
        scores["prompt_shown"] = float(recites(prediction.answer, INSTRUCTIONS))
    return scores | _answer_scores(sample, scoring) if answered else scores


def figures(samples: Iterable[Sample], scoring: Scoring, *, answered: bool) -> dict[str, Figure]:
    """Compute every figure over a set of probes, with its 95 % interval and its n.

    These are the mean of each value of `score`, and what only a set has: classification, abstention, the geometric
    mean, Dist-1 and Dist-2. The order of the samples does not matter.
    """
    ordered = sorted(samples, key=lambda s: (s.probe.id, s.prediction.history_id))
    scored = [score(s, scoring, answered=answered) for s in ordered]
    names = dict.fromkeys(name for scores in scored for name in scores)
    found = mean_figures({name: [scores.get(name) for scores in scored] for name in names})
    found |= _classification(ordered)
    if scoring.geometric_mean_of:
        found |= _geometric_means(ordered, scoring)
    return found | _abstention(ordered) | _diversity(ordered) if answered else found


def is_evidence(name: str) -> bool:
    """Whether a figure is about retrieved evidence, at a cut-off; all others are about stores and answers."""
    return "@" in name


# --- retrieval


def _turn_scores(sample: Sample, ks: Sequence[int]) -> Scores:
    """Recall counts the units in the first k hits; nDCG counts each hit once (`_one_per_hit`)."""
    gold = frozenset(sample.probe.gold.turns)
    if not gold:
        return {}
    found = sample.prediction.found
    # Evidence from sessions is ranked among turns only, so that a profile takes no turn's place.
    fresh = _new_units([hit for hit in found if hit.session] if sample.probe.gold.sessions else found)
    ranking, relevant = _one_per_hit(fresh, gold)
    scores: Scores = {}
    for k in ks:
        top = [unit for units in fresh[:k] for unit in units]
        depth = max(k, len(top))
        scores[f"turn_recall@{k}"] = retrieval.recall(top, gold, depth)
        scores[f"turn_recall_any@{k}"] = retrieval.recall_any(top, gold, depth)
        scores[f"turn_recall_all@{k}"] = retrieval.recall_all(top, gold, depth)
        scores[f"turn_ndcg@{k}"] = retrieval.ndcg(ranking, relevant, k)
    return scores


def _new_units(found: Iterable[RankedHit]) -> list[list[str]]:
    """The units that each hit adds to those before it, best hit first; hits that add none are left out."""
    seen: set[str] = set()
    fresh = []
    for hit in _unfiltered(found):
        units = [unit for unit in dict.fromkeys(hit.units) if unit not in seen]
        seen.update(units)
        if units:
            fresh.append(units)
    return fresh


def _one_per_hit(fresh: Sequence[Sequence[str]], gold: Set[str]) -> tuple[list[str], set[str]]:
    """Name each hit by one of its units, and list the relevant names.

    A hit with several turns of evidence (a round, a session) counts as one relevant item. Each turn of evidence that no
    hit has counts as one, so that the ideal ranking is the best order of the same hits.
    """
    ranking = [next((unit for unit in units if unit in gold), units[0]) for units in fresh]
    brought = {unit for units in fresh for unit in units}
    return ranking, {name for name in ranking if name in gold} | (gold - brought)


def _session_scores(sample: Sample, ks: Sequence[int]) -> Scores:
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


def _sessions(found: Iterable[RankedHit]) -> list[str]:
    """Distinct sessions of the ranked hits, best first."""
    return list(dict.fromkeys(hit.session for hit in _unfiltered(found) if hit.session))


def _items(found: Iterable[RankedHit]) -> list[str]:
    return list(dict.fromkeys(hit.item for hit in _unfiltered(found) if hit.session or hit.units))


def _unfiltered(found: Iterable[RankedHit]) -> Iterable[RankedHit]:
    return (hit for hit in found if hit.place != "filtered")


def _level_scores(sample: Sample, scoring: Scoring) -> Scores:
    gold, found = sample.probe.gold, sample.prediction.found
    by_session = scoring.level == "sessions"
    ranking, relevant = (_sessions(found), gold.sessions) if by_session else (_items(found), gold.items)
    if not relevant:
        return {}
    measures: dict[str, Measure] = {
        "map": retrieval.average_precision,
        "mrr": retrieval.reciprocal_rank,
        "ndcg": retrieval.ndcg,
    }
    if not by_session:  # sessions have these two under names of their own
        measures = {"recall": retrieval.recall, "precision": retrieval.precision, **measures}
    if scoring.official_ndcg is not None:
        measures["ndcg_official"] = scoring.official_ndcg
    wanted = frozenset(relevant)
    return {f"{name}@{k}": measure(ranking, wanted, k) for k in scoring.ks for name, measure in measures.items()}


# --- answers


def _answer_scores(sample: Sample, scoring: Scoring) -> Scores:
    probe, prediction, judged = sample.probe, sample.prediction, sample.verdict
    scores: Scores = {"answer_accuracy": _right(answers.verdict(probe, prediction).state)}
    if judged is not None and judged.by != answers.RULE:
        scores["judge_accuracy"] = _right(judged.state)
        scores["judge_unscored"] = float(judged.state == "unscored")
    if probe.choices and probe.gold.choice is not None:
        scores["choice_accuracy"] = answers.choice_accuracy(probe, prediction)
    if probe.ability.startswith(PROACTIVE):
        scores |= _reminder_scores(sample, scoring.level)
    return scores | _text_scores(sample, scoring) if probe.gold.answerable else scores


def _reminder_scores(sample: Sample, level: Level) -> Scores:
    """Whether a memory was brought up unasked, and if so whether it is relevant on the ranked level.

    An answer by a reader does not count: the message was taken for a question.
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


def _text_scores(sample: Sample, scoring: Scoring) -> Scores:
    """Compare the answer with the gold answers; an abstention from an answerable question scores 0."""
    gold, prediction = sample.probe.gold, sample.prediction
    scores: Scores = {}
    if gold.answers:
        scores |= dict.fromkeys(TEXT_METRICS, 0.0) if prediction.abstained else _text(prediction.answer, gold.answers)
        for name, metric in scoring.text_metrics.items():
            scores[name] = 0.0 if prediction.abstained else metric(prediction.answer, gold.answers)
        scores["similarity"] = 0.0 if prediction.abstained else prediction.similarity
    if gold.anchors:
        scores["anchor_map"] = 0.0 if prediction.abstained else answers.anchor_map(prediction.answer, gold.anchors)
    if gold.anchor_ceiling is not None:
        scores["anchor_ceiling"] = gold.anchor_ceiling
    return scores


@lru_cache(maxsize=CACHED)
def _text(answer: str, golds: tuple[str, ...]) -> dict[str, float]:
    return {name: metric(answer, golds) for name, metric in TEXT_METRICS.items()}


# --- figures of a whole set


def _classification(samples: Sequence[Sample]) -> dict[str, Figure]:
    rows = [
        classification.cell(kind, predicted)
        for s in samples
        if (kind := s.probe.gold.kind) and (predicted := classification.predicted_kind(s.prediction.stores))
    ]
    return set_figures(np.array(rows), classification.classification) if rows else {}


def _geometric_means(samples: Sequence[Sample], scoring: Scoring) -> dict[str, Figure]:
    measures = scoring.geometric_mean_of
    rankings = [(_items(s.prediction.found), frozenset(s.probe.gold.items)) for s in samples if s.probe.gold.items]
    rows = [[measure(*ranking, k) for k in scoring.ks for measure in measures] for ranking in rankings]
    statistic = partial(_by_cutoff, scoring.ks, len(measures))
    return set_figures(np.array(rows), statistic) if rows else {}


def _by_cutoff(ks: tuple[int, ...], measures: int, means: Numbers) -> dict[str, Numbers]:
    together = retrieval.geometric_mean(means.reshape(*means.shape[:-1], len(ks), measures))
    return {f"geometric_mean@{k}": together[..., place] for place, k in enumerate(ks)}


def _abstention(samples: Sequence[Sample]) -> dict[str, Figure]:
    if not samples:
        return {}
    return set_figures(abstention.cells([s.prediction.abstained for s in samples], samples), abstention.abstention)


def _diversity(samples: Sequence[Sample]) -> dict[str, Figure]:
    """Dist-1 and Dist-2 of the answers, without abstentions."""
    responses = [s.prediction.answer for s in samples if s.prediction.answer and not s.prediction.abstained]
    if not responses:
        return {}
    return {
        f"dist_{n}": jackknife_figure(answers.distinct_n(responses, n), answers.distinct_n_without_each(responses, n))
        for n in (1, 2)
    }
