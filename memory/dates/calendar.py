"""Compute calendar spans in local time: the week that contains a moment, the month before, the nearest Easter.

Times are naive, because "yesterday" and "last week" begin at midnight in the speaker's time zone, which
`memory.dates.expressions` adds again. Weeks run from Monday to Monday. Seasons are the meteorological ones of the
northern hemisphere, named by the year they begin in (winter 2021 ends in February 2022).
"""

from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, datetime, timedelta
from functools import cache
from typing import Any, Literal

from dateutil.relativedelta import relativedelta, weekday  # type: ignore[import-untyped]
from dateutil.rrule import rrulestr  # type: ignore[import-untyped]

from memory import read_table

Which = Literal["last", "this", "next", "nearest"]
Tense = Literal["past", "present", "future", "untold"]
"""That of the sentence that names a time; "untold" if it says nothing else."""

PAST = ("past", "untold")

WORDS, PATTERNS = (read_table(__file__, name) for name in ("words.toml", "patterns.toml"))
"""The lists and tables of these files, by name."""

DAY = timedelta(days=1)
PARTS_OF_DAY = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
FIRST_MONTH_OF_SEASON = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
MONTHS_IN: dict[str, int] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
YEARS_LOOKED_AT = 8  # a 29 February is at most eight years away


@dataclass(frozen=True, slots=True)
class Stretch:
    """A half-open span of naive local time; `unit` is the calendar unit that it is, `sure` is False for a vague one."""

    start: datetime
    end: datetime
    unit: str = "span"
    sure: bool = True


def midnight(moment: datetime) -> datetime:
    """The start of the moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def run_of_days(first: datetime, count: int, unit: str = "span") -> Stretch:
    """`count` whole days, beginning with the day of `first`."""
    start = midnight(first)
    return Stretch(start, start + count * DAY, unit)


def shift_months(moment: datetime, count: int) -> datetime:
    """Move a moment by calendar months; 31 March less one month is 28 or 29 February."""
    moved: datetime = moment + relativedelta(months=count)
    return moved


def length_of(unit: str, count: int) -> Any:  # noqa: ANN401 - dateutil has no types
    """The length of `count` units, to add to a moment."""
    return relativedelta(**WORDS["lengths"][unit]) * count


def months(year: int, month: int, count: int, unit: str) -> Stretch:
    """`count` calendar months from one month of a year."""
    start = datetime(year, month, 1)
    return Stretch(start, shift_months(start, count), unit)


def season(year: int, name: str) -> Stretch:
    """A season by the year it begins in."""
    return months(year, FIRST_MONTH_OF_SEASON[name], 3, "season")


def part_of_day(moment: datetime, part: str) -> Stretch:
    """A part of the moment's day; its night ends at six the next morning."""
    first, last = PARTS_OF_DAY[part]
    start = midnight(moment)
    return Stretch(start + timedelta(hours=first), start + timedelta(hours=last), "part")


def clock_span(moment: datetime, *, minutes: bool) -> Stretch:
    """The minute of a moment, or its hour."""
    start = moment.replace(minute=moment.minute if minutes else 0, second=0, microsecond=0)
    return Stretch(start, start + timedelta(minutes=1 if minutes else 60), "minute" if minutes else "hour")


def unit_at(unit: str, moment: datetime, count: int = 0) -> Stretch:
    """The calendar unit that contains the moment, moved by `count` units; a named weekday is a day."""
    today = midnight(moment)
    if size := MONTHS_IN.get(unit):
        months_into = (12 * today.year + today.month - 1) % size
        first = shift_months(today.replace(day=1), size * count - months_into)
        return months(first.year, first.month, size, unit)
    if unit in {"week", "weekend"}:
        monday = today + (7 * count - today.weekday()) * DAY
        return run_of_days(monday, 7, unit) if unit == "week" else run_of_days(monday + 5 * DAY, 2, unit)
    day = today + count * DAY
    return part_of_day(day, unit) if unit in PARTS_OF_DAY else run_of_days(day, 1, "day")


