"""The trained reader of corrections: whether a message puts right a line, and which words take the place of which.

A cross-encoder on all-MiniLM-L6-v2, trained further by `graph.training.corrections`: message and line are read
together as

    [CLS] no wait its friday , at 3 [SEP] dentist thurs 10.30 , wisdom tooth [SEP]
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graph.readers.line_reader import best_ends
from graph.understanding.classifier import MODELS
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork

WEIGHTS = MODELS / "corrections.safetensors"
HEADS = {"corrects": 1, "right": 2, "wrong": 2}
"""How many outputs each head has: the first on [CLS], the others on each token."""
NETWORK = TrainedNetwork(minilm.packaged, WEIGHTS, *HEADS)

MOST_TOKENS = 96
"""Most tokens that are read of a message, and of a line."""

SURE = 0.98
"""Probability from which a message is taken for a correction of a line."""

_WORD = re.compile(r"[\w'’]+")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A message and a line as token ids; `types` is 1 for the line.

    `offsets` are the character spans of the tokens of each; those of the message begin at 1, those of the line at
    `first`.
    """

    ids: list[int]
    types: list[int]
    first: int
    offsets: tuple[list[tuple[int, int]], list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class ReadCorrection:
    """How likely a message puts a line right, and the characters of the right words in it and the wrong in the line."""

    probability: float
    right: tuple[int, int]
    wrong: tuple[int, int]


def tokens_of(message: str, lines: Sequence[str]) -> list[Tokens]:
    """The tokens of a message with each of several lines."""
    said, *others = minilm.packaged().encode([message, *lines])
    asked = [minilm.START, *said.ids[:MOST_TOKENS], minilm.END]
    result = []
    for line in others:
        told = [*line.ids[:MOST_TOKENS], minilm.END]
        offsets = said.offsets[:MOST_TOKENS], line.offsets[:MOST_TOKENS]
        result.append(Tokens([*asked, *told], [0] * len(asked) + [1] * len(told), len(asked), offsets))
    return result


def read(message: str, lines: Sequence[str], network: TrainedNetwork = NETWORK) -> list[ReadCorrection]:
    """Read a message with each of several lines that it may put right."""
    from scipy.special import expit  # not before a message is read: SciPy is slow to import

    texts = tokens_of(message, lines)
    computed = network.compute([each.ids for each in texts], [each.types for each in texts])
    return [
        ReadCorrection(
            float(expit(corrects[0, 0])),
            _span(message, text.offsets[0], right[1:]),
            _span(line, text.offsets[1], wrong[text.first :]),
        )
        for line, text, (corrects, right, wrong) in zip(lines, texts, computed, strict=True)
    ]


def _span(text: str, offsets: Sequence[tuple[int, int]], ends: Array) -> tuple[int, int]:
    """The characters of the likeliest words of a text, whole, from the logits of the first and last of its tokens."""
    if not offsets:
        return 0, 0
    first, last, _ = best_ends(ends[: len(offsets)])
    start, end = offsets[first][0], offsets[last][1]
    inside = [word.span() for word in _WORD.finditer(text) if word.start() < end and word.end() > start]
    return min(start, *(a for a, _ in inside), end), max(end, *(b for _, b in inside), start)
