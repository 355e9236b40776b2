"""Choose a value for each constant: coordinate descent over the grid, and the simplest of values that differ by noise.

One constant after another gets its value, the others staying as they are, and again from the first until none changes.
The value is the one-standard-error rule's (Breiman et al. 1984, section 3.4.3): of all that are worse than the best by
no more than one standard error of their difference to it, the nearest to off. A factor has to earn its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from eval.reporting.tuning.differences import MeanChange, Values, mean, mean_change
from eval.reporting.tuning.grid import GRID, Constants, off

PASSES = 4
"""Passes over all constants, if they do not settle before."""

Measure = Callable[[Constants], Values]


@dataclass(frozen=True, slots=True)
class Trial:
    """One value of a constant, the others as chosen: the mean over benchmarks, its change from the chosen value, and
    each benchmark's figure."""

    name: str
    value: float
    figure: float
    change: MeanChange
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
            chosen[name] = simplest(tried)
        if chosen == before:
            break
    return chosen


def simplest(tried: Mapping[float, Values]) -> float:
    """The first value within one standard error of the best; `tried` has the values from off upwards."""
    figures = {value: overall(values) for value, values in tried.items()}
    best = tried[max(figures, key=lambda value: figures[value])]
    for value, values in tried.items():
        lost = mean_change(values, best)
        if lost.value <= lost.error:
            return value
    raise AssertionError("the best value is as good as the best")


def overall(values: Values) -> float:
    """The mean over benchmarks, which weigh alike."""
    return sum(map(mean, values.values())) / len(values)


def trials(measure: Measure, chosen: Constants) -> list[Trial]:
    """Every value of every constant, with the others as chosen."""
    reference = measure(chosen)
    found = []
    for name, values in GRID.items():
        for value in values:
            measured = measure({**chosen, name: value})
            figures = {benchmark: mean(each) for benchmark, each in measured.items()}
            found.append(Trial(name, value, overall(measured), mean_change(reference, measured), figures))
    return found
