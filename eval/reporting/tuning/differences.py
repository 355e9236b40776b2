"""Compare two settings on the same probes; the spread of their difference is that of resampled histories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from eval.metrics.intervals import Z, set_figures
from eval.metrics.significance import Difference, compare
from eval.types import Figure


class ProbeValue(NamedTuple):
    """A probe's value under some setting, and its history."""

    history: str
    value: float


Values = Mapping[str, Sequence[ProbeValue]]
"""The values of some probes of each benchmark, under one setting; always in the same order."""


@dataclass(frozen=True, slots=True)
class MeanChange:
    """The change of the mean over benchmarks, and its standard error."""

    value: float
    error: float


def mean(values: Sequence[ProbeValue]) -> float:
    """The figure of a benchmark."""
    return float(np.mean([each.value for each in values]))


def change(before: Sequence[ProbeValue], after: Sequence[ProbeValue]) -> Figure:
    """The paired change of one benchmark's figure from one setting to another (see `eval.metrics.intervals`)."""
    gains = np.array([[b.value - a.value] for a, b in zip(before, after, strict=True)])
    histories = [each.history for each in before]
    return set_figures(gains, lambda means: {"change": means[..., 0]}, histories)["change"]


def paired(before: Sequence[ProbeValue], after: Sequence[ProbeValue]) -> Difference:
    """The same, with a test that exchanges histories (see `eval.metrics.significance`)."""
    ours, theirs = ({str(n): each.value for n, each in enumerate(values)} for values in (before, after))
    return compare(ours, theirs, {str(n): each.history for n, each in enumerate(before)})


def mean_change(before: Values, after: Values) -> MeanChange:
    """The change of the mean over benchmarks, which weigh alike whatever the number of their probes.

    Its error is that of independent benchmarks, each with a quarter of the width of its 95 % interval (more exactly,
    the width over 2 * 1.96).
    """
    changes = [change(before[name], after[name]) for name in before]
    errors = [(each.high - each.low) / (2 * Z) for each in changes]
    value = sum(each.value for each in changes) / len(changes)
    return MeanChange(value, sqrt(sum(error**2 for error in errors)) / len(changes))
