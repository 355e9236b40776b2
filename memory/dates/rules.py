"""The parts shared by the rules for time words: the `Rule` type, patterns of patterns.toml, numbers, absolute dates.

Absolute dates ("2018", "October 2021", "8 May 2023, 13:56") are mostly read by `dateparser`. It gets only texts of
numbers and calendar words, with a year among them, because it otherwise reads "2,000 steps" or "10 cats" as dates. The
precision of the text decides the width of the result: a year, a month, a day, an hour ("5 pm") or a minute ("13:56").
Results are naive local times unless the text names a time zone, which is then kept in `start.tzinfo` and `end.tzinfo`.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, lru_cache
from typing import Any, Literal

from memory import fill
from memory.dates import calendar
from memory.dates.calendar import DAY, PAST, PATTERNS, WORDS, Stretch, Tense, Which, run_of_days, unit_at

Resolve = Callable[[datetime, Tense], Stretch | None]
Match = re.Match[str]
Kind = Literal["plain", "recurring", "count", "any"]

WORD_START = r"(?<!\w)"
SPACES = r"(?:[^\S\n]+)"  # not across lines: "in 2018" may end one list item and "7." begin the next
CHOICES: dict[str, Which] = WORDS["choices"]
NUMBER_WORDS, TENS_WORDS = WORDS["numbers"].split(), WORDS["tens"].split()
VAGUE_COUNTS: dict[str, tuple[int, int]] = WORDS["vague_counts"]
COUNTS: dict[str, tuple[int, int]] = (
    VAGUE_COUNTS | {word: (n, n) for n, word in enumerate(NUMBER_WORDS, 1)} | WORDS["other_counts"]
)
YEAR_WORDS: dict[str, int] = WORDS["chinese"]["years"]

_PARTS: dict[str, str] = PATTERNS["parts"] | {
    "numbers": "|".join(NUMBER_WORDS),
    "tens_words": "|".join(TENS_WORDS),
    "day_words": "|".join(sorted(WORDS["days"], key=len, reverse=True)),
    "vague_words": "|".join(sorted(WORDS["vague"], key=len, reverse=True)),
    # An apostrophe may stand before an s: the names are kept without ("valentines day").
    "holiday": "(?:" + "|".join(re.sub(r"s\b", "['’]?s", name) for name in calendar.HOLIDAYS) + r")\b",
    "chinese_years": "|".join(YEAR_WORDS),
    "chinese_units": "|".join(WORDS["chinese"]["units"]),
}

LOOK_BACK = 40  # characters
MAX_DATE_LENGTH = 60  # characters; "Wednesday, the 23rd of September 2023 at 11:45:00 p.m. UTC" has 58
*NUMERIC_DATES, CALENDAR_TEXT = (
    re.compile(pattern.replace("\n", ""), re.IGNORECASE if name == "calendar_text" else 0)
    for name, pattern in PATTERNS["absolute"].items()
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to name a time, or to change one that is named.

    `read` returns what resolves a match, and None for one that names no time in its context; for a modifier, whose
    other argument is what resolves the time that stands beside it, it may resolve to None. `kind` is "recurring" for
    names that return each week or year and "count" for a counted distance; of a modifier, the kind that it applies to.
    """

    pattern: re.Pattern[str]
    read: Callable[..., Any]
    kind: Kind = "plain"


def fixed(stretch: Stretch | None) -> Resolve | None:
    """A resolver that always returns the same stretch."""
    return None if stretch is None else lambda now, tense: stretch


@cache
def _parser(order: str) -> Any:  # noqa: ANN401 - dateparser has no stubs
    # Imported here because dateparser and its language data take a tenth of a second to load.
    from dateparser.date import DateDataParser

    return DateDataParser(languages=["en"], settings={**WORDS["dateparser"], "DATE_ORDER": order})


@lru_cache(maxsize=4096)
def read_absolute(text: str) -> Stretch | None:
    """Read an absolute date of any precision, or give None for anything else."""
    text = text.strip()
    if len(text) > MAX_DATE_LENGTH or not text.isprintable():
        return None
    try:
        if parts := next(filter(None, (form.fullmatch(text) for form in NUMERIC_DATES)), None):
            return _from_numbers(parts.groupdict())
        if not CALENDAR_TEXT.fullmatch(text):
            return None
        # With slashes the month comes first unless it cannot (the library's own default), with dots always the day.
        dotted = re.search(r"\d{1,2}\.\d{1,2}\.\d{2,4}", text)
        parsed = _parser("DMY" if dotted else "MDY").get_date_data(text)
        when: datetime | None = parsed.date_obj
        if when and parsed.period == "time":
            return calendar.clock_span(when, minutes=":" in text)
        return unit_at(parsed.period, when) if when and parsed.period in {"day", "month", "year"} else None
    except (ValueError, OverflowError):  # a day the calendar does not have, a year past its end
        return None


