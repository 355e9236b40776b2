"""Count the time between dates, which a chat model is not trusted with.

For the reader without one: how long ago, how long between, which came first, and how old somebody was on a day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import combinations
from typing import Literal

import number_parser  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from graph.language.patterns import first_search, phrasing_list, phrasings
from graph.understanding.sentences import capitalise
from graph.understanding.times import day_happened, stated_time, when_happened
from memory.dates.expressions import TimeExpression
from memory.formatting import format_day
from memory.types import Memory

AMONG = 8
"""Number of best memories between which all intervals are given: 28 pairs; 20 memories would make 190."""

_FORMS = phrasings("intervals")

LONGEST = 400
"""Most characters of a question that is parsed: on a pasted page the patterns would be slow."""

_APART = phrasing_list("intervals", "apart")
ASKS_AGE, ASKS_LASTING = _FORMS["asks_age"], _FORMS["asks_lasting"]
"""Ask how old somebody is, and how long something has been going on."""


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
    if match := first_search(_APART, text):
        return Comparison("apart", (match["a"].strip(), match["b"].strip()))
    if match := _FORMS["order"].search(text):
        return Comparison("last" if match["last"] else "first", (match["a"].strip(), match["b"].strip()))
    return None


def compare_days(compared: Comparison, days: Sequence[date]) -> str:
    """The answer to a comparison of two days."""
    first, second = days
    if compared.asks == "apart":
        return f"{length(first, second)}, from {format_day(min(days))} to {format_day(max(days))}."
    order = sorted(zip(days, compared.sides, strict=True), reverse=compared.asks == "last")
    (day, side), (other_day, _) = order
    return f"{capitalise(side)}, on {format_day(day)}. The other was on {format_day(other_day)}."


def ago(day: date, asked_on: date) -> str:
    """How long ago a day was on the day of asking, or how far ahead."""
    if day == asked_on:
        return "Today"
    return f"{length(day, asked_on)} {'ago' if day < asked_on else 'from now'}"


OLDEST = 120
"""Numbers above it are no ages."""


def age_in(words: str) -> int | None:
    """The age in years that words tell ("thirteen", "9 years old"); None if they tell none, or several."""
    ages = [int(match["years"]) for match in _FORMS["age"].finditer(number_parser.parse(words))]
    return ages[0] if len(ages) == 1 and ages[0] <= OLDEST else None


def ages_on(days: tuple[date, date], age: int, told: str, told_on: date, named: date | None) -> list[int]:
    """The ages possible from the first of two days to the last, of somebody who was `age` when it was told.

    Args:
        days: The first and the last day asked about.
        age: The age that was told.
        told: The sentence that told it: "Turned thirteen in November" tells the birthday, too.
        told_on: The day it was said on.
        named: The day that the sentence names, if any.
    """
    if _FORMS["birthday"].search(told):
        ages = {age + _years(named or told_on, day) for day in days}
    else:  # the birthday may be on any day of the year
        ages = {age + _years(told_on, day) + more for day in days for more in ((0, 1) if day != told_on else (0,))}
    return sorted(possible for possible in ages if possible >= 0)


def _years(start: date, end: date) -> int:
    """Whole years from one day to another, rounded down."""
    apart = relativedelta(end, start)
    return int(apart.years) - ((apart.months, apart.days) < (0, 0))


_DAYS = {"year": 365.25, "month": 30.44, "week": 7.0, "day": 1.0}


def duration_by_now(question: str, words: str, told_on: date, asked_on: date) -> str | None:
    """The duration that was told plus the time since: "8 months", on the day of asking.

    In the unit asked for, or the largest of which it is two or more. None if no duration is told, or if it has not
    grown by one of its units.
    """
    found = list(_FORMS["duration"].finditer(number_parser.parse(words)))
    if len(found) != 1:
        return None
    unit, count, passed = found[0]["unit"].lower(), int(found[0]["count"]), (asked_on - told_on).days
    if passed < _DAYS[unit]:
        return None
    days = count * _DAYS[unit] + passed
    asked = ASKS_LASTING.search(question)
    largest = next((name for name, in_days in _DAYS.items() if days >= 2 * in_days), "day")
    wanted = asked["unit"].lower() if asked and asked["unit"] else largest
    return _count(int(days / _DAYS[wanted] + 0.1), wanted)


def asks_interval(question: str) -> bool:
    """Whether a question may need the intervals between memories."""
    return bool(_FORMS["compares"].search(question))


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


def memory_time(memory: Memory) -> TimeExpression | None:
    """When what a whole memory tells of happened, if its event or the one time in its words says so."""
    stated = stated_time(memory.text, memory.said_at)
    return when_happened(memory, [stated] if stated else [])


def pair_intervals(memories: Sequence[tuple[int, Memory]], asked_at: datetime) -> list[str]:
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
