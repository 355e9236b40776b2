"""Dates that mean the same whoever reads them, and whenever: `dateparser` behind a gate that keeps out everything else.

`dateparser` is asked only for text made of numbers and calendar words, with a year in it, because it otherwise reads
"2,000 steps" or "10 cats" as dates. What was written decides how wide the answer is: a year, a month, a day, an hour
("5 pm") or a minute ("13:56"). All answers are naive wall-clock times unless the text names a zone, which is then kept
in `start.tzinfo` and `end.tzinfo`.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache, lru_cache
from typing import Any

from memory.dates.calendar import Stretch, day_at, months

LONGEST_DATE = 60  # characters; "Wednesday, the 23rd of September 2023 at 11:45:00 p.m. UTC" has 58
YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?:(?P=mark)(?P<day>\d{1,2}))?"
    r"(?:(?:[ T]|\s*\([A-Za-z]{3,9}\.?\)\s*)(?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)\s?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?|\s*\([A-Za-z]{3,9}\.?\))?"
)
CHINESE = re.compile(r"(?P<year>\d{4})\s*年(?:\s*(?P<month>\d{1,2})\s*月(?:份|\s*(?P<day>\d{1,2})\s*[日号])?)?")
GATE = re.compile(
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
    if len(text) > LONGEST_DATE or not text.isprintable():
        return None
    try:
        if found := YEAR_FIRST.fullmatch(text):
            return _from_numbers(found)
        if found := CHINESE.fullmatch(text):
            return _whole(int(found["year"]), found["month"], found["day"])
        if re.fullmatch(r"[12]\d{3}", text):
            return _whole(int(text), None, None)
        return _from_library(text) if GATE.fullmatch(text) else None
    except (ValueError, OverflowError):  # a day the calendar does not have, a year past its end
        return None


def _whole(year: int, month: str | None, day: str | None) -> Stretch:
    if month is None:
        return months(year, 1, 12, "year")
    return day_at(datetime(year, int(month), int(day))) if day else months(year, int(month), 1, "month")


def _from_numbers(found: re.Match[str]) -> Stretch | None:
    if not found["clock"]:
        return _whole(int(found["year"]), found["month"], found["day"])
    if not found["day"]:
        return None
    day = f"{found['year']}-{int(found['month']):02}-{int(found['day']):02}"
    clock = found["clock"] if found["clock"][1] != ":" and found["clock"][2] == ":" else f"0{found['clock']}"
    return _clock_span(datetime.fromisoformat(f"{day}T{clock}{found['zone'] or ''}"), minutes=True)


def _from_library(text: str) -> Stretch | None:
    # With slashes the month comes first unless it cannot (the library's own default); with dots the day always does.
    dotted = re.search(r"\d{1,2}\.\d{1,2}\.\d{2,4}", text)
    found = _parser("DMY" if dotted else "MDY").get_date_data(text)
    when: datetime | None = found.date_obj
    if when is None:
        return None
    match found.period:
        case "time":
            return _clock_span(when, minutes=":" in text)
        case "day":
            return day_at(when)
        case "month":
            return months(when.year, when.month, 1, "month")
        case "year":
            return months(when.year, 1, 12, "year")
    return None


def _clock_span(when: datetime, *, minutes: bool) -> Stretch:
    if minutes:
        start = when.replace(second=0, microsecond=0)
        return Stretch(start, start + timedelta(minutes=1), "minute")
    start = when.replace(minute=0, second=0, microsecond=0)
    return Stretch(start, start + timedelta(hours=1), "hour")
