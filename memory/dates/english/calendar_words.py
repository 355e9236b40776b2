"""Rules for calendar names: dates, months, seasons, holidays, weekdays, years and decades.

Absolute dates go to `dateparser` (`memory.dates.absolute`). A name without a year is resolved here, because the
result is a span and depends on "last", "this" and "next", of which the library reads only some ("last Friday", not
"last March").
"""

import re
from datetime import datetime

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, Stretch, Tense, unit_at
from memory.dates.rules import (
    CHOICE,
    CLOCK,
    COUNT,
    DAY_NUMBER,
    FULL_WEEKDAY,
    HOLIDAY,
    MONTH,
    SEASON,
    TO,
    WEEKDAY,
    YEAR,
    Match,
    Resolve,
    compile_spaced,
    rule,
)

# A word that has another meaning ("may", "fall", "2000") is a month, a season or a year only after such words.
TIME_PREPOSITION = compile_spaced(
    r"\b(?:(?:in|since|during|until|till|throughout|before|after|between|around) (?:the )?"
    r"(?:(?:early|mid|late)(?: |-))?"
    r"|(?:early|mid|late)(?: |-)|(?:for|over) the "
    r"|(?:weeks?|days?|weekends?|half|beginning|start|middle|end|rest|months?|year|quarter|[a-z]+day|summer|fall|autumn"
    r"|winter|spring) (?:of|in) (?:the )?)\Z"
)
BEFORE_A_YEAR = compile_spaced(r"\b(?:year|by|circa) \Z")
BEFORE_A_DAY = compile_spaced(r"\b(?:on|by|until|till|since) \Z")
BEFORE_A_DATE = compile_spaced(r"\b(?:on|by|until|till|since|from|the|was|is|for|before|after) \Z")
END_OF_A_TIME = compile_spaced(
    r" ?(?:[.,;:!?)]|\Z)| (?:and|at|in|on|for|with|my|our|his|her|their|i|we|he|she|they|you|it|is|are|was|were|will"
    r"|after|before|because|cause|cos|when|while|where|which|who|to|so|but|or|though|although|even|if|then|unless|until"
    r"|till|since|this|that|there|not|now|also|again|still|instead|please|lol|thanks|already|finally)\b"
)
"""What may follow a time; a noun ("the 5th floor") may not."""
BEFORE_A_HOLIDAY = compile_spaced(r"\b(?:on|at|over|for|by) \Z")
NAMED_WEEKDAY = compile_spaced(WEEKDAY)
THIRD = compile_spaced(r"\b(?:early|mid|late)(?: |-)\Z")
THE = compile_spaced(r"\bthe \Z")
HABIT = compile_spaced(
    r"\b(?:(?:each|most|all|any|some|many|merry|happy|an?) (?:(?:other|second|single) )?"
    rf"|every (?:(?:other|second|single) )?(?:{WEEKDAY}(?:,? and |, ?|/))*)\Z"
)
HABIT_AFTER = compile_spaced(r" (?:mornings|afternoons|evenings|nights)\b")
RANGE_ON = compile_spaced(r" (?:on|onwards?|forward)\b")
RANGE_LEFT = compile_spaced(
    rf"\b(?:between|from) \Z|\b(?:{MONTH}|{YEAR}){TO}\Z"
    rf"|\b(?:between|in|during|of|late|early|mid) (?:{MONTH}|{YEAR}) and \Z"
)
RANGE_RIGHT = compile_spaced(rf"(?:{TO}| (?P<and>and) )(?:{MONTH}|{YEAR})")
YEARS_RIGHT = compile_spaced(rf" ?[-–—] ?{YEAR}")
AFTER_A_YEAR = compile_spaced(r" (?!(?:was|is|has|this|his|as|us|across|always|perhaps|its|yes)\b)[a-z-]+s\b| ?%")
NOT_A_SEASON = compile_spaced(r" (?:camp|job|house|dress|school|cleaning|roll|coat|months|breeze|migration|of(?! \d))")
NOT_A_HOLIDAY = compile_spaced(
    r" (?:tree|card|song|carol|movie|present|gift|decoration|market|cookie|sweater|music|light|shopping|magic)"
)

UNAMBIGUOUS_MONTHS = frozenset("january february july september october november december".split())
UNAMBIGUOUS_DAYS = frozenset("tue tues weds thu thur thurs".split())
END_OF_TEXT = compile_spaced(r" ?(?:[,;.!?)]|\Z)")
VERB_MONTHS = frozenset({"may", "march", "mar"})


def is_habit(match: Match) -> bool:
    """Whether the context makes it a habit ("every Friday", "on Monday mornings") or a greeting ("merry Christmas")."""
    return bool(rules.before(HABIT, match) or rules.after(HABIT_AFTER, match))


