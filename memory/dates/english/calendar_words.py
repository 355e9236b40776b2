"""Names of the calendar: dates, months, seasons, holidays, weekdays, years and decades.

Absolute dates go to `dateparser` (`memory.dates.absolute`). A name without a year is resolved here, because the
answer is a span and depends on "last", "this" and "next", of which the library reads only some ("last Friday", not
"last March").
"""

from __future__ import annotations

import re
from datetime import datetime

from memory.dates import calendar as units
from memory.dates.absolute import read_absolute
from memory.dates.calendar import DAY, Leaning, Stretch, Which, unit_at
from memory.dates.rules import (
    CHOICE,
    CLOCK,
    DAY_NUMBER,
    HOLIDAY,
    MONTH,
    SEASON,
    TO,
    WEEKDAY,
    YEAR,
    Match,
    Resolve,
    after,
    before,
    compiled,
    fixed,
    month_number,
    rule,
    weekday_number,
    which_of,
)

# A word that is also a name, a verb or a noun is a month, a season or a year only where the words before it say so.
LEAD_IN = compiled(
    r"\b(?:(?:in|since|during|until|till|throughout|before|after|between|around) (?:the )?"
    r"(?:(?:early|mid|late)(?: |-))?"
    r"|(?:early|mid|late)(?: |-)|(?:for|over) the "
    r"|(?:weeks?|days?|weekends?|half|beginning|start|middle|end|rest|months?|year|quarter|[a-z]+day|summer|fall|autumn"
    r"|winter|spring) (?:of|in) (?:the )?)\Z"
)
LEAD_INTO_YEAR = compiled(r"\b(?:year|by|circa) \Z")
LEAD_INTO_DAY = compiled(r"\bon \Z")
LEAD_INTO_HOLIDAY = compiled(r"\b(?:on|at|over|for|by) \Z")
NAMED_WEEKDAY = compiled(WEEKDAY)
THIRD = compiled(r"\b(?:early|mid|late)(?: |-)\Z")
THE = compiled(r"\bthe \Z")
HABIT = compiled(
    r"\b(?:(?:each|most|all|any|some|many|merry|happy|an?) (?:(?:other|second|single) )?"
    rf"|every (?:(?:other|second|single) )?(?:{WEEKDAY}(?:,? and |, ?|/))*)\Z"
)
HABIT_AFTER = compiled(r" (?:mornings|afternoons|evenings|nights)\b")
RANGE_ON = compiled(r" (?:on|onwards?|forward)\b")
RANGE_LEFT = compiled(
    rf"\b(?:between|from) \Z|\b(?:{MONTH}|{YEAR}){TO}\Z"
    rf"|\b(?:between|in|during|of|late|early|mid) (?:{MONTH}|{YEAR}) and \Z"
)
RANGE_RIGHT = compiled(rf"(?:{TO}| (?P<and>and) )(?:{MONTH}|{YEAR})")
YEARS_RIGHT = compiled(rf" ?[-–—] ?{YEAR}")
AFTER_A_YEAR = compiled(r" (?!(?:was|is|has|this|his|as|us|across|always|perhaps|its|yes)\b)[a-z-]+s\b| ?%")
NOT_A_SEASON = compiled(r" (?:camp|job|house|dress|school|cleaning|roll|coat|months|breeze|migration|of(?! \d))")
NOT_A_HOLIDAY = compiled(
    r" (?:tree|card|song|carol|movie|present|gift|decoration|market|cookie|sweater|music|light|shopping|magic)"
)

PLAIN_MONTHS = frozenset("january february july september october november december".split())
VERB_MONTHS = frozenset({"may", "march", "mar"})


def is_habit(match: Match) -> bool:
    """Whether the words around make it a habit ("every Friday", "on Monday mornings") or a greeting."""
    return bool(before(HABIT, match) or after(HABIT_AFTER, match))


def in_range(match: Match) -> bool:
    """Whether the words stand at one end of a range: "between March and", "May–", "from March on"."""
    left = before(RANGE_LEFT, match)
    opened = left is not None and left[0].strip().lower() in {"between", "from"}
    if (left and not opened) or after(YEARS_RIGHT, match):
        return True
    right = after(RANGE_RIGHT, match)
    if right:
        return opened or (match[0].istitle() and not right["and"])
    return opened and after(RANGE_ON, match) is not None