def unit_away(unit: str, now: datetime, count: int) -> Stretch:
    """The time `count` units from now, as wide as people mean it (see the table in README.md)."""
    today = midnight(now)
    match unit:
        case "minute":
            return clock_span(now + timedelta(minutes=count), minutes=True)
        case "hour":
            middle = now.replace(second=0, microsecond=0) + timedelta(hours=count)
            return Stretch(middle - timedelta(minutes=30), middle + timedelta(minutes=30), "hour")
        case "week" | "fortnight":
            return run_of_days(today + ((7 if unit == "week" else 14) * count - 3) * DAY, 7)
        case "decade":
            first, last = unit_at("year", now, 10 * count - 2), unit_at("year", now, 10 * count + 2)
            return Stretch(first.start, last.end, sure=False)
        case _:
            return unit_at(unit, now, count)


def units_away(unit: str, now: datetime, near: int, far: int, *, sure: bool) -> Stretch:
    """From the time `near` units from now through the one `far` units from now, whichever is earlier."""
    one, other = unit_away(unit, now, near), unit_away(unit, now, far)
    return Stretch(min(one.start, other.start), max(one.end, other.end), one.unit, one.sure and sure)


def in_each_year(now: datetime, of_year: Callable[[int], Stretch | None]) -> Iterator[Stretch]:
    """What each year around now has of something; years without it are left out."""
    years = range(max(MINYEAR, now.year - YEARS_LOOKED_AT), min(MAXYEAR, now.year + YEARS_LOOKED_AT + 1))
    return filter(None, map(of_year, years))


def days_in(year: int, month: int, day: int, last_day: int | None = None) -> Stretch | None:
    """A day of a month, or a run of days; None in a year without that day."""
    count = (last_day or day) - day + 1
    if day + count - 1 > monthrange(year, month)[1]:
        return None
    return run_of_days(datetime(year, month, day), count, "day" if count == 1 else "span")


def weekdays(now: datetime, day: int) -> Iterator[Stretch]:
    """The days of one weekday (0 is Monday) in the two weeks before and after now's week."""
    monday = midnight(now) - now.weekday() * DAY
    return (unit_at("day", monday + (7 * week + day) * DAY) for week in range(-2, 3))


def choose(occurrences: Iterable[Stretch], now: datetime, which: Which, tense: Tense, cycle: str) -> Stretch | None:
    """Choose one of the occurrences, given in time order.

    "last" is over before today begins; "next" begins after today; "this" contains now or begins in the `cycle` (week,
    month or year) that does, a weekday not before today unless in the past; "nearest" is the latest that has begun or,
    if not in the past, the first not yet over. Of those of years it is the least far away if no tense is told.
    """
    today, in_order = midnight(now), tuple(occurrences)
    ahead = next((one for one in in_order if one.start > today), None)
    if which == "this":
        around = unit_at(cycle, now)
        present = (one for one in in_order if one.start <= now < one.end)
        found = next(present, None) or next((o for o in in_order if around.start <= o.start < around.end), None)
        # On a Sunday, "we move this Friday" is not about the day before yesterday.
        return ahead if cycle == "week" and tense not in PAST and found and found.end <= today else found
    if which == "next":
        return ahead
    if which == "last":
        return next((one for one in reversed(in_order) if one.end <= today), None)
    if tense == "untold" and cycle == "year":
        return min(in_order, key=lambda one: abs(one.start - today), default=None)
    if tense not in PAST:
        return next((one for one in in_order if one.end > now), None)
    return next((one for one in reversed(in_order) if one.start <= now), None)


def day_of_week(moment: datetime, day: int, nth: int) -> datetime:
    """The nth (1, 2, ...) of a weekday from the moment's day on; of a negative nth, the nth back before that day."""
    found: datetime = midnight(moment) + relativedelta(days=-(nth < 0), weekday=weekday(day, nth))
    return found


HOLIDAYS: dict[str, tuple[str, int]] = WORDS["holidays"]


@cache
def holiday(year: int, name: str) -> Stretch:
    """A holiday in a year; Christmas is 24 to 26 December, Easter is Good Friday to Easter Monday."""
    rule, count = HOLIDAYS[name]
    return run_of_days(rrulestr(rule, dtstart=datetime(year, 1, 1))[0], count, "day")
