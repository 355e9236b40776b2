"""What kind of message is this, and which stores of the memory does it ask about? The learned engine of `classify`.

Logistic regressions over the sentence embedding plus the message's own words: the embedding carries the topic, the
words carry the form ("who is ... to", "did ... say"), which decides the store. Prediction needs numpy alone and takes
well under a millisecond; `graph.train_classifier` writes the weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from memory.types import Store

Kind = Literal["question", "statement", "smalltalk"]

STORES: tuple[Store, ...] = get_args(Store)
KINDS: tuple[Kind, ...] = get_args(Kind)
SEMANTIC: tuple[Store, ...] = ("profile", "relationship", "world")
EPISODIC: tuple[Store, ...] = ("event", "dialogue")

WEIGHTS = Path(__file__).parent.parent / "assets" / "classifier.npz"


@dataclass(frozen=True, slots=True)
class Classification:
    """What one message asks for, in probabilities.

    `stores` and `kind` sum to 1. `many` is for a list or a count over many sessions, `recall` for asking about what the
    memory may hold (rather than general knowledge, advice or nothing), `state` for an emotion or a situation that
    should bring a memory up unasked.
    """

    stores: Mapping[Store, float]
    kind: Mapping[Kind, float]
    many: float
    recall: float
    state: float

    @classmethod
    def uniform(cls) -> Classification:
        """The prior of a reader who knows nothing: every outcome of every head equally likely."""
        return cls(dict.fromkeys(STORES, 1 / len(STORES)), dict.fromkeys(KINDS, 1 / len(KINDS)), 0.5, 0.5, 0.5)

    @property
    def semantic(self) -> float:
        """P(profile, relationship or world)."""
        return sum(self.stores[store] for store in SEMANTIC)

    @property
    def episodic(self) -> float:
        """P(event or dialogue)."""
        return sum(self.stores[store] for store in EPISODIC)

    @property
    def is_question(self) -> bool:
        """Whether a question is the likeliest kind."""
        return max(KINDS, key=lambda kind: self.kind[kind]) == "question"

    @property
    def asks_many(self) -> bool:
        """Whether it more likely than not asks for a list or a count."""
        return self.many > 0.5

    @property
    def asks_memory(self) -> bool:
        """Whether it more likely than not asks about what the memory may hold."""
        return self.recall > 0.5

    @property
    def shows_state(self) -> bool:
        """Whether it more likely than not expresses a state that should bring a memory up unasked."""
        return self.state > 0.5


class Classifier:
    """The learned engine. It holds arrays only, so one instance serves all threads."""

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> Classifier:
        """Read the weights that `python -m graph.train_classifier` wrote."""
        raise NotImplementedError

    def classify(self, text: str, vector: NDArray[np.float32]) -> Classification:
        """Classify one message.

        Args:
            text: The message; empty or blank text gets the uniform prior.
            vector: The unit embedding of the message by `memory.embedder.DEFAULT_MODEL`, of shape (384,).
        """
        raise NotImplementedError
