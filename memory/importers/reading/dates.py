"""Parse dates as sources write them into aware datetimes; a date without a time zone is read as UTC."""

from datetime import UTC, date, datetime

from memory.dates.expressions import read_date

# As seconds this is the year 5138, as milliseconds 1973, before there were chats to export.
FIRST_MILLISECONDS = 1e11

MAX_DATE_CHARACTERS = 200
"""Longer texts are not read as dates, so that no pattern sees a text of any length."""

NO_DATE = "no readable date; kept without one"
FUTURE_DATE = "dated in the future; kept as it is"


def to_utc(moment: datetime) -> datetime | None:
    """The moment in UTC; None if that is outside the years 1 to 9999."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def parse_with_format(text: str, form: str) -> datetime | None:
    """The moment that a `strptime` format reads; None if the text does not match."""
    try:
        return to_utc(datetime.strptime(text.strip(), form))
    except (ValueError, OverflowError):
        return None


def parse_iso_moment(text: str) -> datetime | None:
    """An ISO 8601 date with a clock time, to the second; None for anything vaguer."""
    try:
        date.fromisoformat(text)
    except ValueError:
        try:
            return to_utc(datetime.fromisoformat(text))
        except ValueError:
            return None
    return None


def parse_epoch(text: str) -> datetime | None:
    """The moment given as seconds or milliseconds since 1970, with or without a fraction."""
    try:
        seconds = float(text)
        return datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= FIRST_MILLISECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_moment(text: str, *forms: str) -> datetime | None:
    """The first moment of a date in any wording; the `strptime` formats are tried first."""
    if len(text) > MAX_DATE_CHARACTERS:
        return None
    for form in forms:
        if moment := parse_with_format(text, form):
            return moment
    if moment := parse_iso_moment(text):
        return moment
    span = read_date(text)
    return span.start if span else None


def date_problem(moment: datetime | None) -> str:
    """What is wrong with a date, as the reason of a `Skip`; empty if nothing is."""
    if moment is None:
        return NO_DATE
    return FUTURE_DATE if moment > datetime.now(UTC) else ""
