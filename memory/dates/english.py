"""Rules for English times: dates, weekdays, months, seasons, holidays, years, and what is told from now ("last week").

Absolute dates go to `dateparser` (`memory.dates.rules`). A name without a year is resolved here, because the
result is a span and depends on "last", "this" and "next", of which the library reads only some ("last Friday", not
"last March").
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, WORDS, Stretch, Tense, run_of_days, unit_at
from memory.dates.rules import TENS_WORDS, Match, Resolve, compile_rules

DAY_WORDS: dict[str, tuple[str, int]] = WORDS["days"]
UNAMBIGUOUS_MONTHS = frozenset("january february july september october november december".split())
UNAMBIGUOUS_DAYS = frozenset("tue tues weds thu thur thurs".split())
VERB_MONTHS = frozenset({"may", "march", "mar"})


def is_habit(match: Match) -> bool:
    """Whether the context makes it a habit ("every Friday", "on Monday mornings") or a greeting ("merry Christmas")."""
    return bool(rules.before("habit", match) or rules.after("habit_after", match))


def in_range(match: Match) -> bool:
    """Whether the match is one end of a range: "between March and", "May–", "from March on"."""
    left = rules.before("range_left", match)
    opened = left is not None and left[0].strip().lower() in {"between", "from"}
    if (left and not opened) or rules.after("years_right", match):
        return True
    right = rules.after("range_right", match)
    if right:
        return opened or (match[0].istitle() and not right["and"])
    return opened and rules.after("range_on", match) is not None


def read_day_of_year(match: Match) -> Resolve | None:
    """Read "7 May" or "May 7th": the nearest, today included; of "Sunday 7 May", the nearest on a Sunday."""
    word = match["month"]
    is_clear = rules.before("before_a_date", match) or rules.after("end_of_a_time", match)
    if word in VERB_MONTHS and match["day"].isdecimal() and not is_clear:
        return None  # "these 3 may be enough", unlike "on 3 may"
    month, day = rules.month_number(word), int(re.sub(r"\D", "", match["day"]))
    of_year = partial(calendar.days_in, month=month, day=day)
    if nearest := _nearest_on_weekday(match, lambda now: calendar.in_each_year(now, of_year)):
        return nearest
    return rules.of_year(None, of_year)


def _nearest_on_weekday(match: Match, days: Callable[[datetime], Iterator[Stretch]]) -> Resolve | None:
    """The nearest of the days around now that is on the weekday named before it; None if none is named."""
    named = rules.CONTEXTS["weekday"].match(match[0])
    if named is None:
        return None
    weekday = rules.weekday_number(named[0])

    def nearest(now: datetime, tense: Tense) -> Stretch | None:
        on_weekday = (one for one in days(now) if one.start.weekday() == weekday)
        return min(on_weekday, key=lambda one: abs(one.start - calendar.midnight(now)), default=None)

    return nearest


def read_days_of_month(match: Match) -> Resolve | None:
    """Read "3 to 7 May (2023)", "May 3-7", "between May 3 and 7": whole days, both ends included."""
    month = rules.month_number(match["month"])
    first, last = (int(re.sub(r"\D", "", match[end])) for end in ("first", "last"))
    if first >= last or bool(match["and"]) != (match[0].lower().startswith("between")):
        return None  # "May 10th and 17th" is two days
    return rules.of_year(match["year"], lambda year: calendar.days_in(year, month, first, last))


def read_month(match: Match) -> Resolve | None:
    """Read a month without a year: the nearest one, or the one that "last", "this" or "next" chooses."""
    word = match["name"].rstrip(".")
    if match["which"]:
        named = word[0].isupper() or word not in VERB_MONTHS
    else:
        named = word.lower() in UNAMBIGUOUS_MONTHS or bool(rules.before("time_preposition", match)) or in_range(match)
    month = rules.month_number(word)
    return _of_year(match, lambda year: calendar.months(year, month, 1, "month"), is_time=named)


def read_season(match: Match) -> Resolve | None:
    """Read "summer 2021", "last summer", "in the summer"."""
    led = match["which"] or rules.before("time_preposition", match)
    is_time = bool(led) and not rules.after("not_a_season", match)
    return _of_year(match, partial(calendar.season, name=match["name"].lower()), is_time=is_time)


def read_holiday(match: Match) -> Resolve | None:
    """Read "Christmas 2021", "last Easter", "at Christmas"."""
    name = re.sub("['’]", "", match["name"].lower())
    led = rules.before("time_preposition", match) or rules.before("before_a_holiday", match)
    is_time = bool(led or match["which"] or " " in name) and not rules.after("not_a_holiday", match)
    return _of_year(match, partial(calendar.holiday, name=name), is_time=is_time)


def _of_year(match: Match, get: Callable[[int], Stretch], *, is_time: bool) -> Resolve | None:
    which = rules.choice_of(match["which"])
    return rules.of_year(match["year"], get, which, is_time=is_time and not is_habit(match))


def read_weekday(match: Match) -> Resolve | None:
    """Read a weekday: the last one that is over, unless "this", "next" or the tense of the sentence says otherwise.

    On a Wednesday, "next Thursday" is not tomorrow.
    """
    word = match["name"]
    led = match["which"] or rules.before("before_a_day", match)
    is_named = len(word) >= len("friday") or word.lower() in UNAMBIGUOUS_DAYS or (led and word.lower() != "sun")
    if not (is_named or (word.lower() in {"mon", "fri"} and rules.after("end_of_text", match))) or is_habit(match):
        return None
    resolve = rules.weekday_at(rules.weekday_number(word), rules.choice_of(match["which"]))
    is_next = (match["which"] or "").lower() == "next"
    return (lambda now, tense: resolve(now + DAY, tense)) if is_next else resolve


def read_weekday_weeks_away(match: Match) -> Resolve | None:
    """Read "Monday a week ago" and "two weeks ago on Friday" (the nearest to that), and "Monday week" (after the next).

    None for "a few weeks ago".
    """
    weekday = rules.weekday_number(match["name"])
    if not match["count"]:
        return lambda now, tense: unit_at("day", calendar.day_of_week(now + DAY, weekday, 2))
    weeks, most = rules.count_of(match["count"])
    if weeks != most:
        return None
    return lambda now, tense: unit_at("day", calendar.day_of_week(now - (7 * weeks + 3) * DAY, weekday, 1))


def read_day_of_month(match: Match) -> Resolve | None:
    """Read "the 5th" (of the month), where no noun follows, and "Tuesday the 5th": the nearest on a Tuesday."""
    day = int(re.sub(r"\D", "", match["day"]))

    def days_around(now: datetime) -> Iterator[Stretch]:
        firsts = (calendar.shift_months(now.replace(day=1), count) for count in range(-3, 4))
        return filter(None, (calendar.days_in(first.year, first.month, day) for first in firsts))

    return _nearest_on_weekday(match, days_around) or rules.occurrence(days_around)


def read_year(match: Match) -> Resolve | None:
    """Read a bare year, where a preposition precedes it and no noun follows that it could count."""
    led = rules.before("time_preposition", match) or rules.before("before_a_year", match) or in_range(match)
    if not led or rules.before("the", match) or rules.after("after_a_year", match):
        return None  # "the 2011 earthquake", "in 2000 steps"
    return rules.fixed(unit_at("year", datetime(int(match["year"]), 1, 1)))


def read_decade(match: Match) -> Resolve | None:
    """Read "the 1990s", "the '90s", "the nineties"; two digits mean the last century from the thirties on."""
    word = match["decade"].lower()
    year = 20 + 10 * TENS_WORDS.index(word) if word in TENS_WORDS else int(re.sub(r"\D", "", word))
    if year < 100 and not (match[0].lower().startswith("the") or rules.before("third", match)):
        return None  # "in my eighties", "30s of plank"
    if year < 100:
        year += 1900 if year >= 30 else 2000
    if year % 100 == 0 and year < 2000:
        return rules.fixed(calendar.months(year, 1, 1200, "span"))  # "the 1800s" is the century
    return rules.fixed(unit_at("decade", datetime(year, 1, 1)))


def read_day_word(match: Match) -> Resolve:
    """Read "yesterday", "today", "tonight", "tomorrow" and their neighbours."""
    return rules.unit_from_now(*DAY_WORDS[" ".join(match[0].lower().split())])


def read_unit(match: Match) -> Resolve | None:
    """Read "last week", "this month", "the weekend before last": whole calendar units."""
    unit = match["unit"].lower()
    shift = {"last": -1, "this": 0, "next": 1}[rules.choice_of(match["which"])]
    if unit == "weekend" and not shift:  # "the last one was this weekend", said on a Tuesday
        return lambda now, tense: unit_at(unit, now, -1 if tense == "past" and now.weekday() < 5 else 0)
    if unit in calendar.PARTS_OF_DAY and (shift > 0 or (shift < 0 and unit in {"morning", "afternoon"})):
        return None
    return rules.unit_from_now(unit, shift)


def read_unit_after_next(match: Match) -> Resolve:
    """Read "the week before last" and "the week after next", the same for a weekday."""
    sign = -1 if match["way"].lower().startswith("before") else 1
    unit = match["unit"].lower()
    weekday = rules.named_weekday(unit)
    if weekday is None:
        return rules.unit_from_now(unit, 2 * sign)
    return lambda now, tense: unit_at("day", calendar.day_of_week(now + DAY * (sign > 0), weekday, 2 * sign))


def read_distance(match: Match) -> Resolve | None:
    """Read "two weeks ago", "a few days ago", "in three months", "a week from now", "a year and a half ago"."""
    least, most = rules.count_of(match["count"]) if match["count"] else (0, 0)
    unit, sign = match["unit"].lower(), -1 if match["way"] else 1
    if rules.before("asking_how_many", match) or (not match["way"] and rules.before("done_before", match)):
        return None  # "how many days ago", "I read it in four days"
    weekday, sure = rules.named_weekday(unit), not rules.is_vague_count(match["count"])
    finer, parts = WORDS["halved"].get(unit, ("", 0))
    if (match["half"] and not finer) or (not match["half"] and least == 0):
        return None

    if match["half"]:
        return lambda now, tense: calendar.unit_away(finer, now, sign * (least * parts + parts // 2))
    if weekday is None:
        return lambda now, tense: calendar.units_away(unit, now, sign * least, sign * most, sure=sure)
    return lambda now, tense: unit_at("day", calendar.day_of_week(now + DAY * (sign > 0), weekday, sign * least))


def read_range_ago(match: Match) -> Resolve:
    """Read "two or three weeks ago" and "a week or so ago": from the farther to the nearer, unsure."""
    unit, least = match["unit"].lower(), rules.count_of(match["least"])[0]
    most = least + 1 if match["most"].lower() == "so" else rules.count_of(match["most"])[1]
    return lambda now, tense: replace(calendar.units_away(unit, now, -least, -most, sure=False), unit="span")


def read_rolling(match: Match) -> Resolve:
    """Read "the last two weeks" and "in the past year": up to today, today included; "the next" from today on."""
    unit, counted = match["unit"].lower(), match["count"] or "one"
    sign = 1 if rules.choice_of(match["which"]) == "next" else -1
    count, sure = sign * rules.count_of(counted)[1], not rules.is_vague_count(counted)

    def resolve(now: datetime, tense: Tense) -> Stretch:
        today = calendar.midnight(now)
        far = today + calendar.length_of(unit, count)
        return Stretch(min(far, today), max(far, today) + DAY, sure=sure)

    return resolve


def read_this_time(match: Match) -> Resolve:
    """Read "this time last year": about the same date."""
    unit = match["unit"].lower()
    spread = {"year": 15, "month": 3, "week": 1}[unit]
    away = calendar.length_of(unit, 1) + spread * DAY
    return lambda now, tense: replace(run_of_days(now - away, 2 * spread + 1), sure=False)


ENGLISH_RULES = compile_rules("english", globals())
