"""Choose a value for each constant by coordinate descent over the grid.

One constant after another gets the value with the best mean over benchmarks, the others staying as they are, and again
from the first until none changes. Of equal values the nearest to off is chosen.
"""

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
            chosen[name] = best(tried)
        if chosen == before:
            break
    return chosen


def best(tried: Mapping[float, Values]) -> float:
    """The value with the best mean over benchmarks, of equal ones the first; `tried` goes from off upwards."""
    return max(tried, key=lambda value: overall(tried[value]))


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
