"""Read absolute dates ("2018", "October 2021", "8 May 2023, 13:56"), mostly by `dateparser`.

`dateparser` gets only texts made of numbers and calendar words, with a year among them, because it otherwise reads
"2,000 steps" or "10 cats" as dates. The precision of the text decides the width of the result: a year, a month, a day,
an hour ("5 pm") or a minute ("13:56"). Results are naive local times unless the text names a time zone, which is then
kept in `start.tzinfo` and `end.tzinfo`.
"""

import re
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from memory.dates.calendar import Stretch, day_at, months, unit_at

MAX_DATE_LENGTH = 60  # characters; "Wednesday, the 23rd of September 2023 at 11:45:00 p.m. UTC" has 58
YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?"
    r"(?:(?:[ T]|\s*\([A-Za-z]{3,9}\.?\)\s*)(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?|\s*\([A-Za-z]{3,9}\.?\))?"
)
CHINESE = re.compile(r"(?P<year>\d{4})\s*年(?:\s*(?P<month>\d{1,2})\s*月(?:份|\s*(?P<day>\d{1,2})\s*[日号])?)?")
CALENDAR_TEXT = re.compile(
    r"(?=.*(?:(?<!\d)\d{4}(?!\d)|\d{1,2}[-/.]\d{1,2}[-/.]\d{2}))"
    # Atomic and possessive: a long run of digits could otherwise be cut in two in more ways than there is time for.
    r"(?:(?>(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october"
    r"|november|december|mon|tues?|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
    r"|the|of|on|at|in|noon|midnight|utc|gmt|z|[ecmp][sd]t|b?st)\b\.?"
    r"|\d++(?:st|nd|rd|th)\b|\d++\s?[ap]\.?m\b\.?|[ap]\.?m\b\.?|\d++(?![a-z])|t(?=\d)|[\s,:/.()+-]++))++",
    re.IGNORECASE,
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
    return _clock_span(datetime.fromisoformat(f"{day}T{clock}{parts['zone'] or ''}"), minutes=True)


def _from_library(text: str) -> Stretch | None:
    # With slashes the month comes first unless it cannot (the library's own default); with dots the day always does.
    dotted = re.search(r"\d{1,2}\.\d{1,2}\.\d{2,4}", text)
    parsed = _parser("DMY" if dotted else "MDY").get_date_data(text)
    when: datetime | None = parsed.date_obj
    if when is None:
        return None
    if parsed.period == "time":
        return _clock_span(when, minutes=":" in text)
    return unit_at(parsed.period, when) if parsed.period in {"day", "month", "year"} else None


def _clock_span(when: datetime, *, minutes: bool) -> Stretch:
    if minutes:
        start = when.replace(second=0, microsecond=0)
        return Stretch(start, start + timedelta(minutes=1), "minute")
    start = when.replace(minute=0, second=0, microsecond=0)
    return Stretch(start, start + timedelta(hours=1), "hour")
