"""Recognise what always matters, and questions without their mark.

A logistic regression over the sentence embedding and the words, as in `graph.understanding.classifier`. Its class
`NONE` stands for all other messages. `graph.training.intents` writes the weights, for one embedding model at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import softmax

from graph.understanding.classifier import Floats, features, weights_path

QUESTIONS, MATTERS = "asking", "matters"
"""The recognisers."""

NONE, ASKS, ALWAYS = "none", "asks", "always"


@dataclass(frozen=True, slots=True)
class Recogniser:
    """`weights` is (intents, d + terms), `bias` (intents,); `vocabulary` numbers the lexical terms.

    Messages of more words than any it was trained on, `longest`, have no intent; it is 0 where nothing was trained.
    """

    weights: Floats
    bias: Floats
    vocabulary: Mapping[str, int]
    intents: tuple[str, ...]
    longest: int

    def recognise(self, text: str, vector: Floats) -> tuple[str, float]:
        """The likeliest intent of a message and its probability; none if that it has any is not likelier than not.

        Args:
            text: The message.
            vector: Its unit embedding by the model that the recogniser was trained with, of shape (d,).
        """
        if not 0 < len(text.split()) <= self.longest:
            return "", 0.0
        likely = self.probabilities(text, vector)
        has_any = 1 - likely.pop(NONE) > 0.5
        likeliest = max(likely, key=lambda intent: likely[intent])
        return (likeliest, likely[likeliest]) if has_any else ("", 0.0)

    def probabilities(self, text: str, vector: Floats) -> dict[str, float]:
        """The probability of each intent, whatever the length of the text."""
        probabilities = softmax(self.weights @ features(text, vector, self.vocabulary) + self.bias)
        return dict(zip(self.intents, map(float, probabilities), strict=True))

    def direction(self, intent: str, dimensions: int) -> Floats:
        """The unit vector, of shape (dimensions,), along which embeddings are likeliest to have an intent."""
        place = self.intents.index(intent)
        against = np.delete(self.weights, place, axis=0).mean(axis=0)
        toward: Floats = (self.weights[place] - against)[:dimensions]
        return toward / np.linalg.norm(toward)


@cache
def load(name: str, embedding_model: str) -> Recogniser:
    """Read the weights that `python -m graph.training.intents` wrote; without any, nothing is recognised."""
    path = weights_path(embedding_model, name)
    if not path.is_file():
        return Recogniser(np.zeros((1, 0), np.float32), np.zeros(1, np.float32), {}, (NONE,), 0)
    with np.load(path, allow_pickle=False) as arrays:
        vocabulary = {term: column for column, term in enumerate(str(arrays["vocabulary"]).split("\n"))}
        intents = tuple(str(arrays["intents"]).split("\n"))
        weights = arrays["weights"].astype(np.float32)
        return Recogniser(weights, arrays["bias"], vocabulary, intents, int(arrays["longest"]))
