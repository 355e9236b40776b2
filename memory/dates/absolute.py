"""Read absolute dates ("2018", "October 2021", "8 May 2023, 13:56"), mostly by `dateparser`.

`dateparser` gets only texts made of numbers and calendar words, with a year among them, because it otherwise reads
"2,000 steps" or "10 cats" as dates. The precision of the text decides the width of the result: a year, a month, a day,
an hour ("5 pm") or a minute ("13:56"). Results are naive local times unless the text names a time zone, which is then
kept in `start.tzinfo` and `end.tzinfo`.
"""

import re
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

from memory.dates.calendar import PATTERNS, Stretch, clock_span, day_at, months, unit_at

MAX_DATE_LENGTH = 60  # characters; "Wednesday, the 23rd of September 2023 at 11:45:00 p.m. UTC" has 58
YEAR_FIRST, CHINESE, CALENDAR_TEXT = (
    re.compile(pattern.replace("\n", ""), re.IGNORECASE if name == "calendar_text" else 0)
    for name, pattern in PATTERNS["absolute"].items()
)


@cache
def _parser(order: str) -> Any:  # noqa: ANN401 - dateparser has no stubs
    # Imported here because dateparser and its language data take a tenth of a second to load.
    from dateparser.date import DateDataParser

    return DateDataParser(
        languages=["en"],
        settings={
            "PARSERS": ["absolute-time"],
            "REQUIRE_PARTS": ["year"],
            "RETURN_TIME_AS_PERIOD": True,
            "DATE_ORDER": order,
            "PREFER_DAY_OF_MONTH": "first",
            "PREFER_MONTH_OF_YEAR": "first",
        },
    )


@lru_cache(maxsize=4096)
def read_absolute(text: str) -> Stretch | None:
    """Read an absolute date of any precision, or give None for anything else."""
    text = text.strip()
    if len(text) > MAX_DATE_LENGTH or not text.isprintable():
        return None
    try:
        if parts := YEAR_FIRST.fullmatch(text):
            return _from_numbers(parts)
        if parts := CHINESE.fullmatch(text):
            return _calendar_unit(int(parts["year"]), parts["month"], parts["day"])
        if re.fullmatch(r"[12]\d{3}", text):
            return _calendar_unit(int(text), None, None)
        return _from_library(text) if CALENDAR_TEXT.fullmatch(text) else None
    except (ValueError, OverflowError):  # a day the calendar does not have, a year past its end
        return None


def _calendar_unit(year: int, month: str | None, day: str | None) -> Stretch:
    if month is None:
        return months(year, 1, 12, "year")
    return day_at(datetime(year, int(month), int(day))) if day else months(year, int(month), 1, "month")


def _from_numbers(parts: re.Match[str]) -> Stretch | None:
    if not parts["clock"]:
        return _calendar_unit(int(parts["year"]), parts["month"], parts["day"])
    if not parts["day"]:
        return None
    day = f"{parts['year']}-{int(parts['month']):02}-{int(parts['day']):02}"
    clock = parts["clock"] if parts["clock"][1] != ":" and parts["clock"][2] == ":" else f"0{parts['clock']}"
    return clock_span(datetime.fromisoformat(f"{day}T{clock}{parts['zone'] or ''}"), minutes=True)


def _from_library(text: str) -> Stretch | None:
    # With slashes the month comes first unless it cannot (the library's own default); with dots the day always does.
    dotted = re.search(r"\d{1,2}\.\d{1,2}\.\d{2,4}", text)
    parsed = _parser("DMY" if dotted else "MDY").get_date_data(text)
    when: datetime | None = parsed.date_obj
    if when is None:
        return None
    if parsed.period == "time":
        return clock_span(when, minutes=":" in text)
    return unit_at(parsed.period, when) if parsed.period in {"day", "month", "year"} else None
