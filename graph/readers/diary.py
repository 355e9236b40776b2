"""Answer what is on at a time ahead ("What's on this week?"): what was told of it, in the order of its days."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from graph.language.patterns import pattern
from graph.state import Ask, Citation, Reading
from graph.understanding.times import describe_plan
from memory.bank.queries.told import upcoming

if TYPE_CHECKING:
    from memory.bank.bank import Bank
    from memory.dates.expressions import TimeExpression
    from memory.types import Memory, TimeSpan

CONSIDERED, LISTED = 200, 8
"""Plans that are looked at, and most that are listed."""

A_WEEK = timedelta(days=7)
"""Longest plan of a day or a few: what is to be "in December" is none."""

_PAST = pattern(r"\b(?:did|was|were|has|had|happened|have (?:I|we|you|they)\b(?! got\b))")


def plans(question: str, window: Sequence[TimeExpression], ask: Ask, bank: Bank) -> list[Memory]:
    """What was told of the times that a question asks about and that is not over; none if it asks what has been."""
    if not window or ask.handed_in or ask.only_found or _PAST.search(question):
        return []

    def is_then(event: TimeSpan) -> bool:
        longest = max(A_WEEK, *(time.span.end - time.span.start for time in window))
        return event.end - event.start <= longest and any(event.overlaps(time.span) for time in window)

    ahead = upcoming(bank, ask.persona.id, ask.as_of, CONSIDERED)
    return [memory for memory in ahead if memory.event and is_then(memory.event)][:LISTED]


def list_plans(planned: Sequence[Memory], ask: Ask) -> Reading:
    """The plans, each with its day and its source."""
    lines = [f"{describe_plan(memory, ask.as_of)} [{number}]" for number, memory in enumerate(planned, 1)]
    citations = tuple(Citation(number, memory, memory.text, {}) for number, memory in enumerate(planned, 1))
    return Reading("\n".join(lines), citations=citations)
