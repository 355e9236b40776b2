"""95 % intervals and tests of differences, where the probes of one history are not independent of each other.

A bootstrap in two stages (Davison and Hinkley 1997, section 3.8): 1,000 times, with a fixed seed, histories are drawn
with replacement, and then probes within each drawn history. Histories drawn with all their probes are not enough where
they are few: the two of MADial-Bench, with nearly equal means, gave its 80 probes an interval of three points, where
resampled probes alone give fifteen. If each probe has a history of its own, or all have the same, this is the bootstrap
over probes (Efron and Tibshirani 1993, chapter 13). A share over one history gets Wilson's interval (Wilson 1927)
instead. What is measured on one history says nothing of others.

All figures that are functions of means over probes come from one matrix with a row for each probe. The number of times
each probe was drawn, times the matrix, gives the means of all columns at once. For 3 probes, the first two of one
history, and 2 columns, with that history drawn twice:

    times = [3, 1, 0]                      shape (3,): four probes of the first history, none of the second
    rows = [[1, 0], [0, 1], [1, 1]]        shape (3, 2)
    times @ rows / 4 = [3/4, 1/4]          shape (2,): the means of both columns
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.types import Figure, ProbeKey

RESAMPLES = 1000
LEVEL = 0.95
SEED = 20261121

Z = 1.959964
"""The 97.5 % point of the normal distribution."""

Numbers = NDArray[np.float64]


def mean_figures(
    columns: Mapping[str, Sequence[float | None]], histories: Sequence[str], *, shares: bool = True
) -> dict[str, Figure]:
    """The mean of each column over the probes for which it is defined, with its interval over these probes.

    Every column has one value for each probe, in the same order as their `histories`; None where the metric is not
    defined. Columns without any value are left out. A column of equal values has no spread to resample: a share gets
    Wilson's interval then, too, and any other figure one of width 0. A column of zeros and ones is a share, unless
    `shares` is false.
    """
    figures: dict[str, Figure] = {}
    for name, values in columns.items():
        column = np.array(values, float)
        is_defined = ~np.isnan(column)
        defined, own = column[is_defined], tuple(compress(histories, is_defined))
        is_share = shares and np.isin(defined, (0, 1)).all()
        if is_share and own and (len(set(own)) == 1 or len(set(defined)) == 1):
            figures[name] = _wilson(int(defined.sum()), len(own))
        elif own:
            figures[name] = set_figures(defined[:, None], lambda means: {"mean": means[..., 0]}, own)["mean"]
    return figures


def set_figures(
    rows: Numbers, statistic: Callable[[Numbers], Mapping[str, Numbers]], histories: Sequence[str]
) -> dict[str, Figure]:
    """Figures that are functions of means over the set, such as a weighted F1 or a geometric mean.

    `rows` has shape (n, m), one row for each probe, of these `histories`. `statistic` maps means of the columns, shape
    (..., m), to named values of shape (...). NaN is an undefined value: such a figure is left out, and such a resample
    does not count.
    """
    n, is_constant = len(rows), (rows == rows[0]).all()
    # The mean of equal values may differ from them in the last digit.
    of_set = statistic(rows[0] if is_constant else rows.mean(axis=0))
    values = {name: float(value) for name, value in of_set.items() if not np.isnan(value)}
    if is_constant:
        return {name: Figure(value, value, value, n) for name, value in values.items()}
    times = _draw_histories(tuple(histories))
    spreads = statistic(times @ rows / times.sum(axis=1, keepdims=True))
    percents = [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
    figures = {}
    for name, value in values.items():
        low, high = np.nanpercentile(spreads[name], percents)
        figures[name] = Figure(value, float(low), float(high), n)
    return figures


def jackknife_figure(value: float, without_each: Sequence[float]) -> Figure:
    """A figure with the normal interval of its jackknife standard error (Efron and Tibshirani 1993, chapter 11).

    For figures that are not functions of means, such as a count of different n-grams: a bootstrap sample draws some
    probes twice and so has fewer of them than a real sample, and its interval would miss the value itself.
    """
    left = np.asarray(without_each, float)
    n = len(left)
    error = float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())) if n > 1 else 0.0
    return Figure(value, max(0.0, value - Z * error), min(1.0, value + Z * error), n)


def _wilson(ones: int, n: int) -> Figure:
    from scipy.stats import binomtest

    bounds, share = binomtest(ones, n).proportion_ci(LEVEL, "wilson"), ones / n
    return Figure(share, min(float(bounds.low), share), max(float(bounds.high), share), n)


@lru_cache(maxsize=2)  # most columns of a run are of the same probes; of a thousand, 8 MB
def _draw_histories(histories: tuple[str, ...]) -> Numbers:
    """How often each probe is drawn in every resample, shape (RESAMPLES, n)."""
    rng = np.random.default_rng(SEED)
    names, owners = np.unique(np.array(histories), return_inverse=True)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    times = np.empty((RESAMPLES, len(histories)))
    for history in range(len(names)):
        own = np.flatnonzero(owners == history)
        times[:, own] = rng.multinomial(drawn[:, history] * len(own), np.full(len(own), 1 / len(own)))
    return times


# --- whether two runs differ by more than chance, on the probes that both asked

PERMUTATIONS = 9_999
"""Random exchanges, if there are more possible ones; otherwise all are tried."""

SIGNIFICANT = 0.05

_AT_ONCE = 2_000_000

Test = TypeVar("Test")
Id = TypeVar("Id", str, ProbeKey)


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference mean(b) - mean(a) of two runs, with its 95 % bootstrap interval.

    `p` is two-sided; `n` counts the common probes, which are of so many `histories`.
    """

    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    p: float
    n: int
    histories: int


