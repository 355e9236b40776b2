"""Compute every figure of a run, under the names that reports show. All values are fractions of 1."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eval.metrics import answers, confusion
from eval.metrics.evidence import Level, Measure, Scores, Scoring, item_ranking, score_evidence
from eval.metrics.intervals import Numbers, jackknife_figure, mean_figures, set_figures
from eval.types import PROACTIVE, Figure, Sample
from graph.models.limits import recites
from graph.readers.chain_of_note import prompts
from graph.readers.talk import prompt

INSTRUCTIONS = f"{prompts.INSTRUCTIONS}\n{prompt.INSTRUCTION}"
"""What no reply should repeat."""

_TEXT_METRICS = (answers.exact_match, answers.token_f1, answers.token_recall, answers.containment)
TEXT_METRICS: Mapping[str, answers.TextMetric] = {
    metric.__name__: metric for metric in (*_TEXT_METRICS, answers.rouge_l, answers.bleu)
}

SUMMED_UP = ("map", "mrr", "ndcg", "recall", "precision")
"""What `geometric_mean@k` is of: MADial-Bench sums a retriever up by it (He et al. 2025, table 4)."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A probe with its scores: values by name, missing where its gold is missing, None where it could not be scored."""

    sample: Sample
    scores: Scores


def score(samples: Sequence[Sample], scoring: Scoring, *, answered: bool) -> list[Scored]:
    """Score every probe of a run. `answered` is whether the run had a reader; without one no answer is scored."""
    scored = []
    for sample, evidence in zip(samples, score_evidence(samples, scoring), strict=True):
        fallbacks = {f"{node}_fallback": float(used) for node, used in sample.prediction.fallbacks.items()}
        said = _answer_scores(sample, scoring) if answered else {}
        scored.append(Scored(sample, evidence | fallbacks | said))
    return scored


def without_uncounted(scored: Iterable[Scored]) -> list[Scored]:
    """The same probes, those that are not counted without values for evidence."""
    return [
        one
        if one.sample.probe.counted
        else replace(one, scores={name: None if is_evidence(name) else value for name, value in one.scores.items()})
        for one in scored
    ]


def figures(scored: Iterable[Scored], scoring: Scoring, *, answered: bool) -> dict[str, Figure]:
    """Compute every figure over a set of probes, with its 95 % interval and its n.

    These are the mean of each value of `score`, and what only a set has: classification, abstention, the geometric
    mean, Dist-1 and Dist-2. The order of the probes does not matter.
    """
    ordered = sorted(scored, key=lambda one: (one.sample.probe.id, one.sample.prediction.history_id))
    samples = [one.sample for one in ordered]
    names = dict.fromkeys(name for one in ordered for name in one.scores)
    found = mean_figures({name: [one.scores.get(name) for one in ordered] for name in names}, _histories(samples))
    found |= _classification(samples)
    if scoring.summed_up_ndcg is not None:
        found |= _geometric_means(ordered, scoring.ks, scoring.summed_up_ndcg)
    return found | _abstention(samples) | _diversity(samples) if answered else found


def _histories(samples: Iterable[Sample]) -> list[str]:
    return [sample.prediction.history_id for sample in samples]


def is_evidence(name: str) -> bool:
    """Whether a figure is about retrieved evidence, at a cut-off; all others are about stores and answers."""
    return "@" in name


# --- answers


def _answer_scores(sample: Sample, scoring: Scoring) -> Scores:
    probe, prediction, judged = sample.probe, sample.prediction, sample.verdict
    scores: Scores = {"answer_accuracy": _right(answers.verdict(probe, prediction).state)}
    if prediction.fallbacks:
        scores["prompt_shown"] = float(recites(prediction.answer, INSTRUCTIONS))
    if probe.is_question:
        scores["false_refusal_rate" if probe.gold.answerable else "abstention_recall"] = float(prediction.declined)
    if judged is not None and judged.by != answers.RULE:
        scores["judge_accuracy"] = _right(judged.state)
        scores["judge_unscored"] = float(judged.state == "unscored")
        scores["rubric_score"] = judged.score
        scores |= judged.criteria
    if probe.choices and probe.gold.choice is not None:
        scores["choice_accuracy"] = answers.choice_accuracy(probe, prediction)
    if scoring.official_answer is not None:
        official = scoring.official_answer(sample)
        scores |= dict.fromkeys(official, 0.0) if prediction.unreadable else official
    if probe.ability.startswith(PROACTIVE):
        scores |= _reminder_scores(sample, scoring.level)
    return scores | _text_scores(sample, scoring) if probe.gold.answerable else scores


