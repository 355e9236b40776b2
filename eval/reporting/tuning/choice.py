"""Choose a value for each constant by coordinate descent over the grid.

One constant after another gets the value with the best mean over benchmarks, the others staying as they are, and again
from the first until none changes. Of equal values the nearest to off is chosen. Two settings are compared on the same
probes; the spread of their difference is that of resampled histories.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import fmean
from typing import Any, NamedTuple

from eval.metrics.intervals import Difference, Z, compare
from eval.runs.experiment import Experiment, with_settings
from memory import read_table

Constants = Mapping[str, float]
"""A value for each name of `GRID`; `views` and `voice` are false or true."""

_FILE: Mapping[str, Any] = read_table(__file__, "tuning.toml")
GRID: Mapping[str, Sequence[float]] = _FILE["grid"]
"""The values of each constant, in the order in which the constants are chosen."""
FIGURES: Mapping[str, Sequence[str]] = _FILE["figures"]
"""The figures of each benchmark, of which a probe's value is the mean."""
LABELS: Mapping[str, str] = _FILE["labels"]
"""What is off where a constant is, if its name does not say it."""

PASSES = 4
"""Passes over all constants, if they do not settle before."""


def off() -> Constants:
    """Every factor off: where the choice starts, so that no earlier choice has a part in it."""
    return {name: values[0] for name, values in GRID.items()}


def constants_of(experiment: Experiment) -> Constants:
    """The constants of an experiment."""
    return {name: experiment.settings[name] for name in GRID}


def with_constants(experiment: Experiment, constants: Constants) -> Experiment:
    """An experiment with other constants."""
    return with_settings(experiment, [f"{name}={value}" for name, value in constants.items()])


class ProbeValue(NamedTuple):
    """A probe's value under some setting, and its history."""

    history: str
    value: float


Values = Mapping[str, Sequence[ProbeValue]]
"""The values of some probes of each benchmark, under one setting; always in the same order."""

Measure = Callable[[Constants], Values]


def mean(values: Sequence[ProbeValue]) -> float:
    """The figure of a benchmark."""
    return fmean(each.value for each in values)


def change(before: Sequence[ProbeValue], after: Sequence[ProbeValue]) -> Difference:
    """The paired change of one benchmark's figure from one setting to another (see `eval.metrics.intervals`)."""
    ours, theirs = ({str(n): each.value for n, each in enumerate(values)} for values in (before, after))
    return compare(ours, theirs, {str(n): each.history for n, each in enumerate(before)})


def mean_change(before: Values, after: Values) -> tuple[float, float]:
    """The change of the mean over benchmarks, which weigh alike whatever the number of their probes, and its error.

    The error is that of independent benchmarks, each with a quarter of the width of its 95 % interval (more exactly,
    the width over 2 * 1.96).
    """
    changes = [change(before[name], after[name]) for name in before]
    errors = [(each.high - each.low) / (2 * Z) for each in changes]
    return fmean(each.difference for each in changes), hypot(*errors) / len(changes)


@dataclass(frozen=True, slots=True)
class Trial:
    """One value of a constant, the others as chosen: the mean over benchmarks, its change from the chosen value with
    the standard error, and each benchmark's figure."""

    name: str
    value: float
    figure: float
    change: float
    error: float
    figures: Mapping[str, float]


def choose(measure: Measure, watch: Callable[[int, int], None] = lambda done, total: None) -> Constants:
    """The constants for the benchmarks that `measure` measures, chosen from all off on.

    `watch` is called after each value of a pass.
    """
    chosen, total = dict(off()), sum(map(len, GRID.values()))
    for _ in range(PASSES):
        before, done = dict(chosen), 0
        for name, values in GRID.items():
            tried = {}
            for value in values:
                tried[value] = measure({**chosen, name: value})
                done += 1
                watch(done, total)
            chosen[name] = best(tried)
        if chosen == before:
            break
    return chosen


def best(tried: Mapping[float, Values]) -> float:
    """The value with the best mean over benchmarks, of equal ones the first; `tried` goes from off upwards."""
    return max(tried, key=lambda value: overall(tried[value]))


def overall(values: Values) -> float:
    """The mean over benchmarks, which weigh alike."""
    return fmean(map(mean, values.values()))


def trials(measure: Measure, chosen: Constants) -> list[Trial]:
    """Every value of every constant, with the others as chosen."""
    reference = measure(chosen)
    found = []
    for name, values in GRID.items():
        for value in values:
            measured = measure({**chosen, name: value})
            figures = {benchmark: mean(each) for benchmark, each in measured.items()}
            found.append(Trial(name, value, overall(measured), *mean_change(reference, measured), figures))
    return found
