"""The learned classifier: tell the kind of a message, and the stores of the memory that it asks about.

Logistic regressions over the sentence embedding plus the message's own words: the embedding carries the topic, the
words carry the form ("who is ... to", "did ... say"), which decides the store. Prediction needs numpy alone and takes
well under a millisecond; `graph.training.classifier` writes the weights.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from graph.language.patterns import SLOTS, listed, load
from memory.embedding.embedder import PACKAGED
from memory.errors import MemoirError
from memory.search.tokens import CJK
from memory.types import STORES, Store

Kind = Literal["question", "statement", "smalltalk"]
Floats = NDArray[np.float32]

KINDS: tuple[Kind, ...] = get_args(Kind)

MODELS = Path(__file__).parents[2] / "assets" / "models"

HEADS: Mapping[str, slice] = {
    "stores": slice(0, 5),
    "kind": slice(5, 8),
    "recall": slice(8, 9),
    "state": slice(9, 10),
}
"""Which rows of the weight matrix make which prediction; a head of one row is a sigmoid, any other a softmax."""

LONGEST_TEXT = 2_000
"""Most characters of a message that are read: the embedder stops after some 1,000."""

LEXICAL_WEIGHT = 1.0
"""Weight of the words beside the embedding, both of length 1; cross-validated: 0.5 and 2 are no better."""

LONG = 20
"""Words from which a message counts as long; below, the exact length is a feature."""

GROUPS = {name: frozenset(listed(words)) for name, words in load("word_groups.toml").items()}
"""Words with the same role in a message, so that one seen in training stands for the others."""
GROUPED = frozenset().union(*GROUPS.values())

_TOKEN = re.compile(rf"'\w+|[{CJK}]|[^\W\d_{CJK}]+(?:-[^\W\d_{CJK}]+)*|\d+|[?!.]")
_CHINESE_STOPS = str.maketrans("？！。", "?!.")
_STOPS = frozenset("?!.")
_TITLES = frozenset(SLOTS["TITLE"].lower().split("|"))
_NAME = "<name>"


@dataclass(frozen=True, slots=True)
class Classification:
    """The classes of one message, as probabilities.

    `stores` and `kind` each sum to 1. `several`: it asks for a list or a count. `recall`: it asks about something the
    memory may hold, rather than for general knowledge or advice. `state`: it tells a feeling or a situation that should
    bring a memory up.
    """

    stores: Mapping[Store, float]
    kind: Mapping[Kind, float]
    several: float
    recall: float
    state: float

    @classmethod
    def uniform(cls) -> Classification:
        """The uninformed prior: all outcomes of a head are equally likely."""
        return cls(dict.fromkeys(STORES, 1 / len(STORES)), dict.fromkeys(KINDS, 1 / len(KINDS)), 0.5, 0.5, 0.5)

    @property
    def is_question(self) -> bool:
        """Whether a question is the likeliest kind."""
        return self.likeliest_kind == "question"

    @property
    def likeliest_kind(self) -> Kind:
        """The likeliest kind of message."""
        return max(KINDS, key=lambda kind: self.kind[kind])

    @property
    def asks_several(self) -> bool:
        """Whether it more likely than not asks for a list or a count."""
        return self.several > 0.5

    @property
    def asks_memory(self) -> bool:
        """Whether it more likely than not asks about what the memory may hold."""
        return self.recall > 0.5


@dataclass(frozen=True, slots=True)
class Classifier:
    """The learned classifier. Its arrays are only read, so all threads can share one instance.

    `weights` is (10, d + terms) with the rows of `HEADS`, `bias` is (10,), `vocabulary` numbers the lexical terms;
    d is the length of an embedding by `model`.
    """

    weights: Floats
    bias: Floats
    vocabulary: Mapping[str, int]
    model: str

    @classmethod
    def load(cls, embedding_model: str) -> Classifier:
        """Read the weights that `python -m graph.training.classifier` wrote for an embedding model.

        Raises:
            MemoirError: There are none for that model.
        """
        path = weights_path(embedding_model, "classifier")
        if not path.is_file():
            raise MemoirError(
                f"No classifier was trained on embeddings of {embedding_model}: {path} is missing. "
                f"Run MEMOIR_EMBEDDING_MODEL={embedding_model} python -m graph.training.classifier, or choose one of "
                f"{', '.join(PACKAGED)}"
            )
        return cls(*_read_weights(path), embedding_model)

    @property
    def dimensions(self) -> int:
        """The length of the embeddings it was trained on."""
        return int(self.weights.shape[1]) - len(self.vocabulary)

    def classify(self, text: str, vector: Floats) -> Classification:
        """Classify one message by its text and its unit embedding by `self.model`, of shape (dimensions,).

        The stores are learnt from questions alone; for other messages they say what a question in such words would ask.
        Blank text gets the uniform prior.

        Raises:
            ValueError: The embedding has another length, so it comes from another model.
        """
        if vector.shape != (self.dimensions,):
            raise ValueError(
                f"the classifier was trained on {self.model} ({self.dimensions} dimensions) and got an embedding of "
                f"shape {vector.shape}; embed with that model, or retrain with python -m graph.training.classifier"
            )
        if not text.strip():
            return Classification.uniform()
        scores = self.weights @ features(text, vector, self.vocabulary) + self.bias
        heads = {head: _probabilities(scores[rows]) for head, rows in HEADS.items()}
        lists = Recogniser.load("lists", self.model)
        return Classification(
            stores=dict(zip(STORES, heads["stores"], strict=True)),
            kind=dict(zip(KINDS, heads["kind"], strict=True)),
            several=lists.probability(text, vector) if lists else 0.0,
            recall=heads["recall"][0],
            state=heads["state"][0],
        )


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Recognises one thing in a text: "matters", what matters whatever is talked about, such as allergies, illness and
    losses; "follow_ups", what asks on from the question before it ("and Petra's?"); "lists", what asks for a list or a
    count ("What are my sister's hobbies?").

    `weights` is (d + terms,), and `vocabulary` numbers the lexical terms; d is 0 where words alone decide.
    """

    weights: Floats
    bias: float
    vocabulary: Mapping[str, int]

    @classmethod
    @cache
    def load(cls, name: str, embedding_model: str = "") -> Recogniser | None:
        """Read the weights that `python -m graph.training.recognisers` wrote; None for a model without any."""
        path = weights_path(embedding_model, name)
        if not path.is_file():
            return None
        weights, bias, vocabulary = _read_weights(path)
        return cls(weights, float(bias), vocabulary)

    def probability(self, text: str, vector: Floats | None = None) -> float:
        """The probability for a text; `vector` is its unit embedding, of shape (d,)."""
        vector = np.empty(0, np.float32) if vector is None else vector
        return _probabilities(np.array([self.weights @ features(text, vector, self.vocabulary) + self.bias]))[0]

    def direction(self, dimensions: int) -> Floats:
        """The unit vector, of shape (dimensions,), along which embeddings are likeliest to be recognised."""
        toward = self.weights[:dimensions]
        return toward / np.linalg.norm(toward)