def _reminder_scores(sample: Sample, level: Level) -> Scores:
    """Whether a memory was brought up unasked, and if so whether it is relevant on the ranked level.

    An answer by a reader does not count: the message was taken for a question.
    """
    gold, prediction = sample.probe.gold, sample.prediction
    if not prediction.cited or prediction.reader == "extractive":
        return {"brought_up": 0.0, "brought_up_precision": None}
    found = [hit for hit in prediction.found if not set(hit.units).isdisjoint(prediction.cited)]
    relevant = gold.sessions if level == "sessions" else gold.items
    ranked = {hit.session if level == "sessions" else hit.item for hit in found}
    return {"brought_up": 1.0, "brought_up_precision": float(not ranked.isdisjoint(relevant))}


def _right(state: str) -> float | None:
    return None if state == "unscored" else float(state == "right")


def _text_scores(sample: Sample, scoring: Scoring) -> Scores:
    """Compare the answer with the gold answers; an abstention, or a reply that could not be read, scores 0."""
    gold, prediction = sample.probe.gold, sample.prediction
    has_answer = not (prediction.abstained or prediction.unreadable)
    scores: Scores = {}
    if gold.answers:
        for name, metric in {**TEXT_METRICS, **scoring.text_metrics}.items():
            scores[name] = metric(prediction.answer, gold.answers) if has_answer else 0.0
        scores["similarity"] = prediction.similarity if has_answer else 0.0
    if gold.anchors:
        scores["anchor_map"] = answers.anchor_map(prediction.answer, gold.anchors) if has_answer else 0.0
    if gold.anchor_ceiling is not None:
        scores["anchor_ceiling"] = gold.anchor_ceiling
    return scores


# --- figures of a whole set


def _classification(samples: Sequence[Sample]) -> dict[str, Figure]:
    """The weighted figures of the set, and the accuracy as a share."""
    kinds = {n: kinds for n, sample in enumerate(samples) if (kinds := confusion.kinds(sample))}
    if not kinds:
        return {}
    histories = _histories(samples[n] for n in kinds)
    right = [float(gold == predicted) for gold, predicted in kinds.values()]
    of_set = set_figures(confusion.kind_cells(list(kinds.values())), confusion.classification, histories)
    return of_set | mean_figures({"classification_accuracy": right}, histories)


def _geometric_means(scored: Sequence[Scored], ks: tuple[int, ...], ndcg: Measure) -> dict[str, Figure]:
    """`geometric_mean@k` of items, of means over all probes; `ndcg` takes the place of the standard one."""
    from scipy.stats import gmean

    rows, ranked = [], []
    for one in scored:
        ranking = item_ranking(one.sample)
        if ranking[1] and one.scores[f"map@{ks[0]}"] is not None:
            scores = one.scores | {f"ndcg@{k}": ndcg(*ranking, k) for k in ks}
            rows.append([scores[f"{name}@{k}"] for k in ks for name in SUMMED_UP])
            ranked.append(one.sample)

    def statistic(means: Numbers) -> dict[str, Numbers]:
        together = np.asarray(gmean(means.reshape(*means.shape[:-1], len(ks), -1), axis=-1))
        return {f"geometric_mean@{k}": together[..., place] for place, k in enumerate(ks)}

    return set_figures(np.array(rows, float), statistic, _histories(ranked)) if rows else {}


def _abstention(samples: Sequence[Sample]) -> dict[str, Figure]:
    """Precision, a mean over what was declined alone, and F1; recall and false refusals are means of scores."""
    asked = confusion.questions(samples)
    if all(sample.probe.gold.answerable for sample in asked):
        return {}
    right = [float(not s.probe.gold.answerable) if s.prediction.declined else None for s in asked]
    histories = _histories(asked)
    of_set = set_figures(confusion.refusal_cells(asked), confusion.abstention, histories)
    return mean_figures({"abstention_precision": right}, histories) | {"abstention_f1": of_set["abstention_f1"]}


def _diversity(samples: Sequence[Sample]) -> dict[str, Figure]:
    """Dist-1 and Dist-2 of the answers, without abstentions."""
    responses = [s.prediction.answer for s in samples if s.prediction.answer and not s.prediction.abstained]
    if not responses:
        return {}
    return {f"dist_{n}": jackknife_figure(*answers.distinct_n(responses, n)) for n in (1, 2)}
