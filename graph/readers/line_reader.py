"""The trained reader: whether a line answers a question, with which of its words, and whether it says yes or no.

A cross-encoder of MiniLM's size: question and line are read together, in training and in use as

    [CLS] what did the glasses cost [SEP] line before [SEP] You, 3 March 2026, 61 days ago: picked the clear ones, £40

The answer is a span of the line's own words. Trained by `graph.training.reader` on all-MiniLM-L6-v2; the weights hold
all but the word embeddings, which the encoder has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memory.embedding import minilm
from memory.embedding.bert import MAX_CHARACTERS, Array
from memory.embedding.minilm import END, START, encode

WEIGHTS = Path(__file__).parents[2] / "assets" / "models" / "reader.safetensors"

QUESTION_TOKENS, BEFORE_TOKENS, LINE_TOKENS = 40, 28, 96
"""Most tokens read of a question, of the line before (its last), and of the line itself."""

LONGEST_ANSWER = 40
"""Most tokens of an answer."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line to read, with who said it, on which day, and the line that it answers, if any."""

    text: str
    speaker: str = ""
    said_on: date | None = None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A question and a line as token ids; `types` is 1 for the line and what names its speaker and day.

    `offsets` are the character spans in the line's text of the tokens from `first` on.
    """

    ids: list[int]
    types: list[int]
    first: int
    offsets: list[tuple[int, int]]


def tokens_of(question: str, asked_on: date | None, lines: Sequence[Line]) -> list[Tokens]:
    """The tokens of a question with each of several lines."""
    asked = [START, *encode([question])[0].ids[:QUESTION_TOKENS], END]
    befores = encode([line.before[-MAX_CHARACTERS:] for line in lines])
    heads = encode([_head(line, asked_on) for line in lines])
    result = []
    for before, head, line in zip(befores, heads, encode([line.text for line in lines]), strict=True):
        context = [*before.ids[-BEFORE_TOKENS:], END] if before.ids else []
        first_part, second_part = [*asked, *context], [*head.ids, *line.ids[:LINE_TOKENS], END]
        types = [0] * len(first_part) + [1] * len(second_part)
        first = len(first_part) + len(head.ids)
        result.append(Tokens([*first_part, *second_part], types, first, line.offsets[:LINE_TOKENS]))
    return result


def _head(line: Line, asked_on: date | None) -> str:
    day = f"{line.said_on.day} {line.said_on:%B %Y}" if line.said_on else ""
    age = f"{(asked_on - line.said_on).days} days ago" if asked_on and line.said_on else ""
    said = ", ".join(filter(None, [line.speaker, day, age]))
    return f"{said}:" if said else ""


class Calibration(NamedTuple):
    """How logits are turned into probabilities and lines compared; see `graph.training.reader_calibration`."""

    shift: float = 0.0
    temperature: float = 1.0
    similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class LineReading:
    """What a line says to a question.

    `logit` is the evidence that it answers, and `answers` the probability: from 0.5 on it is worth giving. `span` are
    the characters of the answer in it, `sure` is the probability that these are the right ones, and `yes` that it says
    yes, if the question asks for that.
    """

    logit: float
    answers: float
    span: tuple[int, int]
    sure: float
    yes: float


class LineReader:
    """Reads lines for a question; safe to share among threads. The weights are loaded when it first reads."""

    def __init__(self, path: Path) -> None:
        self._network = minilm.TrainedNetwork(path, "line", "ends")

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that is stored with the weights."""
        return Calibration(*self._network.weights["calibration"].tolist())

    def load(self) -> None:
        """Load the weights unless they are loaded."""
        self._network.load()

    def read(self, question: str, asked_on: date | None, lines: Sequence[Line]) -> list[LineReading]:
        """Read each of several lines for a question."""
        texts = tokens_of(question, asked_on, lines)
        computed = self._network.compute([text.ids for text in texts], [text.types for text in texts])
        return [self._found(text, line[0].tolist(), ends) for text, (line, ends) in zip(texts, computed, strict=True)]

    def _found(self, text: Tokens, line: list[float], ends: Array) -> LineReading:
        """What a line says, from its two logits and those of its tokens, (tokens, 2)."""
        from scipy.special import expit  # not before a message is read: SciPy is slow to import

        logit, yes = line
        if not text.offsets:
            return LineReading(-math.inf, 0.0, (0, 0), 0.0, 0.5)
        answers = expit((logit - self.calibration.shift) / self.calibration.temperature)
        start, end, sure = best_ends(ends[text.first :][: len(text.offsets)])
        span = text.offsets[start][0], text.offsets[end][1]
        return LineReading(logit, float(answers), span, sure, float(expit(yes)))

    def evidence(self, found: LineReading, cosine: float) -> float:
        """What orders lines, the best first, from what a line says and its cosine to the question."""
        return found.logit + self.calibration.similarity * cosine


@cache
def packaged() -> LineReader:
    """The reader with the weights of the package; loaded once in a process."""
    return LineReader(WEIGHTS)


def best_ends(ends: Array) -> tuple[int, int, float]:
    """The likeliest first and last token of an answer and their probability, from the logits of both, (tokens, 2)."""
    scores = ends[:, None, 0] + ends[None, :, 1]
    scores = np.where(np.tril(np.triu(np.ones_like(scores)), LONGEST_ANSWER - 1) > 0, scores, -np.inf)
    best = int(scores.argmax())
    start, end = divmod(best, len(ends))
    sure = float(1 / np.exp(scores - scores.flat[best]).sum())
    return start, end, sure
