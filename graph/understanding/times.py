"""When something happened: what a text says of it, and what the bank knows of a memory."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache

from memory.dates.expressions import TimeExpression, describe_span, find_times, sole_time
from memory.formatting import format_day
from memory.search.scoring import FADE_AFTER
from memory.types import SEMANTIC, Memory, TimeSpan

DAY = timedelta(days=1)

ANY_DAY = datetime(2024, 1, 1, tzinfo=UTC)
"""Which words name a time ("Friday") does not depend on the day they are said."""

WEEK_DAYS = 7
"""Days of which each is known by its weekday."""


def times_in(text: str, said_at: datetime | None) -> tuple[TimeExpression, ...]:
    """The times that a text names and does not deny; none if it is not known when it was said.

    The nodes of a turn ask for the same texts, so each is parsed once.
    """
    return _parse(text, said_at, said_at.tzinfo) if said_at is not None else ()


@lru_cache(maxsize=1024)
def _parse(text: str, said_at: datetime, zone: tzinfo | None) -> tuple[TimeExpression, ...]:
    # Moments of two zones may be equal and yet of two days, so the zone is part of the key.
    return tuple(time for time in find_times(text, said_at) if time.relation != "not")


def stated_time(text: str, said_at: datetime | None) -> TimeExpression | None:
    """When what a text states happened, if it names one time for it.

    A guess ("recently") or an open stretch ("before May") is no date for it, and one of two is none for the whole.
    """
    return sole_time(times_in(text, said_at))


def when_happened(memory: Memory, named: Sequence[TimeExpression]) -> TimeExpression | None:
    """When what a memory tells of happened: its event time, else the first sure time among `named`, else a guess.

    `named` are the times in the words that are looked at. An event time has no words; a guess is not `sure`.
    """
    if memory.event is not None:
        return TimeExpression("", 0, 0, memory.event)
    inside = [time for time in named if time.relation == "in"]
    return next((time for time in inside if time.sure), next(iter(inside), None))


def day_happened(memory: Memory, occurrence: TimeExpression | None, zone: tzinfo | None) -> date | None:
    """The day of an occurrence, or on which it was said if nothing says for sure; None for a longer time."""
    if occurrence is not None and occurrence.sure:
        span = occurrence.span
        return span.start.astimezone(zone).date() if span.end - span.start <= DAY else None
    return memory.said_at.astimezone(zone).date() if memory.said_at else None


def moment_of(memory: Memory) -> datetime | None:
    """The beginning of a memory's event, or when it was said."""
    return memory.event.start if memory.event else memory.said_at


def describe_ahead(span: TimeSpan, now: datetime) -> str:
    """A span of the next days as one says it: "tomorrow", "Saturday, 16:00"; else with its date."""
    start, end = span.start.astimezone(now.tzinfo), span.end.astimezone(now.tzinfo)
    said, days = describe_span(TimeSpan(start, end)), (start.date() - now.date()).days
    if end - start > DAY or not 0 <= days < WEEK_DAYS:
        return said
    return said.replace(format_day(start), ("today", "tomorrow")[days] if days < 2 else f"{start:%A}")


def is_of_time(memory: Memory, span: TimeSpan) -> bool:
    """Whether a memory held, happened, tells of, or was said in the span; what has no time may be of any."""
    if memory.store in SEMANTIC and memory.event is None and memory.valid_from is not None:
        return memory.valid_from < span.end and (memory.valid_to is None or memory.valid_to > span.start)
    if memory.event is not None and memory.event.overlaps(span):
        return True
    if memory.said_at is None:
        return memory.event is None
    named = (time.span for time in times_in(memory.text, memory.said_at))
    return any(each.overlaps(span) for each in (day_said(memory.said_at), *named))


def day_said(said_at: datetime) -> TimeSpan:
    """The day of a moment, in the zone of who spoke."""
    start = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    return TimeSpan(start, start + DAY)


def may_tell_of_time(memory: Memory, span: TimeSpan) -> bool:
    """Whether it is of the time, or was said within days after it and names no time of its own."""
    if is_of_time(memory, span):
        return True
    if memory.said_at is None or memory.event is not None:
        return False
    soon = timedelta(seconds=FADE_AFTER)
    return span.end <= memory.said_at < span.end + soon and not times_in(memory.text, memory.said_at)
