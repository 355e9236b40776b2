"""Parse the headings of a transcript and the times before its lines, as in `2024-05-01 18:22 Anna: hi`."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from memory.importers.reading.dates import parse_moment, to_utc

DAY = r"(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{1,2})[-/.](?P<day>[0-9]{1,2})(?![0-9])"
CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]{1,9})?)?"
    r"(?: ?(?P<half>[AaPp])[Mm]\b)?(?: ?(?P<zone>Z\b|UTC\b|[+-][0-9]{2}:?[0-9]{2}))?"
)
FORMS = (
    re.compile(rf"\[?(?P<stamp>{DAY}(?:(?:T|,? ){CLOCK})?)(?P<rest>.*)", re.DOTALL),
    re.compile(rf"\[?(?P<stamp>{CLOCK})(?P<rest>.*)", re.DOTALL),
)
AFTER_STAMP = "]-– \t"
HEADING = re.compile(r"#{1,6}\s*(?P<text>.*)")


@dataclass(frozen=True, slots=True)
class LineTime:
    """The time before a line: its spelling, its moment if known, whether it includes a day; and the rest."""

    text: str
    moment: datetime | None
    has_day: bool
    rest: str


def read_line_time(line: str, day: datetime | None = None) -> LineTime:
    """The time that a line begins with, an hour alone on the given day; without a time, the rest is the whole line."""
    for form in FORMS:
        if match := form.fullmatch(line):
            rest = match["rest"].lstrip(AFTER_STAMP)
            return LineTime(match["stamp"], _read_moment(match, day), form is FORMS[0], rest)
    return LineTime("", None, False, line)


def read_date_heading(line: str) -> tuple[str, datetime] | None:
    """The text and moment of a line that is only a date, or of a `#` heading with a date in any wording."""
    heading = HEADING.fullmatch(line)
    text = (heading["text"] if heading else line).strip(" #")
    dated = FORMS[0].fullmatch(text)
    moment = None
    if dated and not dated["rest"].strip(AFTER_STAMP):
        moment = _read_moment(dated, None)
    elif heading:
        moment = parse_moment(text)
    return (text, moment) if moment else None


def read_title(line: str) -> str:
    """The text of a `#` heading; empty for any other line."""
    heading = HEADING.fullmatch(line)
    return heading["text"].strip(" #") if heading else ""


def _read_moment(match: re.Match[str], day: datetime | None) -> datetime | None:
    parts = match.groupdict()
    hour = int(parts["hour"] or 0)
    if half := parts["half"]:
        hour = hour % 12 + (12 if half in "Pp" else 0)
    try:
        if parts.get("year"):
            day = datetime(int(parts["year"]), int(parts["month"]), int(parts["day"]))
        if day is None:
            return None
        zone = _read_zone(parts["zone"])
        return to_utc(
            day.replace(hour=hour, minute=int(parts["minute"] or 0), second=int(parts["second"] or 0), tzinfo=zone)
        )
    except (ValueError, OverflowError):
        return None


def _read_zone(text: str | None) -> tzinfo:
    """A zone as hours and minutes from UTC; UTC if none is named."""
    if not text or text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    ahead = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-ahead if text[0] == "-" else ahead)
