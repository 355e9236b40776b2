"""95 % percentile bootstrap intervals over probes (Efron and Tibshirani 1993, chapter 13).

Probes are resampled with replacement, 1,000 times, by scipy.stats.bootstrap with a fixed seed. All figures that are
functions of means over probes come from one matrix with a row for each probe: the number of times each row was drawn,
times the matrix, gives the means of all columns at once. Put the probes in a fixed order first, since draws are by
position. For 3 probes and 2 columns, with the first probe drawn twice and the second once:

    times = [2, 1, 0]                      shape (3,)
    rows = [[1, 0], [0, 1], [1, 1]]        shape (3, 2)
    times @ rows / 3 = [2/3, 1/3]          shape (2,): the means of both columns
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from eval.types import Figure

RESAMPLES = 1000
LEVEL = 0.95
SEED = 20261121

Z = 1.959964
"""The 97.5 % point of the normal distribution."""

_AT_ONCE = 4_000_000
"""Positions drawn at a time: 32 MB."""

Numbers = NDArray[np.float64]


def mean_figures(columns: Mapping[str, Sequence[float | None]]) -> dict[str, Figure]:
    """The mean of each column over the probes for which it is defined, with its interval over these probes.

    Every column has one value for each probe, in the same order; None where the metric is not defined. Columns without
    any value are left out. A constant column, or one with a single value, gets an interval of width 0.
    """
    values = {name: np.array(column, float) for name, column in columns.items()}
    figures: dict[str, Figure] = {}
    groups: dict[bytes, dict[str, Numbers]] = {}
    for name, column in values.items():
        defined = column[~np.isnan(column)]
        if len(defined) and (defined == defined[0]).all():
            figures[name] = _constant(defined[0], len(defined))
        elif len(defined):
            groups.setdefault(np.isnan(column).tobytes(), {})[name] = defined
    for group in groups.values():
        figures |= set_figures(np.stack(list(group.values()), axis=1), partial(_by_name, tuple(group)))
    return {name: figures[name] for name in columns if name in figures}


def set_figures(rows: Numbers, statistic: Callable[[Numbers], Mapping[str, Numbers]]) -> dict[str, Figure]:
    """Figures that are functions of means over the set, such as a weighted F1 or a geometric mean.

    `rows` has shape (n, m), one row for each probe. `statistic` maps means of the columns, shape (..., m), to named
    values of shape (...). NaN is an undefined value: such a figure is left out, and such a resample does not count.
    """
    names, whole = _named(statistic(rows.mean(axis=0)))
    n = len(rows)
    if n < 2 or (rows == rows[0]).all():
        return {name: _constant(v, n) for name, v in zip(names, whole, strict=True) if not np.isnan(v)}
    _, spreads = _named(statistic(_drawn_means(rows)))
    drawn = zip(names, whole, spreads, strict=True)
    return {name: _figure(value, spread, n) for name, value, spread in drawn if not np.isnan(value)}


def jackknife_figure(value: float, without_each: Sequence[float]) -> Figure:
    """A figure with the normal interval of its jackknife standard error (Efron and Tibshirani 1993, chapter 11).

    For figures that are not functions of means, such as a count of different n-grams: a bootstrap sample draws some
    probes twice and so has fewer of them than a real sample, and its interval would miss the value itself.
    """
    left = np.asarray(without_each, float)
    n = len(left)
    error = float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())) if n > 1 else 0.0
    return Figure(value, max(0.0, value - Z * error), min(1.0, value + Z * error), n)


def _constant(value: float, n: int) -> Figure:
    return Figure(float(value), float(value), float(value), n)


def _figure(value: float, spread: Numbers, n: int) -> Figure:
    low, high = np.nanpercentile(spread, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return Figure(float(value), float(low), float(high), n)


def _by_name(names: tuple[str, ...], means: Numbers) -> dict[str, Numbers]:
    return dict(zip(names, np.moveaxis(means, -1, 0), strict=True))


def _named(values: Mapping[str, Numbers]) -> tuple[list[str], Numbers]:
    return list(values), np.stack(list(values.values()))


def _drawn_means(rows: Numbers) -> Numbers:
    """The means of the columns in every resample, shape (RESAMPLES, m)."""
    from scipy.stats import bootstrap

    n, m = rows.shape

    def means(places: NDArray[np.int64], axis: int = -1) -> Numbers:
        draws = places.reshape(-1, n)
        ordered = draws + n * np.arange(len(draws))[:, None]
        times = np.bincount(ordered.ravel(), minlength=draws.size).reshape(draws.shape)
        drawn: Numbers = (times @ rows / n).T.reshape(m, *places.shape[:-1])
        return drawn

    result = bootstrap(
        (np.arange(n),),
        means,
        n_resamples=RESAMPLES,
        batch=max(1, _AT_ONCE // n),
        vectorized=True,
        method="percentile",
        rng=np.random.default_rng(SEED),
    )
    return np.asarray(result.bootstrap_distribution, float).T
