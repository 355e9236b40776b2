"""Combine lexical and dense scores of the same memories.

Both are scaled to 0..1 for each question, then mixed: a convex combination ranks better than reciprocal rank fusion
(Bruch, Gai & Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval").
"""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]


def normalise(scores: Scores) -> Scores:
    """Scale scores so that the best is 1 and zero stays zero; negative scores become zero. All zeros stay zeros."""
    positive = np.clip(scores, 0.0, None)
    best = positive.max(initial=0.0)
    return positive / best if best > 0 else positive


def convex(lexical: Scores, dense: Scores, dense_weight: float) -> Scores:
    """(1 - w) * lexical + w * dense, each normalised; shape (n,), in 0..1."""
    return (1.0 - dense_weight) * normalise(lexical) + dense_weight * normalise(dense)
