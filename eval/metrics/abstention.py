"""Whether the right questions were declined: the 2x2 of abstained and unanswerable, and what follows from it.

Abstaining is what is to be detected: a true positive is an unanswerable probe that was abstained from. Precision is the
share of the abstentions that were in place, recall the share of the unanswerable that were abstained from, the false
refusal rate the share of the answerable that were refused. A figure over nothing is left out, and not called 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.types import Sample

STEPS = 100
"""Steps of the curve's threshold from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Table:
    """How many probes of each kind were answered and refused."""

    answered_answerable: int
    refused_answerable: int
    answered_unanswerable: int
    refused_unanswerable: int


@dataclass(frozen=True, slots=True)
class Curve:
    """What abstaining below each threshold on the reader's confidence would give; None is a figure over nothing."""

    threshold: tuple[float, ...]
    precision: tuple[float | None, ...]
    recall: tuple[float | None, ...]
    f1: tuple[float | None, ...]
    false_refusal_rate: tuple[float | None, ...]


def table(samples: Sequence[Sample]) -> Table:
    """The 2x2 of a run."""
    return Table(*(int(count) for count in cells([s.prediction.abstained for s in samples], samples).sum(axis=0)))


def cells(refused: Sequence[bool] | NDArray[np.bool_], samples: Sequence[Sample]) -> NDArray[np.float64]:
    """Each probe as a row with a 1 in its own cell, in the order of `Table`: shape (n, 4)."""
    own = 2 * np.array([not s.probe.gold.answerable for s in samples], int) + np.asarray(refused, int)
    rows: NDArray[np.float64] = np.eye(4)[own]
    return rows


def abstention(cells: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Precision, recall and F1 of abstaining and the false refusal rate, from the shares of the four cells.

    The cells stand in the last axis, in the order of `Table`. NaN is a figure over nothing: precision where nothing was
    refused, recall and F1 where nothing is unanswerable, the false refusal rate where nothing is answerable. F1 is
    2 TP / (2 TP + FP + FN), so 0 where nothing was refused though something should have been.
    """
    answered, refused, missed, caught = (cells[..., place] for place in range(4))
    unanswerable = missed + caught
    f1 = _share(2 * caught, 2 * caught + refused + missed)
    return {
        "abstention_precision": np.where(unanswerable > 0, _share(caught, caught + refused), np.nan),
        "abstention_recall": _share(caught, unanswerable),
        "abstention_f1": np.where(unanswerable > 0, f1, np.nan),
        "false_refusal_rate": _share(refused, answered + refused),
    }


def curve(samples: Sequence[Sample]) -> Curve | None:
    """What each threshold from 0 to 1 would give: below it is abstained from, whatever the run itself did.

    None where all probes can be answered, or none can: there is nothing to weigh then.
    """
    if len({s.probe.gold.answerable for s in samples}) < 2:
        return None
    confidence = np.array([s.prediction.confidence for s in samples])
    thresholds = np.arange(STEPS + 1) / STEPS
    shares = np.stack([cells(confidence < threshold, samples).mean(axis=0) for threshold in thresholds])
    figures = [tuple(None if np.isnan(v) else float(v) for v in values) for values in abstention(shares).values()]
    return Curve(tuple(map(float, thresholds)), *figures)


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
