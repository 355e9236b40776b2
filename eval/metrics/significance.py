"""Test whether two runs differ by more than chance, on the probes that both asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from eval.metrics.intervals import SEED, Numbers, set_figures

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
        _p_value(_by_history(gains, lived)),
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


def _by_history(gains: Numbers, histories: Sequence[str]) -> Numbers:
    """The gains of each history added up; those of each probe where there is one history."""
    names, owners = np.unique(np.array(histories), return_inverse=True)
    return np.bincount(owners, weights=gains).astype(float) if len(names) > 1 else gains


def _p_value(gains: Numbers) -> float:
    """Exchanging a pair flips the sign of its difference; pairs without a difference are left out, which is exact."""
    from scipy.stats import permutation_test

    unequal: NDArray[np.float64] = gains[gains != 0]
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
