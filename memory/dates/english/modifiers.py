"""Modifiers: words before or after a time that change it ("early", "the Sunday before", "morning", "last year")."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, Stretch, Tense, run_of_days, unit_at
from memory.dates.rules import CLOCK, COUNT, FULL_WEEKDAY, PART, Kind, Match, Resolve, compile_spaced

Change = Callable[[Match, Stretch], Stretch | None]
Wrap = Callable[[Match, Resolve], Resolve]

EVERY_KIND: frozenset[Kind] = frozenset({"plain", "recurring", "count"})


@dataclass(frozen=True, slots=True)
class Modifier:
    """A pattern next to a time, the kinds of time it applies to, and how it changes the time's resolver.

    The new resolver returns None for a stretch that the modifier does not apply to ("early" and a day).
    """

    pattern: re.Pattern[str]
    wrap: Wrap
    kinds: frozenset[Kind] = EVERY_KIND


def prefix(pattern: str, wrap: Wrap, kinds: frozenset[Kind] = EVERY_KIND) -> Modifier:
    """Compile a modifier before a time; a space matches any run of spaces."""
    return Modifier(compile_spaced(rf"(?<!\w)(?:{pattern})\Z"), wrap, kinds)


def suffix(pattern: str, wrap: Wrap, kinds: frozenset[Kind] = EVERY_KIND) -> Modifier:
    """Compile a modifier after a time; a space matches any run of spaces."""
    return Modifier(compile_spaced(rf"(?:{pattern})(?!\w)"), wrap, kinds)


def transforming(change: Change) -> Wrap:
    """Turn a function of a modifier and a stretch into one of a modifier and a resolver."""

    def wrap(match: Match, resolve: Resolve) -> Resolve:
        def changed(now: datetime, tense: Tense) -> Stretch | None:
            stretch = resolve(now, tense)
            return None if stretch is None else change(match, stretch)

        return changed

    return wrap


@transforming
def third_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The "early", "mid" or "late" third: of a month by tens of days, of a year by months, of a week by days."""
    third = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(match["third"].lower().split()[0], 2)
    start, days = stretch.start, (stretch.end - stretch.start).days
    if stretch.unit not in {"week", "month", "season", "quarter", "year", "decade"}:
        return None
    if stretch.unit == "month":
        edges = [start, start + 10 * DAY, start + 20 * DAY, stretch.end]
    elif stretch.unit == "week":
        edges = [start, start + 2 * DAY, start + 5 * DAY, stretch.end]
    else:
        length = round(days / 30.44)
        edges = [calendar.shift_months(start, length * n // 3) for n in range(4)]
    return Stretch(edges[third], edges[third + 1], sure=False)


@transforming
def nth_part_of(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "the first week of", "the last two days of", "the second Friday of"."""
    part = _nth_unit(match, stretch)
    if part is None or not stretch.start <= part.start < stretch.end:
        return None
    if part.unit == "weekend":
        return part  # one that begins in May is a weekend of May
    return (
        replace(part, end=min(part.end, stretch.end)) if part.end - part.start < stretch.end - stretch.start else None
    )


def _nth_unit(match: Match, stretch: Stretch) -> Stretch | None:
    nth, unit = rules.ordinal_of(match["nth"]), match["unit"].lower()
    count = rules.count_of(match["count"])[1] if match["count"] else 1
    weekday = _first_weekday(unit)
    if weekday is not None:
        first = calendar.nth_weekday(stretch, weekday, nth)
        return None if first is None else _days_from(first, unit)
    match unit, stretch.unit:
        case "half" | "quarter", "year":
            return _block(stretch, nth, 6 if unit == "half" else 3, by_month=True)
        case "half", "month":
            middle = stretch.start + 15 * DAY
            return Stretch(stretch.start, middle) if nth == 1 else Stretch(middle, stretch.end)
        case "month", _:
            return _block(stretch, nth, count, "month" if count == 1 else "span", by_month=True)
        case "week", _:
            return _block(stretch, nth, 7 * count)
        case "day", _:
            return _block(stretch, nth, count, "day")
    return None


def _block(stretch: Stretch, nth: int, size: int, unit: calendar.Unit = "span", *, by_month: bool = False) -> Stretch:
    def moved(start: datetime, count: int) -> datetime:
        return calendar.shift_months(start, count) if by_month else start + count * DAY

    if nth < 0:
        return Stretch(moved(stretch.end, -size), stretch.end, unit)
    return Stretch(moved(stretch.start, size * (nth - 1)), moved(stretch.start, size * nth), unit)


@transforming
def neighbour_of(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "the week of", "the day before", "the Sunday after" a time."""
    unit, way = match["unit"].lower(), match["way"].lower().split()[0]
    weekday, earlier = _first_weekday(unit), way in {"before", "prior", "preceding"}
    if way == "of":
        return unit_at(unit, stretch.start) if rules.named_weekday(unit) is None else None  # not "the Friday of"
    if weekday is None:
        return unit_at(unit, stretch.start, -1) if earlier else unit_at(unit, stretch.end - timedelta(seconds=1), 1)
    if not earlier:
        return _days_from(calendar.weekday_after(stretch.end, weekday), unit)
    # A weekend that contains the time is not the one before it.
    edge = stretch.start - DAY if unit == "weekend" else stretch.start
    return _days_from(calendar.weekday_before(edge, weekday), unit)


def _first_weekday(unit: str) -> int | None:
    """The weekday that a weekend or a named weekday begins with; None for other units."""
    return 5 if unit == "weekend" else rules.named_weekday(unit)


def _days_from(first: datetime, unit: str) -> Stretch:
    return run_of_days(first, 2, "weekend") if unit == "weekend" else calendar.day_at(first)


@transforming
def distance_from(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "two days before", "a week after" a time."""
    least, most = rules.count_of(match["count"])
    later = match["way"].lower().startswith("after")
    edge, sign = (stretch.end - DAY, 1) if later else (stretch.start, -1)
    sure = not rules.is_vague_count(match["count"])
    away = calendar.units_away(match["unit"].lower(), edge, sign * least, sign * most, sure=sure)
    return away if least == most else replace(away, unit="span")


@transforming
def part_of_day_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The morning, afternoon, evening or night of a day."""
    return calendar.part_of_day(stretch.start, match["part"].lower()) if _is_day(stretch) else None


@transforming
def clock_time_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The minute of a day at "13:56", the hour at "5 pm"."""
    clock = re.sub(r"[\s.]", "", match["clock"].lower())
    clock = {"noon": "12", "midnight": "24"}.get(clock, clock)
    hour, minute, *_ = *(int(number) for number in re.findall(r"\d+", clock)), 0
    if clock.endswith("m"):
        hour = hour % 12 + (12 if clock.endswith("pm") else 0)
    if not _is_day(stretch) or hour > 24 or minute > 59:
        return None
    start = stretch.start + timedelta(hours=hour, minutes=minute)
    if ":" in clock:
        return Stretch(start, start + timedelta(minutes=1), "minute")
    return Stretch(start, start + timedelta(hours=1), "hour")


def _is_day(stretch: Stretch) -> bool:
    return stretch.unit == "day" and stretch.end - stretch.start == DAY


def within_unit(match: Match, resolve: Resolve) -> Resolve:
    """The occurrence within "last year", "this month", "two years ago" ("in May last year")."""

    def resolved(now: datetime, tense: Tense) -> Stretch | None:
        if match["ago"]:
            outer = unit_at("year", now, -rules.count_of(match["ago"])[0])
        else:
            outer = unit_at(match["unit"].lower(), now, {"last": -1, "next": 1}.get(rules.choice_of(match["which"]), 0))
        inner = resolve(outer.end, "past")
        return inner if inner and outer.start <= inner.start < outer.end else None

    return resolved


@transforming
def mark_vague(match: Match, stretch: Stretch) -> Stretch:
    """The same stretch, marked as vague ("around May", "almost two years ago")."""
    return replace(stretch, sure=False)


RECURRING: frozenset[Kind] = frozenset({"recurring"})
COUNTED: frozenset[Kind] = frozenset({"count"})
NTH = r"first|second|third|fourth|fifth|last|final|1st|2nd|3rd|4th|5th"

OF_DAY = "day|night|week|weekend|month|year|morning|afternoon|evening"

PREFIXES = (
    prefix(
        r"(?:the )?(?:very )?(?P<third>early|mid|late|(?:beginning|start|middle|end) of)(?: |-)(?:the |in )?",
        third_of,
    ),
    prefix(
        rf"(?:the )?(?P<nth>{NTH}) (?:(?P<count>{COUNT}) )?"
        rf"(?P<unit>day|week|weekend|month|half|quarter|{FULL_WEEKDAY})s? (?:of|in) (?:the )?",
        nth_part_of,
    ),
    prefix(
        rf"(?P<count>{COUNT}) (?P<unit>day|week|month|year)s? (?P<way>before|after|prior to) (?:the )?",
        distance_from,
    ),
    prefix(
        rf"the (?P<unit>{OF_DAY}|{FULL_WEEKDAY}) (?P<way>before|after|following|of|prior to|preceding) (?:the )?",
        neighbour_of,
    ),
    prefix(
        r"(?P<ago>)(?P<which>last|this|next) (?P<unit>year|month|week)(?:['’]s|,? (?:in|on|at|during))? (?:the )?",
        within_unit,
        RECURRING,
    ),
    prefix(r"(?:about|almost|nearly|(?:just )?(?:over|under)|more than|less than|at least) ", mark_vague, COUNTED),
    prefix(
        r"(?:around|roughly|approximately|circa|probably|maybe|perhaps|sometime(?: in| around| during)?) (?:the )?",
        mark_vague,
    ),
)
SUFFIXES = (
    suffix(
        r",? (?:of |in )?(?:the )?(?:(?P<which>last|this|next) (?P<unit>year|month|week)"
        r"|(?P<ago>\d\d?|a|two|three|four|five) years? ago)",
        within_unit,
        RECURRING,
    ),
    suffix(rf",?(?: in the| at)? (?P<part>{PART})", part_of_day_of),
    suffix(rf",? (?:at |around |about |@ ?)?(?P<clock>{CLOCK})", clock_time_of),
)