def in_range(match: Match) -> bool:
    """Whether the match is one end of a range: "between March and", "May–", "from March on"."""
    left = rules.before(RANGE_LEFT, match)
    opened = left is not None and left[0].strip().lower() in {"between", "from"}
    if (left and not opened) or rules.after(YEARS_RIGHT, match):
        return True
    right = rules.after(RANGE_RIGHT, match)
    if right:
        return opened or (match[0].istitle() and not right["and"])
    return opened and rules.after(RANGE_ON, match) is not None


def read_day_of_year(match: Match) -> Resolve | None:
    """Read "7 May" or "May 7th": the nearest, today included; of "Sunday 7 May", the nearest on a Sunday."""
    word = match["month"]
    is_clear = rules.before(BEFORE_A_DATE, match) or rules.after(END_OF_A_TIME, match)
    if word in VERB_MONTHS and match["day"].isdecimal() and not is_clear:
        return None  # "these 3 may be enough", unlike "on 3 may"
    month, day = rules.month_number(word), int(re.sub(r"\D", "", match["day"]))
    if named := NAMED_WEEKDAY.match(match[0]):
        weekday = rules.weekday_number(named[0])
        return lambda now, _: calendar.on_weekday(calendar.in_each_year(now, month, day), weekday, now)
    return rules.occurrence(lambda now: calendar.in_each_year(now, month, day))


def read_days_of_month(match: Match) -> Resolve | None:
    """Read "3 to 7 May (2023)", "May 3-7", "between May 3 and 7": whole days, both ends included."""
    month = rules.month_number(match["month"])
    first, last = (int(re.sub(r"\D", "", match[end])) for end in ("first", "last"))
    if first >= last or bool(match["and"]) != (match[0].lower().startswith("between")):
        return None  # "May 10th and 17th" is two days
    if match["year"]:
        start = datetime(int(match["year"]), month, first)
        return rules.fixed(Stretch(start, start.replace(day=last) + DAY))
    return rules.occurrence(lambda now: calendar.in_each_year(now, month, first, last))


def read_month(match: Match) -> Resolve | None:
    """Read a month without a year: the nearest one, or the one that "last", "this" or "next" chooses."""
    word = match["name"].rstrip(".")
    if match["which"]:
        named = word[0].isupper() or word not in VERB_MONTHS
    else:
        named = word.lower() in UNAMBIGUOUS_MONTHS or bool(rules.before(TIME_PREPOSITION, match)) or in_range(match)
    if not named or is_habit(match):
        return None
    month, which = rules.month_number(word), rules.choice_of(match["which"])
    return rules.occurrence(lambda now: calendar.in_each_year(now, month), which)


def read_season(match: Match) -> Resolve | None:
    """Read "summer 2021", "last summer", "in the summer"."""
    name, which = match["name"].lower(), rules.choice_of(match["which"])
    if match["year"]:
        return rules.fixed(calendar.season(int(match["year"]), name))
    led = match["which"] or rules.before(TIME_PREPOSITION, match)
    if not led or is_habit(match) or rules.after(NOT_A_SEASON, match):
        return None
    return rules.occurrence(lambda now: calendar.seasons(now, name), which)


def read_holiday(match: Match) -> Resolve | None:
    """Read "Christmas 2021", "last Easter", "at Christmas"."""
    name, which = re.sub("['’]", "", match["name"].lower()), rules.choice_of(match["which"])
    if match["year"]:
        return rules.fixed(calendar.holiday(int(match["year"]), name))
    led = rules.before(TIME_PREPOSITION, match) or rules.before(BEFORE_A_HOLIDAY, match)
    if not (led or match["which"] or " " in name) or is_habit(match) or rules.after(NOT_A_HOLIDAY, match):
        return None
    return rules.occurrence(lambda now: calendar.holidays(now, name), which)


def read_weekday(match: Match) -> Resolve | None:
    """Read a weekday: the last one that is over, unless "this", "next" or the tense of the sentence says otherwise."""
    word = match["name"]
    led = match["which"] or rules.before(BEFORE_A_DAY, match)
    is_named = len(word) >= len("friday") or word.lower() in UNAMBIGUOUS_DAYS or (led and word.lower() != "sun")
    if not (is_named or (word.lower() in {"mon", "fri"} and rules.after(END_OF_TEXT, match))) or is_habit(match):
        return None
    return rules.weekday_at(rules.weekday_number(word), rules.choice_of(match["which"]))


def read_weekday_weeks_away(match: Match) -> Resolve | None:
    """Read "Monday a week ago" and "two weeks ago on Friday" (the nearest to that), and "Monday week" (after the next).

    None for "a few weeks ago".
    """
    weekday = rules.weekday_number(match["name"])
    if not match["count"]:
        return lambda now, tense: calendar.day_at(calendar.weekday_after(now + DAY, weekday) + 7 * DAY)
    weeks, most = rules.count_of(match["count"])
    if weeks != most:
        return None

    def resolve(now: datetime, tense: Tense) -> Stretch:
        then = now - 7 * weeks * DAY
        return calendar.day_at(then + ((weekday - then.weekday() + 3) % 7 - 3) * DAY)

    return resolve


