"""Metrics of classifying questions as semantic (facts) or episodic (events and dialogues), PerLTQA's first task.

The predicted kind is the one with the larger sum of P(store | question) (Du et al. 2024). A uniform distribution
predicts none and is not scored.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eval.types import Kind, Sample
from memory.types import EPISODIC, SEMANTIC

CELLS: tuple[tuple[Kind, Kind], ...] = (
    ("semantic", "semantic"),
    ("semantic", "episodic"),
    ("episodic", "semantic"),
    ("episodic", "episodic"),
)
"""The cells of the confusion matrix, as (gold, predicted)."""


def predicted_kind(stores: Mapping[str, float]) -> Kind | None:
    """The kind with the larger sum of probabilities; None if all stores are equally likely."""
    if len(set(stores.values())) < 2:
        return None
    semantic, episodic = (sum(stores.get(store, 0.0) for store in of) for of in (SEMANTIC, EPISODIC))
    return "semantic" if semantic > episodic else "episodic"


def kinds(sample: Sample) -> tuple[Kind, Kind] | None:
    """The gold kind and the predicted one; None where there is no gold, or none was predicted.

    Where a chat model's reply could not be used, so that the learned classifier stood in, the wrong kind counts.
    """
    gold = sample.probe.gold.kind
    if gold is None:
        return None
    if sample.prediction.fallbacks.get("classify"):
        return gold, "episodic" if gold == "semantic" else "semantic"
    predicted = predicted_kind(sample.prediction.stores)
    return (gold, predicted) if predicted else None


def cell(gold: Kind, predicted: Kind) -> list[float]:
    """One question as a row of the four `CELLS`: 1 in its cell, 0 elsewhere."""
    return [float((gold, predicted) == each) for each in CELLS]


def classification(cells: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Accuracy, and precision, recall and F1 weighted by the number of questions of each kind.

    As scikit-learn with `average="weighted"` and `zero_division=0`, from the shares of the `CELLS` in the last axis.
    The weighted recall equals the accuracy by definition.
    """
    right = cells[..., [0, 3]]
    gold = right + cells[..., [1, 2]]
    predicted = right + cells[..., [2, 1]]
    return {
        "classification_accuracy": right.sum(-1),
        "classification_precision": (gold * _ratio(right, predicted)).sum(-1),
        "classification_recall": (gold * _ratio(right, gold)).sum(-1),
        "classification_f1": (gold * _ratio(2 * right, gold + predicted)).sum(-1),
    }


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
