"""Modifiers: words before or after a time that change it ("early", "the Sunday before", "morning", "last year")."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, Stretch, Tense, unit_at
from memory.dates.rules import Match, Resolve, compile_rules

Change = Callable[[Match, Stretch], Stretch | None]


def transform(change: Change, match: Match, resolve: Resolve) -> Resolve:
    """Change what a resolver returns by a modifier; None for what that does not apply to ("early" and a day)."""
    return lambda now, tense: change(match, stretch) if (stretch := resolve(now, tense)) else None


def third_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The "early", "mid" or "late" third: of a month by tens of days, of a year by months, of a week by days."""
    third = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1}.get(match["third"].lower().split()[0], 2)
    start, days = stretch.start, (stretch.end - stretch.start).days
    if cuts := {"month": (10, 20), "week": (2, 5)}.get(stretch.unit):
        edges = [start, *(start + day * DAY for day in cuts), stretch.end]
    elif stretch.unit in {"season", "quarter", "year", "decade"}:
        edges = [calendar.shift_months(start, round(days / 30.44) * n // 3) for n in range(4)]
    else:
        return None
    return Stretch(edges[third], edges[third + 1], sure=False)


def nth_part_of(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "the first week of", "the last two days of", "the second Friday of"."""
    part = _nth_unit(match, stretch)
    if part is None or not stretch.start <= part.start < stretch.end:
        return None
    if part.unit == "weekend":
        return part  # one that begins in May is a weekend of May
    is_shorter = part.end - part.start < stretch.end - stretch.start
    return replace(part, end=min(part.end, stretch.end)) if is_shorter else None


def _nth_unit(match: Match, stretch: Stretch) -> Stretch | None:
    nth = calendar.WORDS["ordinals"].get(match["nth"].lower()) or int(re.sub(r"\D", "", match["nth"]))
    unit = match["unit"].lower()
    count = rules.count_of(match["count"])[1] if match["count"] else 1
    weekday = _first_weekday(unit)
    if weekday is not None:
        return unit_at(unit, calendar.day_of_week(stretch.end if nth < 0 else stretch.start, weekday, nth))
    if (unit, stretch.unit) == ("half", "month"):
        middle = stretch.start + 15 * DAY
        return Stretch(stretch.start, middle) if nth == 1 else Stretch(middle, stretch.end)
    if unit in {"half", "quarter"} and stretch.unit != "year":
        return None
    size = calendar.length_of(unit, count)
    start = stretch.end - size if nth < 0 else stretch.start + size * (nth - 1)
    name = "day" if unit == "day" else "month" if unit == "month" and count == 1 else "span"
    return Stretch(start, stretch.end if nth < 0 else stretch.start + size * nth, name)


def neighbour_of(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "the week of", "the day before", "the Sunday after" a time."""
    unit, way = match["unit"].lower(), match["way"].lower().split()[0]
    weekday, earlier = _first_weekday(unit), way in {"before", "prior", "preceding"}
    if way == "of":
        return unit_at(unit, stretch.start) if rules.named_weekday(unit) is None else None  # not "the Friday of"
    if weekday is None:
        return unit_at(unit, stretch.start, -1) if earlier else unit_at(unit, stretch.end - timedelta(seconds=1), 1)
    if not earlier:
        return unit_at(unit, calendar.day_of_week(stretch.end, weekday, 1))
    # A weekend that contains the time is not the one before it.
    edge = stretch.start - DAY if unit == "weekend" else stretch.start
    return unit_at(unit, calendar.day_of_week(edge, weekday, -1))


def _first_weekday(unit: str) -> int | None:
    """The weekday that a weekend or a named weekday begins with; None for other units."""
    return 5 if unit == "weekend" else rules.named_weekday(unit)


def distance_from(match: Match, stretch: Stretch) -> Stretch | None:
    """Resolve "two days before", "a week after" a time."""
    least, most = rules.count_of(match["count"])
    later = match["way"].lower().startswith("after")
    edge, sign = (stretch.end - DAY, 1) if later else (stretch.start, -1)
    sure = not rules.is_vague_count(match["count"])
    away = calendar.units_away(match["unit"].lower(), edge, sign * least, sign * most, sure=sure)
    return away if least == most else replace(away, unit="span")


def part_of_day_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The morning, afternoon, evening or night of a day."""
    return calendar.part_of_day(stretch.start, match["part"].lower()) if _is_day(stretch) else None


def clock_time_of(match: Match, stretch: Stretch) -> Stretch | None:
    """The minute of a day at "13:56" or "13.56", the hour at "5 pm"."""
    clock = re.sub(r"\s|\.(?!\d)", "", match["clock"].lower()).replace(".", ":")
    clock = {"noon": "12", "midnight": "24"}.get(clock, clock)
    hour, minute, *_ = *(int(number) for number in re.findall(r"\d+", clock)), 0
    if clock.endswith("m"):
        hour = hour % 12 + (12 if clock.endswith("pm") else 0)
    if not _is_day(stretch) or hour > 24 or minute > 59:
        return None
    return calendar.clock_span(stretch.start + timedelta(hours=hour, minutes=minute), minutes=":" in clock)


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


def mark_vague(match: Match, stretch: Stretch) -> Stretch:
    """The same stretch, marked as vague ("around May", "almost two years ago")."""
    return replace(stretch, sure=False)


_CHANGES = (third_of, nth_part_of, neighbour_of, distance_from, part_of_day_of, clock_time_of, mark_vague)
_WRAPS = {"within_unit": within_unit, **{change.__name__: partial(transform, change) for change in _CHANGES}}
PREFIXES = compile_rules("prefixes", _WRAPS, end=r"\Z")
SUFFIXES = compile_rules("suffixes", _WRAPS, start="", end=r"(?!\w)")
