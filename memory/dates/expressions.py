"""Find the times that a text names ("last weekend", "since March", "8 May 2023"), and describe spans of time in words.

README.md defines what each expression means, and says why no library reads them all.
"""

from calendar import monthrange
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal

from memory.dates import calendar
from memory.dates.calendar import DAY, PAST, Stretch
from memory.dates.phrases import Phrase, read_phrases
from memory.dates.rules import CONTEXTS, LOOK_BACK, MAX_DATE_LENGTH, read_absolute
from memory.types import TimeSpan

Relation = Literal["in", "before", "after", "not"]

YEARS_BEFORE = 100  # how far "before March" reaches back once March has begun
YEARS_AFTER = 1  # how far "after March" reaches on while March is to come

# Not `calendar.month_name`, which changes with the locale.
MONTH_NAMES = "January February March April May June July August September October November December".split()
# Two moments so far apart and so different that only an absolute date means the same at both.
MOMENTS = (datetime(2024, 2, 13, 9), datetime(2001, 11, 30, 21))


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time named in a text: `text` is `searched[start:end]`, and `span` what it means.

    `sure` is False for vague words. A span whose `relation` is "before" or "after" is bounded on its open side by the
    day it was said on, by `YEARS_BEFORE` or by `YEARS_AFTER`; `described` says it without that bound ("until 7 May
    2023"). That of a time that is denied ("on Friday, not on Thursday") is "not".
    """

    text: str
    start: int
    end: int
    span: TimeSpan
    sure: bool = True
    relation: Relation = "in"
    described: str = ""


def find_times(text: str, anchor: datetime) -> tuple[TimeExpression, ...]:
    """Find the times that a text names if it is said at the anchor; left to right, without overlap.

    Days begin at midnight in the anchor's own zone. A recurring name ("in May", "on Friday") means the latest one
    unless its sentence is about the future. At most `phrases.MAX_EXPRESSIONS` are read.

    Raises:
        ValueError: the anchor has no time zone.
    """
    zone = anchor.tzinfo
    if zone is None:
        raise ValueError(f"the moment at which a text was said needs a time zone, got {anchor!r}")
    now = anchor.replace(tzinfo=None, fold=0)
    expressions: list[TimeExpression] = []
    for phrase in read_phrases(text, now, zone):
        edge = expressions[-1].end if expressions else 0
        if expression := _express(text, phrase, now, zone, edge):
            expressions.append(expression)
    return tuple(expressions)


def sole_time(times: Iterable[TimeExpression]) -> TimeExpression | None:
    """The one time of what a text tells. A guess or an open stretch is none, and one of two is none for the whole."""
    dated = [time for time in times if time.sure and time.relation == "in"]
    return dated[0] if len({time.span for time in dated}) == 1 else None


def _express(text: str, phrase: Phrase, now: datetime, zone: tzinfo, edge: int) -> TimeExpression | None:
    stretch = phrase.at(now)
    if stretch is None:
        return None
    relation: Relation = "in"
    described = ""
    start, end = phrase.start, phrase.end
    opener = CONTEXTS["open_end"].search(text, max(edge, start - LOOK_BACK), start)
    word = opener["word"].lower().split()[0] if opener else ""
    if word == "by" and phrase.tense not in PAST:
        opener = None  # the day by which something is due
    onwards = CONTEXTS["onwards"].match(text, end) if word == "from" else None
    try:
        if opener and (word != "from" or onwards):
            start, end = opener.start(), onwards.end() if onwards else end
            named = describe_span(_in_zone(stretch, zone))
            described = f"{opener['word'].lower()} {named}{text[phrase.end : end]}"
            stretch, relation = _open_ended(stretch, word, now)
        elif CONTEXTS["denial"].search(text, max(edge, start - LOOK_BACK), start):
            relation = "not"
        span = _in_zone(stretch, zone)
    except (ValueError, OverflowError):  # past the calendar's first or last day
        return None
    return TimeExpression(text[start:end], start, end, span, stretch.sure, relation, described)


def _open_ended(stretch: Stretch, word: str, now: datetime) -> tuple[Stretch, Relation]:
    """The time before or after a stretch: from or to today if that lies between, else within a number of years."""
    today = calendar.midnight(now)
    if word in {"before", "prior", "until", "till", "by"}:
        end = stretch.end if word == "by" else stretch.start
        start = today if today < end else calendar.shift_months(end, -12 * YEARS_BEFORE)
        return Stretch(start, end, "span", stretch.sure), "before"
    start = stretch.end if word == "after" else stretch.start
    end = today + DAY if start < today + DAY else calendar.shift_months(start, 12 * YEARS_AFTER)
    return Stretch(start, end, "span", stretch.sure), "after"


def _in_zone(stretch: Stretch, zone: tzinfo) -> TimeSpan:
    """The span of a stretch of local time."""
    return TimeSpan(stretch.start.replace(tzinfo=zone), stretch.end.replace(tzinfo=zone))


@lru_cache(maxsize=4096)
def read_date(text: str) -> TimeSpan | None:
    """Read an absolute date of any precision ("2018", "October 2021", "8 May 2023, 13:56"), in UTC if it names no zone.

    Also reads what means the same at any time: "summer 2021", "the 1990s", "1–3 May 2023". Anything relative ("May",
    "last year"), vague or no date at all gives None.
    """
    stretch = read_absolute(text) or _read_timeless(text.strip())
    if stretch is None:
        return None
    zone = stretch.start.tzinfo or UTC
    try:
        return _in_zone(stretch, zone)
    except (ValueError, OverflowError):
        return None


def _read_timeless(text: str) -> Stretch | None:
    """Read a text that is one phrase, is sure, and means the same at two moments far apart ("summer 2021")."""
    if len(text) > MAX_DATE_LENGTH:
        return None
    phrases = read_phrases(text, MOMENTS[0], UTC)
    if len(phrases) != 1 or text[phrases[0].start : phrases[0].end] != text:
        return None
    first, second = (phrases[0].at(moment) for moment in MOMENTS)
    return first if first and first.sure and first == second else None


def last_moment(text: str) -> datetime | None:
    """The last moment of a date as typed, so that "as of" a day includes all that was said on it; None for no date."""
    span = read_date(text)
    return span.end - timedelta(microseconds=1) if span else None


def describe_time(time: TimeExpression) -> str:
    """What a named time means, in words: "7 May 2023", "until 7 May 2023"."""
    return time.described or describe_span(time.span)


def describe_span(span: TimeSpan) -> str:
    """A span in words, in its own time zone: "7 May 2023", "May 2023", "1–3 May 2023", "8 May 2023, 13:56".

    Of an hour, such as "at 5 pm" names, only its beginning is said.
    """
    start, end = span.start, span.end.astimezone(span.start.tzinfo)
    last = end - timedelta(microseconds=1)
    if calendar.midnight(start) == start and calendar.midnight(end) == end:
        return _describe_days(start, last, (end.date() - start.date()).days)
    if end - start in (timedelta(minutes=1), timedelta(hours=1)):
        return f"{describe_day(start)}, {start:%H:%M}"
    for part, (first_hour, last_hour) in calendar.PARTS_OF_DAY.items():
        day = calendar.midnight(start)
        if (start - day, end - day) == (timedelta(hours=first_hour), timedelta(hours=last_hour)):
            return f"the {part} of {describe_day(start)}"
    closing = f"{end:%H:%M}" if end.date() == start.date() else f"{describe_day(end)}, {end:%H:%M}"
    return f"{describe_day(start)}, {start:%H:%M} – {closing}"


def _describe_days(start: datetime, last: datetime, days: int) -> str:
    first_month, last_month = MONTH_NAMES[start.month - 1], MONTH_NAMES[last.month - 1]
    if start.day == 1 and last.day == monthrange(last.year, last.month)[1]:
        if (start.month, last.month) == (1, 12):
            if start.year % 10 == 0 and last.year == start.year + 9:
                return f"the {start.year}s"
            return f"{start.year}" if start.year == last.year else f"{start.year}–{last.year}"
        if start.year != last.year:
            return f"{first_month} {start.year} – {last_month} {last.year}"
        return f"{first_month}–{last_month} {last.year}" if start.month != last.month else f"{last_month} {last.year}"
    if days == 1:
        return describe_day(start)
    if days == 7 and start.weekday() == 0:
        return f"the week of {describe_day(start)}"
    if start.year != last.year:
        return f"{describe_day(start)} – {describe_day(last)}"
    dash = f" {first_month} – " if start.month != last.month else "–"
    return f"{start.day}{dash}{describe_day(last)}"


def describe_day(moment: date | None) -> str:
    """Write a day, of a moment in its own zone: "13 May 2026"; empty for None."""
    return f"{moment.day} {MONTH_NAMES[moment.month - 1]} {moment.year}" if moment else ""