def read_full_date(match: Match) -> Resolve | None:
    """Read a date with its year; one that the calendar does not have (32 May 2023) is none."""
    return fixed(read_absolute(match[0]))


def read_day_of_year(match: Match) -> Resolve | None:
    """Read "7 May" or "May 7th": the nearest one, today included; "Sunday 7 May" is of the nearest year that has it."""
    word = match["month"]
    if word in VERB_MONTHS and match["day"].isdecimal():
        return None  # "these 3 may be enough"
    month, day = month_number(word), int(re.sub(r"\D", "", match["day"]))
    if named := NAMED_WEEKDAY.match(match[0]):
        return lambda now, _: units.on_weekday(units.in_years(now, month, day), weekday_number(named[0]), now)
    return lambda now, leaning: units.pick(units.in_years(now, month, day), now, "nearest", leaning, "year")


def read_days_of_month(match: Match) -> Resolve | None:
    """Read "3 to 7 May (2023)", "May 3-7", "between May 3 and 7": whole days, both ends included."""
    month = month_number(match["month"])
    first, last = (int(re.sub(r"\D", "", match[end])) for end in ("first", "last"))
    if first >= last or bool(match["and"]) != (match[0].lower().startswith("between")):
        return None  # "May 10th and 17th" is two days
    if match["year"]:
        start = datetime(int(match["year"]), month, first)
        return fixed(Stretch(start, start.replace(day=last) + DAY))
    return lambda now, leaning: units.pick(units.in_years(now, month, first, last), now, "nearest", leaning, "year")


def read_month(match: Match) -> Resolve | None:
    """Read a month without a year: the nearest one, or the one that "last", "this" or "next" chooses."""
    word = match["name"].rstrip(".")
    if match["which"]:
        named = word[0].isupper() or word in PLAIN_MONTHS
    else:
        named = word.lower() in PLAIN_MONTHS or bool(before(LEAD_IN, match)) or in_range(match)
    if not named or is_habit(match):
        return None
    month, which = month_number(word), which_of(match["which"])
    return lambda now, leaning: units.pick(units.in_years(now, month), now, which, leaning, "year")


def read_season(match: Match) -> Resolve | None:
    """Read "summer 2021", "last summer", "in the summer"."""
    name, which = match["name"].lower(), which_of(match["which"])
    if match["year"]:
        return fixed(units.season(int(match["year"]), name))
    if is_habit(match) or after(NOT_A_SEASON, match) or not (match["which"] or before(LEAD_IN, match)):
        return None
    return lambda now, leaning: units.pick(units.seasons(now, name), now, which, leaning, "year")


def read_holiday(match: Match) -> Resolve | None:
    """Read "Christmas 2021", "last Easter", "at Christmas"."""
    name, which = re.sub("['’]", "", match["name"].lower()), which_of(match["which"])
    if match["year"]:
        return fixed(units.holiday(int(match["year"]), name))
    led = match["which"] or before(LEAD_IN, match) or before(LEAD_INTO_HOLIDAY, match)
    if not led or is_habit(match) or after(NOT_A_HOLIDAY, match):
        return None
    return lambda now, leaning: units.pick(units.holidays(now, name), now, which, leaning, "year")


def read_weekday(match: Match) -> Resolve | None:
    """Read a weekday: the last one over, unless "this", "next" or the leaning of the words says otherwise."""
    word = match["name"]
    short = len(word) < len("friday") and not (word[0].isupper() and (match["which"] or before(LEAD_INTO_DAY, match)))
    if short or is_habit(match):
        return None
    weekday, which = weekday_number(word), which_of(match["which"])

    def resolve(now: datetime, leaning: Leaning) -> Stretch | None:
        chosen: Which = {"past": "last", "future": "next"}[leaning] if which == "nearest" else which  # type: ignore[assignment]
        return units.pick(units.weekdays(now, weekday), now, chosen, leaning, "week")

    return resolve


def read_day_of_month(match: Match) -> Resolve | None:
    """Read "the 5th", where no noun follows it."""
    day = int(re.sub(r"\D", "", match["day"]))
    return lambda now, leaning: units.pick(units.days_of_month(now, day), now, "nearest", leaning, "month")


