"""The trained reader: whether a line answers a question, with which of its words, and whether it says yes or no.

A cross-encoder: question and line are read together, in training and in use as

    [CLS] what did the glasses cost [SEP] said before [SEP] You, 3 March 2026, 61 days ago: picked the clear ones, £40

The answer is a span of the line's own words. There is a reader on each packaged encoder, trained further from it by
`graph.training.reader`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graph.understanding.classifier import MODELS
from memory.embedding import e5, minilm
from memory.embedding.bert import MAX_CHARACTERS, Array
from memory.embedding.embedder import DEFAULT_MODEL
from memory.embedding.networks import Parts, TrainedNetwork

PARTS = {e5.NAME: e5.packaged, minilm.NAME: minilm.packaged}
"""The encoders that have a reader."""

READER, YES_OR_NO = "reader", "yes_or_no"
"""The reader of all questions, and the one trained further on those that ask for yes or no."""

QUESTION_TOKENS, BEFORE_TOKENS, LINE_TOKENS = 40, 28, 96
"""Most tokens read of a question, of what was said before a line (its last), and of the line itself."""

LONGEST_ANSWER = 40
"""Most tokens of an answer."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line to read, with who said it, on which day, and what was said just before it: one turn or two."""

    text: str
    speaker: str = ""
    said_on: date | None = None
    before: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A question and a line as token ids; `types` is 1 for the line and what names its speaker and day.

    `offsets` are the character spans in the line's text of the tokens from `first` on, without a blank before a word.
    """

    ids: list[int]
    types: list[int]
    first: int
    offsets: list[tuple[int, int]]


def tokens_of(parts: Parts, question: str, asked_on: date | None, lines: Sequence[Line]) -> list[Tokens]:
    """The tokens of a question with each of several lines, by the words of an encoder."""
    asked = [parts.start, *parts.encode([question])[0].ids[:QUESTION_TOKENS], parts.end]
    befores = parts.encode([line.before[-MAX_CHARACTERS:] for line in lines])
    heads = parts.encode([_head(line, asked_on) for line in lines])
    texts = [line.text for line in lines]
    result = []
    for before, head, line, text in zip(befores, heads, parts.encode(texts), texts, strict=True):
        context = [*before.ids[-BEFORE_TOKENS:], parts.end] if before.ids else []
        first_part, second_part = [*asked, *context], [*head.ids, *line.ids[:LINE_TOKENS], parts.end]
        types = [0] * len(first_part) + [1] * len(second_part)
        first = len(first_part) + len(head.ids)
        offsets = [(end - len(text[start:end].lstrip()), end) for start, end in line.offsets[:LINE_TOKENS]]
        result.append(Tokens([*first_part, *second_part], types, first, offsets))
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
    yes, if the question asks for that. If a plan stands in the place of a question, `holds` is the probability that it
    still holds after this line.
    """

    logit: float
    answers: float
    span: tuple[int, int]
    sure: float
    yes: float
    holds: float


class LineReader:
    """Reads lines for a question; safe to share among threads. The weights are loaded when it first reads."""

    def __init__(self, encoder: str, path: Path | None = None) -> None:
        self._network = TrainedNetwork(PARTS[encoder], path or weights_of(encoder), "line", "ends", "holds")

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration that is stored with the weights."""
        return Calibration(*self._network.weight("calibration").tolist())

    def load(self) -> None:
        """Load the weights unless they are loaded."""
        self._network.load()

    def read(self, question: str, asked_on: date | None, lines: Sequence[Line]) -> list[LineReading]:
        """Read each of several lines for a question."""
        texts = tokens_of(self._network.parts, question, asked_on, lines)
        computed = self._network.compute([text.ids for text in texts], [text.types for text in texts])
        return [self._found(text, *each) for text, each in zip(texts, computed, strict=True)]

    def _found(self, text: Tokens, line: Array, ends: Array, holds: Array) -> LineReading:
        """What a line says, from the logits of its tokens, (tokens, 2) and (tokens, 1), of which the first is [CLS]."""
        from scipy.special import expit  # not before a message is read: SciPy is slow to import

        (logit, yes), (held,) = line[0].tolist(), holds[0].tolist()
        if not text.offsets:
            return LineReading(-math.inf, 0.0, (0, 0), 0.0, 0.5, 0.5)
        answers = expit((logit - self.calibration.shift) / self.calibration.temperature)
        start, end, sure = best_ends(ends[text.first :][: len(text.offsets)])
        span = text.offsets[start][0], text.offsets[end][1]
        return LineReading(logit, float(answers), span, sure, float(expit(yes)), float(expit(held)))

    def evidence(self, found: LineReading, cosine: float) -> float:
        """What orders lines, the best first, from what a line says and its cosine to the question."""
        return found.logit + self.calibration.similarity * cosine


def weights_of(encoder: str, reader: str = READER) -> Path:
    """The file with the weights of a reader on an encoder."""
    return MODELS / encoder / f"{reader}.safetensors"


@cache
def packaged(encoder: str, reader: str = READER) -> LineReader:
    """A reader on an encoder, or on the default one if this has none; loaded once in a process.

    Where none is for yes or no alone, the reader of all questions is it.
    """
    if encoder not in PARTS:
        return packaged(DEFAULT_MODEL, reader)
    path = weights_of(encoder, reader)
    return LineReader(encoder, path) if path.exists() else packaged(encoder)


def best_ends(ends: Array) -> tuple[int, int, float]:
    """The likeliest first and last token of an answer and their probability, from the logits of both, (tokens, 2)."""
    scores = ends[:, None, 0] + ends[None, :, 1]
    scores = np.where(np.tril(np.triu(np.ones_like(scores)), LONGEST_ANSWER - 1) > 0, scores, -np.inf)
    best = int(scores.argmax())
    start, end = divmod(best, len(ends))
    sure = float(1 / np.exp(scores - scores.flat[best]).sum())
    return start, end, sure
