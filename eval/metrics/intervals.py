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
from functools import partial
from itertools import compress
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.types import Figure

RESAMPLES = 1000
LEVEL = 0.95
SEED = 20261121

Z = 1.959964
"""The 97.5 % point of the normal distribution."""

Numbers = NDArray[np.float64]


INTERVALS = (
    "95 % intervals: histories are resampled, and the probes within each; a share over one history gets Wilson's "
    "interval"
)
"""What a table says of its intervals."""


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
    groups: dict[bytes, dict[str, Numbers]] = {}
    for name, values in columns.items():
        column = np.array(values, float)
        is_defined = ~np.isnan(column)
        defined = column[is_defined]
        if not len(defined):
            continue
        is_constant = (defined == defined[0]).all()
        of_one_history = len(set(compress(histories, is_defined))) == 1
        if shares and np.isin(defined, (0, 1)).all() and (is_constant or of_one_history):
            figures[name] = _wilson(int(defined.sum()), len(defined))
        elif is_constant:
            value = float(defined[0])
            figures[name] = Figure(value, value, value, len(defined))
        else:
            groups.setdefault(is_defined.tobytes(), {})[name] = defined
    for mask, group in groups.items():
        own = list(compress(histories, np.frombuffer(mask, bool)))
        figures |= set_figures(np.stack(list(group.values()), axis=1), partial(_by_name, tuple(group)), own)
    return {name: figures[name] for name in columns if name in figures}


def set_figures(
    rows: Numbers, statistic: Callable[[Numbers], Mapping[str, Numbers]], histories: Sequence[str]
) -> dict[str, Figure]:
    """Figures that are functions of means over the set, such as a weighted F1 or a geometric mean.

    `rows` has shape (n, m), one row for each probe, of these `histories`. `statistic` maps means of the columns, shape
    (..., m), to named values of shape (...). NaN is an undefined value: such a figure is left out, and such a resample
    does not count.
    """
    n = len(rows)
    values = {name: float(value) for name, value in statistic(rows.mean(axis=0)).items() if not np.isnan(value)}
    if n < 2 or (rows == rows[0]).all():
        return {name: Figure(value, value, value, n) for name, value in values.items()}
    spreads, percents = statistic(_drawn_means(rows, histories)), [50 * (1 - LEVEL), 50 * (1 + LEVEL)]
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


def _by_name(names: tuple[str, ...], means: Numbers) -> dict[str, Numbers]:
    return dict(zip(names, np.moveaxis(means, -1, 0), strict=True))


def _drawn_means(rows: Numbers, histories: Sequence[str]) -> Numbers:
    """The means of the columns in every resample, shape (RESAMPLES, m)."""
    rng = np.random.default_rng(SEED)
    names, owners = np.unique(np.array(histories), return_inverse=True)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    times = np.empty((RESAMPLES, len(rows)))
    for history in range(len(names)):
        own = np.flatnonzero(owners == history)
        times[:, own] = rng.multinomial(drawn[:, history] * len(own), np.full(len(own), 1 / len(own)))
    means: Numbers = times @ rows / times.sum(axis=1, keepdims=True)
    return means


# --- whether two runs differ by more than chance, on the probes that both asked

PERMUTATIONS = 9_999
"""Random exchanges, if there are more possible ones; otherwise all are tried."""

SIGNIFICANT = 0.05

TESTED = (
    "p is from a paired randomisation test, two-sided: the two runs' values are exchanged by history, or by probe "
    "where there is one history. With two to five histories no p can be below .05. A star marks p < .05 after Holm's "
    "correction for all tests of the table"
)
"""What a table says of its tests."""

_AT_ONCE = 2_000_000

Test = TypeVar("Test")


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


def compare(a: Mapping[str, float], b: Mapping[str, float], histories: Mapping[str, str]) -> Difference:
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
    """A star for each test whose p is significant after Holm's correction for all of them."""
    corrected = holm(list(p_values.values()))
    return {test: "*" if p < SIGNIFICANT else "" for test, p in zip(p_values, corrected, strict=True)}


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979), so that the chance of even one false star stays below 5 %.

    The smallest of m is multiplied by m, the next by m - 1, and so on; none is smaller than one before it.
    """
    p = np.array(p_values, float)
    order = np.argsort(p)
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(len(p), 0, -1) * p[order]))
    return [float(value) for value in corrected]


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
