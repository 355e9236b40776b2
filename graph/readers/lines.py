"""Put a question and one remembered line into the tokens that the trained reader reads.

    [CLS] what did the glasses cost [SEP] line before [SEP] You, 3 March 2026, 61 days ago: picked the clear ones, £40

The answer is a span of the line's own words. Training and use share this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from memory.embedding import minilm

if TYPE_CHECKING:
    from tokenizers import Encoding

START, END = 101, 102
"""Token ids of [CLS] and [SEP]."""

QUESTION_TOKENS, BEFORE_TOKENS, LINE_TOKENS = 40, 28, 96
"""Most tokens read of a question, of the line before (its last), and of the line itself."""


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
    asked = [START, *_encode([question])[0].ids[:QUESTION_TOKENS], END]
    befores, heads = _encode([line.before for line in lines]), _encode([_head(line, asked_on) for line in lines])
    result = []
    for before, head, line in zip(befores, heads, _encode([line.text for line in lines]), strict=True):
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


def _encode(texts: Sequence[str]) -> list[Encoding]:
    encoded: list[Encoding] = _tokenizer().encode_batch(list(texts), add_special_tokens=False)
    return encoded


_tokenizer = cache(minilm.tokenizer)
