"""Count the time between two dates, which a chat model is not trusted with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from itertools import combinations
from typing import TYPE_CHECKING

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from graph.understanding.times import Occurrence, day_happened, times_in, when_happened

if TYPE_CHECKING:
    from memory.types import Memory

AMONG = 8
"""Number of best memories between which all intervals are given: 28 pairs; 20 memories would make 190."""

_COMPARES = re.compile(
    r"\b(?:how (?:long|many|much)|when|before|after|between|since|until|till|ago|first|last|latest|earliest|earlier"
    r"|later|sooner|order|days?|weeks?|months?|years?|passed|elapsed|apart)\b|多久|几天|多少|之前|之后|先|后",
    re.IGNORECASE,
)


def compares(question: str) -> bool:
    """Whether a question may need the intervals between memories."""
    return bool(_COMPARES.search(question))


def length(first: date, second: date) -> str:
    """Whole days between two dates, also in weeks and in months: "45 days (6 weeks 3 days; 1 month 14 days)"."""
    start, end = sorted((first, second))
    days = (end - start).days
    if days < 7:
        return _count(days, "day")
    apart = relativedelta(end, start)
    weeks = _joined([(days // 7, "week"), (days % 7, "day")])
    months = _joined([(apart.years, "year"), (apart.months, "month"), (apart.days, "day")])
    return f"{_count(days, 'day')} ({weeks}{f'; {months}' if days > 27 else ''})"


def memory_time(memory: Memory) -> Occurrence | None:
    """When what a whole memory tells of happened, if its event or the one time in its words says so."""
    return when_happened(memory, times_in(memory.text, memory.said_at), unambiguous=True)


def between(memories: Sequence[tuple[int, Memory]], asked_at: datetime) -> list[str]:
    """A line for each pair of days that numbered memories are of: "from 1, 2 to 3: 45 days (...)"."""
    of_day: dict[date, list[int]] = {}
    for number, memory in memories:
        day = day_happened(memory, memory_time(memory), asked_at.tzinfo)
        if day is not None:
            of_day.setdefault(day, []).append(number)
    return [
        f"from {', '.join(map(str, of_day[a]))} to {', '.join(map(str, of_day[b]))}: {length(a, b)}"
        for a, b in combinations(sorted(of_day), 2)
    ]


def _joined(parts: Sequence[tuple[int, str]]) -> str:
    return " ".join(_count(n, unit) for n, unit in parts if n)


def _count(n: int, unit: str) -> str:
    return f"{n} {unit}" + ("" if n == 1 else "s")
