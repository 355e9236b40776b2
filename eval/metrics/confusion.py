"""Metrics of 2x2 tables: of abstention, and of the kind of memory that a question is about (PerLTQA's first task).

A probe is a row of four cells (`cells`), and figures are functions of the shares of the cells, the last axis. Of
abstention, a positive is an unanswerable question, found if it was abstained from; a figure over no questions is left
out, not 0. Of kinds, a positive is an episodic question (events and dialogues); all others are semantic (facts).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from eval.metrics.intervals import Numbers
from eval.types import Kind, Sample
from memory.types import EPISODIC, SEMANTIC

STEPS = 100
"""Steps of the curve's threshold between 0 and 1."""


def cells(positive: Sequence[bool], found: Sequence[bool] | NDArray[np.bool_]) -> Numbers:
    """One row for each probe, with a 1 in its cell, shape (n, 4): neither, found alone, positive alone, or both."""
    rows: Numbers = np.eye(4)[2 * np.asarray(positive, int) + np.asarray(found, int)]
    return rows


def _share(part: Numbers, whole: Numbers, of_none: float) -> Numbers:
    return np.divide(part, whole, out=np.full_like(part, of_none), where=whole > 0)


# --- abstention


CELLS = ("answered_answerable", "refused_answerable", "answered_unanswerable", "refused_unanswerable")
"""What is counted of questions, which are answered or refused (abstained from)."""

Curve = Mapping[str, Sequence[float | None]]
"""The metrics if the reader abstained below each confidence `threshold`, by name; None is a figure over no probes."""


def questions(samples: Sequence[Sample]) -> list[Sample]:
    """The probes that ask something; the others can be neither answered nor declined, and do not count."""
    return [sample for sample in samples if sample.probe.is_question]


def refusal_cells(asked: Sequence[Sample]) -> Numbers:
    """The `cells` of questions, in the order of `CELLS`."""
    return cells([not s.probe.gold.answerable for s in asked], [s.prediction.declined for s in asked])


def table(samples: Sequence[Sample]) -> dict[str, int]:
    """Count the four cells over a run's questions."""
    return dict(zip(CELLS, map(int, refusal_cells(questions(samples)).sum(axis=0)), strict=True))


def abstention(shares: Numbers) -> dict[str, Numbers]:
    """Precision, recall and F1 of abstaining and the false refusal rate, from the shares of the cells.

    Precision is the share of abstentions that were right, recall the share of unanswerable questions that were
    abstained from, and the false refusal rate the share of answerable ones that were. NaN is a figure over no probes:
    precision without refusals, recall and F1 without unanswerable questions, the false refusal rate without answerable
    ones. F1 is 2 TP / (2 TP + FP + FN), so it is 0 where nothing was refused although something should have been.
    """
    answered, refused, missed, caught = (shares[..., place] for place in range(4))
    unanswerable = missed + caught
    f1 = _share(2 * caught, 2 * caught + refused + missed, np.nan)
    return {
        "abstention_precision": np.where(unanswerable > 0, _share(caught, caught + refused, np.nan), np.nan),
        "abstention_recall": _share(caught, unanswerable, np.nan),
        "abstention_f1": np.where(unanswerable > 0, f1, np.nan),
        "false_refusal_rate": _share(refused, answered + refused, np.nan),
    }


def curve(samples: Sequence[Sample]) -> Curve | None:
    """The metrics if every question with a confidence below the threshold were abstained from, whatever the run did.

    None where all questions are answerable, or none is, or where the reader gave no confidence in every reply.
    """
    asked = questions(samples)
    unanswerable = [not s.probe.gold.answerable for s in asked]
    confidence = np.array([s.prediction.confidence for s in asked], float)
    if len(set(unanswerable)) < 2 or np.isnan(confidence).any():
        return None
    thresholds = np.arange(STEPS + 1) / STEPS
    shares = np.stack([cells(unanswerable, confidence < threshold).mean(axis=0) for threshold in thresholds])
    figures = {name.removeprefix("abstention_"): values.tolist() for name, values in abstention(shares).items()}
    known = {name: [None if np.isnan(value) else value for value in values] for name, values in figures.items()}
    return {"threshold": thresholds.tolist(), **known}


# --- kinds


def predicted_kind(stores: Mapping[str, float]) -> Kind | None:
    """The kind with the larger sum of P(store | question) (Du et al. 2024); None if all stores are equally likely."""
    if len(set(stores.values())) < 2:
        return None
    semantic, episodic = (sum(stores.get(store, 0.0) for store in of) for of in (SEMANTIC, EPISODIC))
    return "semantic" if semantic > episodic else "episodic"


def kinds(sample: Sample) -> tuple[Kind, Kind] | None:
    """The gold kind and the predicted one; None, not scored, where there is no gold, or none was predicted.

    Where a chat model's reply could not be used, so that the learned classifier stood in, the wrong kind counts.
    """
    gold = sample.probe.gold.kind
    if gold is None:
        return None
    if sample.prediction.fallbacks.get("classify"):
        return gold, "episodic" if gold == "semantic" else "semantic"
    predicted = predicted_kind(sample.prediction.stores)
    return (gold, predicted) if predicted else None


def kind_cells(pairs: Sequence[tuple[Kind, Kind]]) -> Numbers:
    """The `cells` of pairs of the gold kind and the predicted one."""
    return cells([gold == "episodic" for gold, _ in pairs], [predicted == "episodic" for _, predicted in pairs])


def classification(shares: Numbers) -> dict[str, Numbers]:
    """Accuracy, and precision, recall and F1 weighted by the number of questions of each kind, from shares of cells.

    As scikit-learn with `average="weighted"` and `zero_division=0`. The weighted recall equals the accuracy by
    definition.
    """
    right = shares[..., [0, 3]]
    gold = right + shares[..., [1, 2]]
    predicted = right + shares[..., [2, 1]]
    return {
        "classification_accuracy": right.sum(-1),
        "classification_precision": (gold * _share(right, predicted, 0)).sum(-1),
        "classification_recall": (gold * _share(right, gold, 0)).sum(-1),
        "classification_f1": (gold * _share(2 * right, gold + predicted, 0)).sum(-1),
    }
