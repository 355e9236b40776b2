"""Whether a memory is of a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.dates.expressions import TimeExpression, find_times
from memory.search.scoring import FADE_AFTER
from memory.types import SEMANTIC, Hit, Memory, TimeSpan


def meets(hit: Hit, span: TimeSpan) -> bool:
    """Whether a memory held, happened, tells of, or was said in the span; what has no time may be of any."""
    memory = hit.memory
    if memory.store in SEMANTIC and memory.event is None and memory.valid_from is not None:
        return memory.valid_from < span.end and (memory.valid_to is None or memory.valid_to > span.start)
    if memory.event is not None and memory.event.meets(span):
        return True
    if memory.said_at is None:
        return memory.event is None
    return _day(memory.said_at).meets(span) or any(t.span.meets(span) for t in find_times(memory.text, memory.said_at))


def may_tell_of(hit: Hit, span: TimeSpan) -> bool:
    """Whether it is of the time, or was said within days after it and names no time of its own."""
    memory = hit.memory
    if meets(hit, span) or memory.said_at is None or memory.event is not None:
        return meets(hit, span)
    soon = timedelta(seconds=FADE_AFTER)
    return span.end <= memory.said_at < span.end + soon and not find_times(memory.text, memory.said_at)


def happened(text: str, said_at: datetime) -> TimeExpression | None:
    """When what is told happened; a guess ("recently") or an open stretch ("before May") is no date for it."""
    return next((time for time in find_times(text, said_at) if time.sure and time.relation == "in"), None)


def is_dated(memory: Memory) -> bool:
    """Whether anything tells when it happened or was said."""
    return memory.event is not None or memory.said_at is not None


def _day(moment: datetime) -> TimeSpan:
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return TimeSpan(start.astimezone(UTC), (start + timedelta(days=1)).astimezone(UTC))
