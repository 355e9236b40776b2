"""Choose when a question is asked, and when its evidence was said (LongMemEval, section 3.2 and appendix A.2).

Statements of knowledge updates and temporal reasoning have days of their own; the others are said on different days
shortly before the question, as the paper draws dates where they do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from eval.benchmarks.longmemeval.generation.draft import LeftOut

if TYPE_CHECKING:
    from random import Random

FIRST_DAY, DAYS = date(2023, 1, 1), 365
"""When questions are asked."""

RECENT = 10
"""Days before the question on which statements without a day of their own are said; more than a question has."""

LONGEST = timedelta(days=366)
"""How long before its question a statement may be dated."""

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def draw_day(draw: Random) -> date:
    """A day on which questions are asked."""
    return FIRST_DAY + timedelta(days=draw.randrange(DAYS))


def draw_moment(day: date, draw: Random) -> datetime:
    """A moment of a day when people are awake."""
    return datetime.combine(day, time(draw.randint(7, 22), draw.randrange(60)))


def recent_days(count: int, today: date, draw: Random) -> list[date]:
    """Different days shortly before today, in any order."""
    return [today - timedelta(days=ago) for ago in draw.sample(range(1, RECENT + 1), count)]


def read_days(texts: Sequence[str], today: date) -> list[date]:
    """The days that a model gave.

    Raises:
        LeftOut: one cannot be read, is not in the year before today, or comes twice.
    """
    days = [day for text in texts if (day := parse_day(text))]
    if len(days) < len(texts):
        raise LeftOut("a day that cannot be read")
    if not all(today - LONGEST <= day < today for day in days):
        raise LeftOut("a day that is not in the year before the question")
    if len(set(days)) < len(days):
        raise LeftOut("two statements of one day")
    return days


def parse_day(text: str) -> date | None:
    """A day as YYYY-MM-DD; None if it is written in another way, or there is no such day."""
    if not _DAY.fullmatch(text.strip()):
        return None
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        return None
