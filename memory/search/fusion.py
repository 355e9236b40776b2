"""Several opinions of the same memories made one.

Scores of different kinds are brought to a common scale question by question, then mixed: a convex combination ranks
better than reciprocal ranks where both scores mean something (Bruch, Gai & Ingber 2023, "An Analysis of Fusion
Functions for Hybrid Retrieval").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def normalise(scores: Scores) -> Scores:
    """Scale so that the best is 1 and zero stays zero; below zero counts as zero; no score at all stays all zero."""
    positive = np.clip(scores, 0.0, None)
    best = positive.max(initial=0.0)
    return positive / best if best > 0 else positive


def convex(lexical: Scores, dense: Scores, dense_weight: float) -> Scores:
    """Mix two opinions of the same n memories: (1 - w) * lexical + w * dense, each normalised; n values in 0..1."""
    return (1.0 - dense_weight) * normalise(lexical) + dense_weight * normalise(dense)
