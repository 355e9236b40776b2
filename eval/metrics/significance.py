"""Test whether two runs differ by more than chance, on the probes that both asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eval.metrics.intervals import SEED, mean_figures

PERMUTATIONS = 9_999
"""Random exchanges, if there are more possible ones; otherwise all are tried."""

_AT_ONCE = 2_000_000


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference mean(b) - mean(a) of two runs, with its 95 % bootstrap interval over probes.

    `p` is two-sided; `n` counts the common probes.
    """

    value_a: float
    value_b: float
    difference: float
    low: float
    high: float
    p: float
    n: int


def compare(a: Mapping[str, float], b: Mapping[str, float]) -> Difference:
    """Compare two runs probe by probe with a paired randomisation test (Fisher 1935; Smucker et al. 2007).

    If the runs were equally good, the two values of each probe could be exchanged: p is the share of all exchanges (of
    9,999 random ones if there are more) with a mean difference as large. By scipy's permutation_test.

    `a` and `b` are the runs' values by probe id; probes that only one has are left out. Raises ValueError if no probe
    is in both.
    """
    common = sorted(a.keys() & b.keys())
    if not common:
        raise ValueError(f"no probe in common: {len(a)} in the one, {len(b)} in the other")
    ours, theirs = (np.array([values[probe] for probe in common], float) for values in (a, b))
    gains = theirs - ours
    spread = mean_figures({"difference": gains.tolist()})["difference"]
    return Difference(
        float(ours.mean()),
        float(theirs.mean()),
        spread.value,
        spread.low,
        spread.high,
        _p_value(gains),
        len(common),
    )


def _p_value(gains: NDArray[np.float64]) -> float:
    """Exchanging a pair flips the sign of its difference; pairs without a difference are left out, which is exact."""
    from scipy.stats import permutation_test

    unequal = gains[gains != 0]
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
