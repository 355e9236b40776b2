"""Answer how long ago, how long between and which came first, by counting the days that notes are of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from graph.readers.intervals import length
from graph.understanding.times import describe_day

LONGEST = 400
"""Most characters of a question that is parsed: on a pasted page the patterns would be slow."""

_SPAN = r"\bhow (?:long|much time|many (?:day|week|month|year)s)\b"
_APART = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_SPAN}.*?\bbetween (?P<a>.+) and (?P<b>.+)",
        rf"{_SPAN} (?:before|after) (?P<a>.+?) (?:did|was|were|had) (?P<b>.+)",
        rf"{_SPAN}.*?\b(?:since|after|from) (?P<a>.+?) (?:when|until|till|before|to when) (?P<b>.+)",
        rf"{_SPAN} ago (?:did|was|were|had) (?P<a>.+?) when (?P<b>.+)",
    )
)
_ORDER = re.compile(
    r"\b(?:which|what|who)\b.*?\b(?:first|earlier|earliest|(?P<last>last|later|latest|more recent(?:ly)?))\b.*?[,:]\s*"
    r"(?P<a>.+?),? or (?P<b>.+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A question about two things: how far they are `apart`, or which was `first` or `last`."""

    asks: Literal["apart", "first", "last"]
    sides: tuple[str, str]


def parse(text: str) -> Comparison | None:
    """The two things that a question compares in time; None if it does not."""
    text = text.strip().rstrip("?？. ")
    if len(text) > LONGEST:
        return None
    for pattern in _APART:
        if found := pattern.search(text):
            return Comparison("apart", (found["a"].strip(), found["b"].strip()))
    if found := _ORDER.search(text):
        return Comparison("last" if found["last"] else "first", (found["a"].strip(), found["b"].strip()))
    return None


def compare_days(compared: Comparison, days: Sequence[date]) -> str:
    """The answer to a comparison of two days."""
    first, second = days
    if compared.asks == "apart":
        return f"{length(first, second)}, from {describe_day(min(days))} to {describe_day(max(days))}."
    order = sorted(zip(days, compared.sides, strict=True), reverse=compared.asks == "last")
    (day, side), (other_day, _) = order
    return f"{side[:1].upper()}{side[1:]}: {describe_day(day)}; the other on {describe_day(other_day)}."


def ago(day: date, asked_on: date) -> str:
    """How long ago a day was on the day of asking, or how far ahead."""
    if day == asked_on:
        return "Today"
    return f"{length(day, asked_on)} {'ago' if day < asked_on else 'from now'}"
