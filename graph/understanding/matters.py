"""Recognise what always matters, whatever is talked about: allergies, illness, pregnancy, losses.

A logistic regression over the sentence embedding and the words, as in `graph.understanding.classifier`.
`graph.training.matters` writes the weights, for one embedding model at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from graph.understanding.classifier import Floats, features, weights_path


@dataclass(frozen=True, slots=True)
class Recogniser:
    """`weights` is (d + terms,); `vocabulary` numbers the lexical terms."""

    weights: Floats
    bias: float
    vocabulary: Mapping[str, int]

    def probability(self, text: str, vector: Floats) -> float:
        """The probability that a text matters.

        Args:
            text: A sentence or two.
            vector: Its unit embedding by the model that the recogniser was trained with, of shape (d,).
        """
        from scipy.special import expit  # not before a message is read: SciPy is slow to import

        return float(expit(self.weights @ features(text, vector, self.vocabulary) + self.bias))

    def direction(self, dimensions: int) -> Floats:
        """The unit vector, of shape (dimensions,), along which embeddings are likeliest to matter."""
        toward = self.weights[:dimensions]
        return toward / np.linalg.norm(toward)


@cache
def load(embedding_model: str) -> Recogniser | None:
    """Read the weights that `python -m graph.training.matters` wrote; None for a model without any."""
    path = weights_path(embedding_model, "matters")
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        vocabulary = {term: column for column, term in enumerate(str(arrays["vocabulary"]).split("\n"))}
        return Recogniser(arrays["weights"].astype(np.float32), float(arrays["bias"]), vocabulary)
