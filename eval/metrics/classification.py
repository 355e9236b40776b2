"""Whether a question was taken for one about facts (semantic) or about what happened and was said (episodic).

PerLTQA's first task (Du et al. 2024). The kind taken is that with the larger sum of P(store | question). A
prior in which all stores are alike takes none, and is not scored.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from eval.types import Kind
from memory.types import EPISODIC, SEMANTIC

CELLS: tuple[tuple[Kind, Kind], ...] = (
    ("semantic", "semantic"),
    ("semantic", "episodic"),
    ("episodic", "semantic"),
    ("episodic", "episodic"),
)
"""The cells of the confusion matrix, as (gold, taken)."""


def kind_taken(stores: Mapping[str, float]) -> Kind | None:
    """The kind with the larger sum of probability; None where no store is likelier than another."""
    if len(set(stores.values())) < 2:
        return None
    semantic, episodic = (sum(stores.get(store, 0.0) for store in of) for of in (SEMANTIC, EPISODIC))
    return "semantic" if semantic > episodic else "episodic"


def cell(gold: Kind, taken: Kind) -> list[float]:
    """One question as a row of the four `CELLS`: 1 in its own, 0 elsewhere."""
    return [float((gold, taken) == held) for held in CELLS]


def classification(cells: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Accuracy, and precision, recall and F1 of each kind weighted by how many questions are of it.

    scikit-learn's `average="weighted"` with `zero_division=0`, from the shares of the `CELLS`, which stand in the last
    axis. The weighted recall is the accuracy by definition.
    """
    right = cells[..., [0, 3]]
    gold = right + cells[..., [1, 2]]
    taken = right + cells[..., [2, 1]]
    return {
        "classification_accuracy": right.sum(-1),
        "classification_precision": (gold * _ratio(right, taken)).sum(-1),
        "classification_recall": (gold * _ratio(right, gold)).sum(-1),
        "classification_f1": (gold * _ratio(2 * right, gold + taken)).sum(-1),
    }


def _ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