def read_day_of_month(match: Match) -> Resolve | None:
    """Read "the 5th" (of the month), where no noun follows."""
    day = int(re.sub(r"\D", "", match["day"]))
    return rules.occurrence(lambda now: calendar.days_of_month(now, day))


def read_year(match: Match) -> Resolve | None:
    """Read a bare year, where a preposition precedes it and no noun follows that it could count."""
    led = rules.before(TIME_PREPOSITION, match) or rules.before(BEFORE_A_YEAR, match) or in_range(match)
    if not led or rules.before(THE, match) or rules.after(AFTER_A_YEAR, match):
        return None  # "the 2011 earthquake", "in 2000 steps"
    return rules.fixed(unit_at("year", datetime(int(match["year"]), 1, 1)))


TENS_WORDS = "twenties thirties forties fifties sixties seventies eighties nineties".split()
TENS = f"(?:{'|'.join(TENS_WORDS)})"


def read_decade(match: Match) -> Resolve | None:
    """Read "the 1990s", "the '90s", "the nineties"; two digits mean the last century from the thirties on."""
    word = match["decade"].lower()
    year = 20 + 10 * TENS_WORDS.index(word) if word in TENS_WORDS else int(re.sub(r"\D", "", word))
    if year < 100 and not (match[0].lower().startswith("the") or rules.before(THIRD, match)):
        return None  # "in my eighties", "30s of plank"
    if year < 100:
        year += 1900 if year >= 30 else 2000
    if year % 100 == 0 and year < 2000:
        return rules.fixed(calendar.months(year, 1, 1200, "span"))  # "the 1800s" is the century
    return rules.fixed(unit_at("decade", datetime(year, 1, 1)))


ON_WEEKDAY = rf"(?:{WEEKDAY}\.?,? (?:the )?)?"
OF_YEAR = rf"(?:,? (?:of )?|, ?)(?P<year>{YEAR})"
FROM = "(?:between |from )?"
TO_DAY = rf"(?:{TO}| (?P<and>and) )(?P<last>{DAY_NUMBER})"

CALENDAR_RULES = (
    rule(rf"(?:{CLOCK} (?:on )?)?{ON_WEEKDAY}{DAY_NUMBER} (?:of )?{MONTH}{OF_YEAR}", rules.read_full_date),
    rule(rf"{ON_WEEKDAY}{MONTH} (?:the )?{DAY_NUMBER}{OF_YEAR}", rules.read_full_date),
    rule(rf"{FROM}(?P<first>{DAY_NUMBER}){TO_DAY} (?:of )?(?P<month>{MONTH})(?:{OF_YEAR})?", read_days_of_month),
    rule(rf"{FROM}(?P<month>{MONTH}) (?P<first>{DAY_NUMBER}){TO_DAY}(?!:)(?:{OF_YEAR})?", read_days_of_month),
    rule(rf"{MONTH}{OF_YEAR}", rules.read_full_date),
    rule(
        r"\d{4}[-/]\d{1,2}[-/]\d{1,2}"
        r"(?:(?:[T\x20]| ?\([a-z]{3}\) ?)\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?![\w/-])",
        rules.read_full_date,
    ),
    rule(r"(?:\d{1,2}/\d{1,2}/(?:\d{4}|\d\d)|\d{1,2}[-.]\d{1,2}[-.]\d{4})(?![\w/-]|\.\d)", rules.read_full_date),
    rule(rf"{ON_WEEKDAY}(?P<day>{DAY_NUMBER}) (?:of )?(?P<month>{MONTH})", read_day_of_year, "recurring"),
    rule(rf"{ON_WEEKDAY}(?P<month>{MONTH}) (?:the )?(?P<day>{DAY_NUMBER})(?![:%,.]\d)", read_day_of_year, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{HOLIDAY})(?:,? (?:of |in )?(?P<year>{YEAR}))?", read_holiday, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{SEASON})(?:,? (?:of )?(?P<year>{YEAR}))?", read_season, "recurring"),
    rule(rf"(?:{CHOICE})?(?P<name>{MONTH})", read_month, "recurring"),
    rule(rf"(?P<name>{WEEKDAY}) (?P<count>{COUNT}) weeks? ago\b", read_weekday_weeks_away),
    rule(rf"(?P<count>{COUNT}) weeks? ago on (?:the )?(?P<name>{WEEKDAY})", read_weekday_weeks_away),
    rule(
        rf"(?P<name>{FULL_WEEKDAY}) (?P<count>)week(?=\W*\Z| ?[.,;:!?)]| (?:we|i|he|she|they|it|at|for|to)\b)",
        read_weekday_weeks_away,
    ),
    rule(rf"(?:{CHOICE})?(?P<name>{WEEKDAY})", read_weekday, "recurring"),
    rule(
        rf"the (?P<day>(?:[12]\d|3[01]|[1-9])(?:st|nd|rd|th))(?={END_OF_A_TIME.pattern})",
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