def _read_weights(path: Path) -> tuple[Floats, Floats, dict[str, int]]:
    """The weights, the bias and the numbered lexical terms of a file."""
    with np.load(path, allow_pickle=False) as arrays:
        vocabulary = {term: column for column, term in enumerate(str(arrays["vocabulary"]).split("\n"))}
        return arrays["weights"].astype(np.float32), arrays["bias"], vocabulary


def read_rows(file: str) -> list[dict[str, Any]]:
    """Read a file of assets/models that models are trained on, one JSON object a line."""
    return [json.loads(line) for line in (MODELS / file).read_text("utf-8").splitlines()]


def weights_path(embedding_model: str, name: str) -> Path:
    """The file of weights that were trained on the embeddings of a model, which has a folder of its own, or on none."""
    return MODELS / quote(embedding_model, safe="") / f"{name}.npz"


def features(text: str, vector: Floats, vocabulary: Mapping[str, int]) -> Floats:
    """The embedding followed by the message's known terms, the latter a vector of length `LEXICAL_WEIGHT`."""
    lexical = np.zeros(len(vocabulary), dtype=np.float32)
    columns = [vocabulary[term] for term in terms(text) if term in vocabulary]
    if columns:
        lexical[columns] = LEXICAL_WEIGHT / np.sqrt(len(columns))
    return np.concatenate([vector, lexical], dtype=np.float32)


def terms(text: str) -> list[str]:
    """The lexical features of a message: words, pairs of words, how it begins, word groups, and its shape.

    Runs of capitalised words become one `<name>`, so that nothing is learnt about who is asked about. Of Chinese each
    character is a word.
    """
    cut = text[:LONGEST_TEXT].replace("\u2019", "'").translate(_CHINESE_STOPS)
    tokens = _TOKEN.findall(cut.lower() if cut.isupper() else cut)
    return list(dict.fromkeys(_describe(list(_masked(tokens)))))


def _masked(tokens: Sequence[str]) -> Iterator[str]:
    """Lower-cased tokens with names masked. The first word of a sentence is not a name, nor is "Monday" or "Mum"."""
    in_name, opens = False, True
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token == "." and before.lower() in _TITLES:
            continue
        is_name = token[0].isupper() and not opens and token.lower() not in GROUPED
        if is_name and not in_name:
            yield _NAME
        if not is_name:
            yield token.lower()
        in_name, opens = is_name, token in _STOPS


def _describe(tokens: Sequence[str]) -> Iterator[str]:
    words = [token for token in tokens if token not in _STOPS]
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(words))
    yield from ("^" + " ".join(words[:count]) for count in (1, 2, 3) if len(words) >= count)
    yield from (f"#{name}" for name, group in GROUPS.items() if not group.isdisjoint(words))
    yield from (f"#{mark}" for mark in ("?", "!") if mark in tokens)
    if tokens and tokens[-1] == "?":
        yield "#ends?"
    if any(len(word) > 4 and word.endswith("ed") for word in words):
        yield "#past"
    if any(len(word) == 4 and word.isdigit() for word in words):
        yield "#year"
    yield f"#names {min(words.count(_NAME), 3)}"
    yield f"#length {min(len(words), LONG)}"


def _probabilities(scores: Floats) -> list[float]:
    """Softmax, or the sigmoid where there is one score; sums to 1 in double precision."""
    exact = scores.astype(np.float64)
    if len(exact) == 1:
        return [float(1 / (1 + np.exp(-np.clip(exact[0], -500, 500))))]
    powers = np.exp(exact - exact.max())
    return [float(power) for power in powers / powers.sum()]
