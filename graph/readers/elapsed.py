"""Answer how long ago, how long between and which came first, by counting the days that notes are of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from graph.readers.intervals import length

LONGEST = 400
"""Characters of a question that compares two things; the patterns would try a pasted page anew at every word."""

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
class Compared:
    """A question about two things and the time between them: how far they are `apart`, which was `first`, or `last`."""

    asks: Literal["apart", "first", "last"]
    sides: tuple[str, str]


def parse(text: str) -> Compared | None:
    """The two things that a question compares in time; None if it does not."""
    text = text.strip().rstrip("?？. ")
    if len(text) > LONGEST:
        return None
    for pattern in _APART:
        if found := pattern.search(text):
            return Compared("apart", (found["a"].strip(), found["b"].strip()))
    if found := _ORDER.search(text):
        return Compared("last" if found["last"] else "first", (found["a"].strip(), found["b"].strip()))
    return None


def told(compared: Compared, days: Sequence[date]) -> str:
    """What the two days say to the question."""
    first, second = days
    if compared.asks == "apart":
        return f"{length(first, second)}, from {_said(min(days))} to {_said(max(days))}."
    order = sorted(zip(days, compared.sides, strict=True), reverse=compared.asks == "last")
    (day, side), (other_day, _) = order
    return f"{side[:1].upper()}{side[1:]}: {_said(day)}; the other on {_said(other_day)}."


def ago(day: date, asked_on: date) -> str:
    """How long before the day of asking it was, or after."""
    if day == asked_on:
        return "Today"
    return f"{length(day, asked_on)} {'ago' if day < asked_on else 'from now'}"


def _said(day: date) -> str:
    return f"{day.day} {day:%B %Y}"
