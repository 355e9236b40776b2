"""The parts shared by the rules for time words: the `Rule` type, patterns of calendar names, and number words."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from memory.dates import calendar
from memory.dates.absolute import read_absolute
from memory.dates.calendar import DAY, Stretch, Tense, Which, run_of_days, unit_at

Resolve = Callable[[datetime, Tense], Stretch | None]
Match = re.Match[str]
Kind = Literal["plain", "recurring", "count"]

WORD_START = r"(?<!\w)"
SPACES = r"(?:[^\S\n]+)"  # not across lines: "in 2018" may end one list item and "7." begin the next
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary|uary|urary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b(?:(?:(?<=\b\w{3})(?<!may)|(?<=\bsept))\.(?= ?\d))?"
)
WEEKDAY = (
    r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday|nsday|s)?|wensday|wendsday|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?"
    r"|sat(?:urday|erday)?|sun(?:day)?)\b"
)
FULL_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
SEASON = r"(?:spring|summer|fall|autumn|winter)\b"
# An apostrophe may stand before an s: the names are kept without ("valentines day").
HOLIDAY = "(?:" + "|".join(re.sub(r"s\b", "['’]?s", name) for name in calendar.HOLIDAYS) + r")\b"
DAY_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?\b"
YEAR = r"(?:1[5-9]|20)\d\d\b"
CLOCK = r"(?:\d{1,2}:\d\d(?::\d\d)?(?: ?[ap](?:m\b|\.m\.))?|\d{1,2} ?[ap](?:m\b|\.m\.)|noon\b|midnight\b)"
TO = r"(?: ?[-–—] ?| (?:to|until|till|through|thru) )"
CHOICE = r"(?:(?P<which>last|(?:this )?past|this|(?:this )?coming|next|upcoming) )"

NEXT_WORDS = ("next", "coming", "upcoming")
CHOICES: dict[str, Which] = {"last": "last", "past": "last", "this": "this", **dict.fromkeys(NEXT_WORDS, "next")}
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1, "final": -1}
NUMBER_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
).split()
VAGUE_COUNTS = {"couple": (2, 2), "few": (2, 5), "several": (3, 7), "many": (5, 20)}
COUNTS = VAGUE_COUNTS | {word: (number, number) for number, word in enumerate(NUMBER_WORDS, 1)}
COUNTS |= {"a": (1, 1), "an": (1, 1), "thirty": (30, 30)}
COUNT = rf"(?:\d{{1,3}}|(?:a )?(?:couple(?: of)?|few)|several|many|{'|'.join(NUMBER_WORDS)}|thirty|an?)\b"
UNIT = r"(?:minute|hour|day|night|weekend|week|fortnight|month|year|decade)"
PART = r"(?:morning|afternoon|evening|night)\b"

LOOK_BACK = 40  # characters


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to name a time; `read` returns None for a match that names no time in its context.

    `kind` is "recurring" for names that return each week or year and "count" for a counted distance; modifiers apply to
    some kinds only.
    """

    pattern: re.Pattern[str]
    read: Callable[[Match], Resolve | None]
    kind: Kind = "plain"


def fixed(stretch: Stretch | None) -> Resolve | None:
    """A resolver that always returns the same stretch."""
    return None if stretch is None else lambda now, tense: stretch


def read_full_date(match: Match) -> Resolve | None:
    """Read a date with its year; None for a date that does not exist (32 May 2023)."""
    return fixed(read_absolute(match[0]))


def unit_from_now(unit: str, shift: int) -> Resolve:
    """A resolver of the calendar unit that is `shift` units after the present one."""
    return lambda now, tense: unit_at(unit, now, shift)


def occurrence(around: Callable[[datetime], Iterable[Stretch]], which: Which = "nearest") -> Resolve:
    """A resolver that chooses one of the occurrences around now (see `calendar.choose`)."""
    return lambda now, tense: calendar.choose(around(now), now, which, tense, "year")


NEAREST_WEEKDAY: Mapping[Tense, Which] = {"past": "last", "present": "nearest", "future": "next"}
"""On a Sunday, "it's Sunday" is of today; "we met on Sunday" and "we'll meet on Sunday" are of another."""


def weekday_at(weekday: int, which: Which = "nearest") -> Resolve:
    """A resolver of a weekday; the nearest is by the tense the last that is over, the first not over, or the next."""
    choices = NEAREST_WEEKDAY if which == "nearest" else dict.fromkeys(NEAREST_WEEKDAY, which)
    return lambda now, tense: calendar.choose(calendar.weekdays(now, weekday), now, choices[tense], tense, "week")


def the_weekend(now: datetime, tense: Tense) -> Stretch:
    """Resolve "the weekend": this one once it has begun or unless the tense is past, the last one otherwise."""
    return unit_at("weekend", now, 0 if now.weekday() >= 5 or tense != "past" else -1)


def days_ago(far: int, near: int) -> Resolve:
    """A resolver of vague words: from one number of days ago to another."""
    return lambda now, tense: replace(run_of_days(now - far * DAY, far - near + 1), sure=False)


def compile_spaced(pattern: str) -> re.Pattern[str]:
    """Compile a pattern in which a space matches any run of spaces within a line (write `\\x20` for exactly one)."""
    return re.compile(pattern.replace(" ", SPACES), re.IGNORECASE)


def rule(pattern: str, read: Callable[[Match], Resolve | None], kind: Kind = "plain") -> Rule:
    """Compile a rule that matches at the beginning of a word."""
    return Rule(compile_spaced(f"{WORD_START}(?:{pattern})"), read, kind)


def month_number(word: str) -> int:
    """1 to 12 for an English month or its abbreviation."""
    return "janfebmaraprmayjunjulaugsepoctnovdec".index(word[:3].lower()) // 3 + 1


def weekday_number(word: str) -> int:
    """0 (Monday) to 6 for an English weekday or its abbreviation."""
    return "montuewedthufrisatsun".index(word[:3].lower().replace("wen", "wed")) // 3


def named_weekday(unit: str) -> int | None:
    """0 (Monday) to 6 for a weekday; None for "day" and other units."""
    return weekday_number(unit) if unit.endswith("day") and unit != "day" else None


def count_of(text: str) -> tuple[int, int]:
    """The least and the most that a counting word means: "three" is 3 to 3, "a few" is 2 to 5."""
    if text.isdecimal():
        return int(text), int(text)
    words = text.lower().split()
    return COUNTS[next((word for word in words if word in VAGUE_COUNTS), words[0])]


def is_vague_count(text: str) -> bool:
    """Whether a counting word leaves the number open."""
    return any(word in VAGUE_COUNTS for word in text.lower().split())


def ordinal_of(text: str) -> int:
    """1, 2, 3, ... for "first" or "1st", and -1 for "last"."""
    return ORDINALS.get(text.lower()) or int(re.sub(r"\D", "", text))


def choice_of(text: str | None) -> Which:
    """Which occurrence "last", "this", "next" and their synonyms choose."""
    return CHOICES[text.lower().split()[-1]] if text else "nearest"


def after(pattern: re.Pattern[str], match: Match) -> Match | None:
    """Match a pattern directly after a match."""
    return pattern.match(match.string, match.end())


def before(pattern: re.Pattern[str], match: Match) -> Match | None:
    """Match a pattern that ends where a match begins."""
    return pattern.search(match.string, max(0, match.start() - LOOK_BACK), match.start())
