"""Combine lexical and dense scores of the same memories.

Each is standardised over the candidates of a question, then mixed. A convex combination ranks better than reciprocal
rank fusion (Bruch, Gai & Ingber 2023, "An Analysis of Fusion Functions for Hybrid Retrieval"); standardising makes it
the same for any embedding model, whether its cosines lie around .1 or around .8 (zero mean and unit variance: Montague
& Aslam 2001, "Relevance Score Normalization for Metasearch").
"""

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

SAME = 1e-9
"""Scores that differ by no more than this count as equal."""


def standardise(scores: Scores) -> Scores:
    """Scale scores to mean 0 and standard deviation 1; equal ones become 0."""
    # Not "deviation > 0": the mean of equal scores is rounded, and that error would be scaled up.
    if not len(scores) or np.ptp(scores) <= SAME:
        return np.zeros_like(scores)
    return np.asarray((scores - scores.mean()) / scores.std())


def mix(lexical: Scores, dense: Scores, embedded: NDArray[np.bool_], dense_weight: float) -> Scores:
    """(1 - w) * lexical + w * dense, each standardised; shape (n,), in 0..1, the best 1.

    The worst stands one standard deviation above 0, so that a factor has something to raise. 0 is what has no word of
    the question and no nearness to its meaning. What has no vector is judged by its words alone.
    """
    words, meaning = standardise(lexical), np.zeros_like(dense)
    meaning[embedded] = standardise(dense[embedded])
    mixed = np.where(embedded, (1.0 - dense_weight) * words + dense_weight * meaning, words)
    by_words, by_meaning = (lexical > 0) & ((dense_weight < 1) | ~embedded), (dense > 0) & (dense_weight > 0)
    above = mixed - mixed.min(initial=np.inf) + 1.0
    return np.where(by_words | by_meaning, above / above.max(initial=1.0), 0.0)
