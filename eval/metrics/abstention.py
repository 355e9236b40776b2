"""Metrics of abstention, from the 2x2 table of unanswerable questions and abstentions.

A true positive is an unanswerable question that was abstained from. Precision is the share of abstentions that were
right, recall the share of unanswerable questions that were abstained from, and the false refusal rate the share of
answerable questions that were abstained from. A figure over no questions is left out, not 0. Probes that ask nothing do
not count: they can be neither answered nor declined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.types import Sample

STEPS = 100
"""Steps of the curve's threshold between 0 and 1."""


@dataclass(frozen=True, slots=True)
class Table:
    """Counts of answerable and unanswerable questions, answered and refused (abstained from)."""

    answered_answerable: int
    refused_answerable: int
    answered_unanswerable: int
    refused_unanswerable: int


@dataclass(frozen=True, slots=True)
class Curve:
    """The metrics if the reader abstained below each confidence threshold; None is a figure over no probes."""

    threshold: tuple[float, ...]
    precision: tuple[float | None, ...]
    recall: tuple[float | None, ...]
    f1: tuple[float | None, ...]
    false_refusal_rate: tuple[float | None, ...]


def questions(samples: Sequence[Sample]) -> list[Sample]:
    """The probes that ask something."""
    return [sample for sample in samples if sample.probe.is_question]


def table(samples: Sequence[Sample]) -> Table:
    """Count the four cells over a run's questions."""
    asked = questions(samples)
    return Table(*(int(count) for count in cells([s.prediction.declined for s in asked], asked).sum(axis=0)))


def cells(refused: Sequence[bool] | NDArray[np.bool_], samples: Sequence[Sample]) -> NDArray[np.float64]:
    """One row for each probe, with a 1 in its cell, in the order of `Table`: shape (n, 4)."""
    own = 2 * np.array([not s.probe.gold.answerable for s in samples], int) + np.asarray(refused, int)
    rows: NDArray[np.float64] = np.eye(4)[own]
    return rows


def abstention(cells: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Precision, recall and F1 of abstaining and the false refusal rate, from the shares of the four cells.

    The cells are the last axis, in the order of `Table`. NaN is a figure over no probes: precision without refusals,
    recall and F1 without unanswerable questions, the false refusal rate without answerable ones. F1 is
    2 TP / (2 TP + FP + FN), so it is 0 where nothing was refused although something should have been.
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
    """The metrics if every question with a confidence below the threshold were abstained from, whatever the run did.

    None where all questions are answerable, or none is, or where the reader gave no confidence in every reply.
    """
    asked = questions(samples)
    confidence = np.array([s.prediction.confidence for s in asked], float)
    if len({s.probe.gold.answerable for s in asked}) < 2 or np.isnan(confidence).any():
        return None
    thresholds = np.arange(STEPS + 1) / STEPS
    shares = np.stack([cells(confidence < threshold, asked).mean(axis=0) for threshold in thresholds])
    figures = [tuple(None if np.isnan(v) else float(v) for v in values) for values in abstention(shares).values()]
    return Curve(tuple(map(float, thresholds)), *figures)


def _share(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