def _from_numbers(parts: Mapping[str, str | None]) -> Stretch | None:
    """The minute, day, month or year of a date that is all numbers, or written in Chinese."""
    year, month, day, clock = (parts.get(name) for name in ("year", "month", "day", "clock"))
    first = datetime(int(year or 0), int(month or 1), int(day or 1))
    if clock:
        written = f"{first.date()}T{clock.zfill(len(clock) + (clock[1] == ':'))}{parts['zone'] or ''}"
        return calendar.clock_span(datetime.fromisoformat(written), minutes=True) if day else None
    return unit_at("day" if day else "month" if month else "year", first)


def read_full_date(match: Match) -> Resolve | None:
    """Read a date with its year; None for a date that does not exist (32 May 2023)."""
    return fixed(read_absolute(match[0]))


def unit_from_now(unit: str, shift: int) -> Resolve:
    """A resolver of the calendar unit that is `shift` units after the present one."""
    return lambda now, tense: unit_at(unit, now, shift)


def occurrence(around: Callable[[datetime], Iterable[Stretch]], which: Which = "nearest") -> Resolve:
    """A resolver that chooses one of the occurrences around now (see `calendar.choose`)."""
    return lambda now, tense: calendar.choose(around(now), now, which, tense, "year")


def of_year(
    year: str | None, get: Callable[[int], Stretch | None], which: Which = "nearest", *, is_time: bool = True
) -> Resolve | None:
    """A resolver of what a year has of something: the year that is named, in numbers or as 去年.

    Without one, it is that of the years around now which "last" or the tense chooses, if it `is_time`.
    """
    if year:
        shift = YEAR_WORDS.get(year)
        return fixed(get(int(year))) if shift is None else lambda now, tense: get(now.year + shift)
    return occurrence(lambda now: calendar.in_each_year(now, get), which) if is_time else None


NEAREST_WEEKDAY: Mapping[Tense, Which] = {"past": "last", "untold": "last", "present": "nearest", "future": "next"}
"""On a Sunday, "it's Sunday" is of today; "we met on Sunday" and "we'll meet on Sunday" are of another."""


def weekday_at(weekday: int, which: Which = "nearest") -> Resolve:
    """A resolver of a weekday; the nearest is by the tense the last that is over, the first not over, or the next."""
    choices = NEAREST_WEEKDAY if which == "nearest" else dict.fromkeys(NEAREST_WEEKDAY, which)
    return lambda now, tense: calendar.choose(calendar.weekdays(now, weekday), now, choices[tense], tense, "week")


def read_the_weekend(match: Match) -> Resolve:
    """Read "the weekend": this one once it has begun or unless the tense is past, the last one otherwise."""
    return lambda now, tense: unit_at("weekend", now, 0 if now.weekday() >= 5 or tense not in PAST else -1)


def read_vague(match: Match) -> Resolve | None:
    """Read "recently", "the other day", "a while ago", 最近: from one number of days ago to another."""
    if before("asking_how_many", match):
        return None  # "how long ago", "how many years ago"
    far, near = WORDS["vague"][" ".join(match[0].lower().split())]
    return lambda now, tense: replace(run_of_days(now - far * DAY, far - near + 1), sure=False)


def compile_pattern(pattern: str, space: str = SPACES) -> re.Pattern[str]:
    """Compile a pattern of patterns.toml; a space matches any run of spaces within a line."""
    return re.compile(fill(pattern, _PARTS).replace("\n", "").replace(" ", space), re.IGNORECASE)


CONTEXTS = {name: compile_pattern(pattern) for name, pattern in PATTERNS["contexts"].items()}
"""The patterns of what stands before or after a time, by name."""


def compile_rules(table: str, readers: Mapping[str, Any], start: str = WORD_START, end: str = "") -> tuple[Rule, ...]:
    """Compile a table of rules, whose functions are among the `readers` or here, between `start` and `end`."""
    functions = globals() | {**readers}
    return tuple(
        Rule(compile_pattern(f"{start}(?:{pattern}){end}"), functions[name], kind)
        for name, kind, pattern in PATTERNS["rules"][table]
    )


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


def choice_of(text: str | None) -> Which:
    """Which occurrence "last", "this", "next" and their synonyms choose."""
    return CHOICES[text.lower().split()[-1]] if text else "nearest"


def after(context: str, match: Match) -> Match | None:
    """Match the pattern of a context directly after a match."""
    return CONTEXTS[context].match(match.string, match.end())


def before(context: str, match: Match) -> Match | None:
    """Match the pattern of a context that ends where a match begins."""
    return CONTEXTS[context].search(match.string, max(0, match.start() - LOOK_BACK), match.start())