def compare(a: Mapping[Id, float], b: Mapping[Id, float], histories: Mapping[Id, str]) -> Difference:
    """Compare two runs probe by probe with a paired randomisation test (Fisher 1935; Smucker et al. 2007).

    If the runs were equally good, the values of each history could be exchanged, all of its probes together: p is the
    share of all exchanges (of 9,999 random ones if there are more) with a mean difference as large. Of the probes of
    one history, each is exchanged by itself. By scipy's permutation_test.

    `a` and `b` are the runs' values by probe id, and `histories` the probes' histories; probes that only one run has
    are left out. Raises ValueError if no probe is in both.
    """
    common = sorted(a.keys() & b.keys())
    if not common:
        raise ValueError(f"no probe in common: {len(a)} in the one, {len(b)} in the other")
    ours, theirs = (np.array([values[probe] for probe in common], float) for values in (a, b))
    gains, lived = theirs - ours, [histories[probe] for probe in common]
    spread = set_figures(gains[:, None], lambda means: {"difference": means[..., 0]}, lived)["difference"]
    return Difference(
        float(ours.mean()),
        float(theirs.mean()),
        spread.value,
        spread.low,
        spread.high,
        _p_value(gains, lived),
        len(common),
        len(set(lived)),
    )


def stars(p_values: Mapping[Test, float]) -> dict[Test, str]:
    """A star for each test that is significant after a correction for their number (Holm 1979).

    The smallest of m p-values has to be below .05 / m, the next below .05 / (m - 1), and so on, up to the first that is
    not. So the chance of even one false star stays below 5 %.
    """
    significant = set[Test]()
    for place, test in enumerate(sorted(p_values, key=lambda test: p_values[test])):
        if p_values[test] * (len(p_values) - place) >= SIGNIFICANT:
            break
        significant.add(test)
    return {test: "*" if test in significant else "" for test in p_values}


def _p_value(gains: Numbers, histories: Sequence[str]) -> float:
    """Exchanging a pair flips the sign of its difference; pairs without a difference are left out, which is exact.

    The gains of each history are added up; where there is one history, each probe is exchanged by itself.
    """
    from scipy.stats import permutation_test

    names, owners = np.unique(np.array(histories), return_inverse=True)
    exchanged = np.bincount(owners, weights=gains).astype(float) if len(names) > 1 else gains
    unequal: Numbers = exchanged[exchanged != 0]
    if len(unequal) < 2:
        return 1.0
    result = permutation_test(
        (unequal,),
        lambda signed, axis: signed.sum(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=PERMUTATIONS,
        batch=max(1, _AT_ONCE // len(unequal)),
        rng=np.random.default_rng(SEED),
    )
    return float(result.pvalue)
