"""Find the times that a text names ("last weekend", "since March", "8 May 2023"), and describe spans of time in words.

What is meant by words said at 13:56 on Thursday 25 May 2023 (days begin at midnight in the speaker's time zone):

| words | span |
|---|---|
| yesterday, 3 days ago | that whole day |
| last week, two weekends ago | Monday to Monday; Saturday and Sunday |
| two weeks ago, a week after X | the seven days around that date (8 to 14 May) |
| last month, two months ago, three years ago | the calendar month or year |
| a couple of weeks ago | as two weeks ago, unsure |
| a few weeks ago, several | from five to two weeks ago, from seven to three; unsure |
| two or three weeks ago, a week or so ago | from the farther to the nearer; unsure |
| the last two weeks, in the past year | from that long ago through today |
| Friday, last Friday; next Friday; this Friday | the last one over; the first one to come; the one in this week |
| May, 7 May, summer, Christmas | the latest begun; in the future tense ("will", "going to"), the first not over |
| last March, next March, this March | the latest that is over; the first to begin; this year's |
| spring, summer, autumn, winter 2021 | March to May, ... ; December 2021 to February 2022 |
| the 5th; the weekend | the nearest 5th that has begun; this weekend once it has begun, else the last |
| the 1990s, the 90s; the 1800s | ten years; the century |
| early, mid, late X | its first, second, last third, unsure; a month's thirds are 1-10, 11-20, 21-end |
| the first week of May | its first seven days; the last week is its last seven |
| the week of X; the week before X | the week from Monday that contains it; the one before |
| the Sunday before X, two days after X | that day |
| yesterday morning, last night | 5 to 12, 12 to 18, 18 to 24 (evening), 18 to 6 (night) |
| since X, from X on; after X | relation "after": from X's start, or its end, to tonight (a year on if X is to come) |
| before X, until X; by X | relation "before": from a hundred years back to X's start, or its end |
| between X and Y, from X to Y | both ends included |
| recently, the other day, a while ago | a wide span, unsure (`memory.dates.english.relative_words.VAGUE`) |

A habit ("every Friday", "on Sundays"), a duration ("for two weeks") and a time relative to an unnamed one ("the next
day", "two days later") name no time and are ignored.

Why no library reads the words (measured 21 November 2026 on 75 expressions and 7 texts that name no time, at one
anchor; "inside": the start is within the span that people mean; "span": the whole span is right; "silent": nothing is
found where no time is named):

| | inside | span | silent | ms a text, median | last release |
|---|---|---|---|---|---|
| dateparser 1.5.0 | 39 | 34 | 5 | 0.4 | 2026 |
| dateparser.search 1.5.0 | 47 | 0 | 1 | 0.7 | 2026 |
| Microsoft Recognizers 1.0.2a2 | 52 | 33 | 5 | 10 | 2019 |
| parsedatetime 2.6 | 31 | 0 | 1 | 0.1 | 2020 |
| timefhuman 0.1.5 | 31 | 0 | 3 | 0.1 | 2026 |
| ctparse 0.3.6 | 11 | 0 | 5 | 1.8 | 2022 |

None reads seasons, decades, thirds and weekends correctly, so `dateparser` reads absolute dates, where it is reliable,
and `memory.dates` the rest.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Literal

from memory.dates import calendar
from memory.dates.absolute import MAX_DATE_LENGTH, read_absolute
from memory.dates.calendar import DAY, Stretch
from memory.dates.phrases import Phrase, read_phrases
from memory.dates.rules import LOOK_BACK
from memory.types import TimeSpan

Relation = Literal["in", "before", "after"]

YEARS_BEFORE = 100  # how far "before March" reaches back
YEARS_AFTER = 1  # how far "after March" reaches on while March is to come

# Not `calendar.month_name`, which changes with the locale.
MONTH_NAMES = "January February March April May June July August September October November December".split()
# Two moments so far apart and so different that only an absolute date means the same at both.
MOMENTS = (datetime(2024, 2, 13, 9), datetime(2001, 11, 30, 21))

OPEN_END_WORD = re.compile(
    r"(?<!\w)(?P<word>(?:ever\s+)?since|starting(?:\s+(?:from|in|on))?|from|after|before|prior\s+to|until|till|by)"
    r"\s+(?:the\s+)?\Z",
    re.IGNORECASE,
)
ONWARDS = re.compile(r"\s+(?:on|onwards?|forward)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TimeExpression:
    """A time named in a text: `text` is `searched[start:end]`, and `span` what it means.

    `sure` is False for vague words. A span whose `relation` is "before" or "after" is bounded on its open side by
    `YEARS_BEFORE`, by the end of the day it was said on, or by `YEARS_AFTER`.
    """

    text: str
    start: int
    end: int
    span: TimeSpan
    sure: bool = True
    relation: Relation = "in"


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
        expression = _express(text, phrase, now, zone, edge)
        if expression:
            expressions.append(expression)
    return tuple(expressions)


def _express(text: str, phrase: Phrase, now: datetime, zone: tzinfo, edge: int) -> TimeExpression | None:
    stretch = phrase.at(now)
    if stretch is None:
        return None
    relation: Relation = "in"
    start, end = phrase.start, phrase.end
    opener = OPEN_END_WORD.search(text, max(edge, start - LOOK_BACK), start)
    word = opener["word"].lower().split()[0] if opener else ""
    onwards = ONWARDS.match(text, end) if word == "from" else None
    try:
        if opener and (word != "from" or onwards):
            stretch, relation = _open_ended(stretch, word, now)
            start, end = opener.start(), onwards.end() if onwards else end
        span = _in_zone(stretch, zone)
    except (ValueError, OverflowError):  # past the calendar's first or last day
        return None
    return TimeExpression(text[start:end], start, end, span, stretch.sure, relation)


def _open_ended(stretch: Stretch, word: str, now: datetime) -> tuple[Stretch, Relation]:
    """The time before or after a stretch, within `YEARS_BEFORE` and `YEARS_AFTER`."""
    if word in {"before", "prior", "until", "till", "by"}:
        end = stretch.end if word == "by" else stretch.start
        return Stretch(calendar.shift_months(end, -12 * YEARS_BEFORE), end, "span", stretch.sure), "before"
    start = stretch.end if word == "after" else stretch.start
    tonight = calendar.midnight(now) + DAY
    end = tonight if start < tonight else calendar.shift_months(start, 12 * YEARS_AFTER)
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


def describe_span(span: TimeSpan) -> str:
    """A span in words, in its own time zone: "7 May 2023", "May 2023", "1–3 May 2023", "8 May 2023, 13:56"."""
    start, end = span.start, span.end.astimezone(span.start.tzinfo)
    last = end - timedelta(microseconds=1)
    if calendar.midnight(start) == start and calendar.midnight(end) == end:
        return _describe_days(start, last, (end.date() - start.date()).days)
    if end - start == timedelta(minutes=1):
        return f"{_day(start)}, {start:%H:%M}"
    for part, (first_hour, last_hour) in calendar.PARTS_OF_DAY.items():
        day = calendar.midnight(start)
        if (start - day, end - day) == (timedelta(hours=first_hour), timedelta(hours=last_hour)):
            return f"the {part} of {_day(start)}"
    closing = f"{end:%H:%M}" if end.date() == start.date() else f"{_day(end)}, {end:%H:%M}"
    return f"{_day(start)}, {start:%H:%M} – {closing}"


def _describe_days(start: datetime, last: datetime, days: int) -> str:
    first_month, last_month = MONTH_NAMES[start.month - 1], MONTH_NAMES[last.month - 1]
    if start.day == 1 and last.day == monthrange(last.year, last.month)[1]:
        if (start.month, last.month) == (1, 12):
            return _describe_years(start.year, last.year)
        if start.year != last.year:
            return f"{first_month} {start.year} – {last_month} {last.year}"
        return f"{first_month}–{last_month} {last.year}" if start.month != last.month else f"{last_month} {last.year}"
    if days == 1:
        return _day(start)
    if days == 7 and start.weekday() == 0:
        return f"the week of {_day(start)}"
    if start.year != last.year:
        return f"{_day(start)} – {_day(last)}"
    return f"{start.day} {first_month} – {_day(last)}" if start.month != last.month else f"{start.day}–{_day(last)}"


def _describe_years(first: int, last: int) -> str:
    if first % 10 == 0 and last == first + 9:
        return f"the {first}s"
    return f"{first}" if first == last else f"{first}–{last}"


def _day(moment: datetime) -> str:
    return f"{moment.day} {MONTH_NAMES[moment.month - 1]} {moment.year}"