def read_year(match: Match) -> Resolve | None:
    """Read a bare year, where the words before it ask for one and no noun that it could count follows."""
    led = before(LEAD_IN, match) or before(LEAD_INTO_YEAR, match) or in_range(match)
    if not led or before(THE, match) or after(AFTER_A_YEAR, match):
        return None  # "the 2011 earthquake", "in 2000 steps"
    return fixed(unit_at("year", datetime(int(match["year"]), 1, 1)))


TENS_WORDS = "twenties thirties forties fifties sixties seventies eighties nineties".split()
TENS = f"(?:{'|'.join(TENS_WORDS)})"


def read_decade(match: Match) -> Resolve | None:
    """Read "the 1990s", "the '90s", "the nineties"; two digits mean the last century from the thirties on."""
    word = match["decade"].lower()
    year = 20 + 10 * TENS_WORDS.index(word) if word in TENS_WORDS else int(re.sub(r"\D", "", word))
    if year < 100 and not (match[0].lower().startswith("the") or before(THIRD, match)):
        return None  # "in my eighties", "30s of plank"
    if year < 100:
        year += 1900 if year >= 30 else 2000
    if year % 100 == 0 and year < 2000:
        return fixed(units.months(year, 1, 1200, "span"))  # "the 1800s" is the century
    return fixed(unit_at("decade", datetime(year, 1, 1)))


ON_WEEKDAY = rf"(?:{WEEKDAY}\.?,? (?:the )?)?"
OF_YEAR = rf"(?:,? (?:of )?|, ?)(?P<year>{YEAR})"
FROM = "(?:between |from )?"
TO_DAY = rf"(?:{TO}| (?P<and>and) )(?P<last>{DAY_NUMBER})"

CALENDAR_RULES = (
    rule(rf"(?:{CLOCK} (?:on )?)?{ON_WEEKDAY}{DAY_NUMBER} (?:of )?{MONTH}{OF_YEAR}", read_full_date),
    rule(rf"{ON_WEEKDAY}{MONTH} (?:the )?{DAY_NUMBER}{OF_YEAR}", read_full_date),
    rule(rf"{FROM}(?P<first>{DAY_NUMBER}){TO_DAY} (?:of )?(?P<month>{MONTH})(?:{OF_YEAR})?", read_days_of_month),
    rule(rf"{FROM}(?P<month>{MONTH}) (?P<first>{DAY_NUMBER}){TO_DAY}(?!:)(?:{OF_YEAR})?", read_days_of_month),
    rule(rf"{MONTH}{OF_YEAR}", read_full_date),
    rule(
        r"\d{4}[-/]\d{1,2}[-/]\d{1,2}"
        r"(?:(?:[T\x20]| ?\([a-z]{3}\) ?)\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w/-])",
        read_full_date,
    ),
    rule(r"(?:\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|\d{1,2}[-.]\d{1,2}[-.]\d{4})(?![\w/-]|\.\d)", read_full_date),
    rule(rf"{ON_WEEKDAY}(?P<day>{DAY_NUMBER}) (?:of )?(?P<month>{MONTH})", read_day_of_year, "recurring"),
    rule(rf"{ON_WEEKDAY}(?P<month>{MONTH}) (?:the )?(?P<day>{DAY_NUMBER})(?![:%,.]\d)", read_day_of_year, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{HOLIDAY})(?:,? (?:of |in )?(?P<year>{YEAR}))?", read_holiday, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{SEASON})(?:,? (?:of )?(?P<year>{YEAR}))?", read_season, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{MONTH})", read_month, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{WEEKDAY})", read_weekday, "recurring"),
    rule(
        r"the (?P<day>(?:[12]\d|3[01]|[1-9])(?:st|nd|rd|th))(?= ?(?:[.,;:!?)]|\Z)"
        r"| (?:and|at|in|for|with|we|I|he|she|they|it|was|after|because|when|to)\b)",
        read_day_of_month,
        "recurring",
    ),
    rule(
        r"(?:the )?(?P<day>(?:[12]\d|3[01]|[1-9])(?:st|nd|rd|th))(?= (?:of )?(?:this|last|next) month\b)",
        read_day_of_month,
        "recurring",
    ),
    rule(rf"(?:the )?['’]?(?P<decade>(?:1[5-9]|20)?\d0['’]?s|{TENS})\b", read_decade),
    rule(rf"(?<![\d$#€£.,:/])(?P<year>{YEAR})(?![.,:/]?\d|-\d(?!\d{{3}}\b))", read_year),
)
