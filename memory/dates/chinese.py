"""Rules for Chinese times: 2023年5月7日, 昨天, 上周五, 两周前, 去年夏天.

Of these `dateparser` 1.5.0 (as "zh") reads 昨天, 去年 and numeric dates with a year, but not 上周五, 三天前, 两周前 or
5月7日; all are read here, with the same calendar functions as English. 上周五 is the Friday of the week before, not
the last one that is over.
"""

from functools import partial

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, WORDS, unit_at
from memory.dates.rules import Match, Resolve, compile_rules

DIGITS = "零一二三四五六七八九十"
YEARS, DAYS, SHIFTS, SEASONS, PARTS, UNITS = WORDS["chinese"].values()


def number(text: str) -> tuple[int, int]:
    """The least and the most that a Chinese number means: 三 is 3 to 3, 几 is 2 to 5."""
    if text in {"几", "多"}:
        return (2, 5) if text == "几" else (5, 20)
    if text.isdecimal():
        return int(text), int(text)
    tens, ten, ones = text.replace("两", "二").rpartition("十")
    value = (10 * (DIGITS.index(tens) if tens else 1) if ten else 0) + (DIGITS.index(ones) if ones else 0)
    return value, value


def read_chinese_day(match: Match) -> Resolve:
    """Read 昨天, 今晚, 前天下午."""
    part = match["part"] or match["short"]
    shift = DAYS[next(word for word in DAYS if match[0].startswith(word))]
    return rules.unit_from_now(PARTS[part[0]] if part else "day", shift)


def read_chinese_week(match: Match) -> Resolve:
    """Read 上周, 上周末, 上周五."""
    shift, day = SHIFTS[match["shift"]], match["day"]
    if not day or day == "末":
        return rules.unit_from_now("weekend" if day else "week", shift)
    weekday = "一二三四五六".find(day) % 7
    return lambda now, tense: unit_at("day", unit_at("week", now, shift).start + weekday * DAY)


def read_chinese_weekday(match: Match) -> Resolve:
    """Read 周五, 周末: the last one that is over; in the future tense, the next."""
    if match["day"] == "末":
        return rules.read_the_weekend(match)
    return rules.weekday_at("一二三四五六".find(match["day"]) % 7)


def read_chinese_date(match: Match) -> Resolve | None:
    """Read 5月7日, 去年5月, 今年五月七号."""
    month = number(match["month"])[0]
    day = number(match["day"])[0] if match["day"] else None
    if not 1 <= month <= 12:
        return None
    if day:
        return rules.of_year(match["year"], lambda year: calendar.days_in(year, month, day))
    return rules.of_year(match["year"], lambda year: calendar.months(year, month, 1, "month"))


def read_chinese_season(match: Match) -> Resolve | None:
    """Read 去年夏天, 2021年春天; without a year, the latest that has begun."""
    return rules.of_year(match["year"], partial(calendar.season, name=SEASONS[match["season"]]))


def read_chinese_distance(match: Match) -> Resolve | None:
    """Read 三天前, 两周前, 几个月前, 半年前."""
    unit = UNITS[match["unit"]]
    if match["count"] == "半":
        return (lambda now, tense: calendar.unit_away("month", now, -6)) if unit == "year" else None
    least, most = number(match["count"])
    return lambda now, tense: calendar.units_away(unit, now, -least, -most, sure=least == most)


def read_chinese_unit(match: Match) -> Resolve:
    """Read 去年, 上个月."""
    year, shift = match["year"], match["shift"]
    return rules.unit_from_now("year", YEARS[year]) if year else rules.unit_from_now("month", SHIFTS[shift])


CHINESE_RULES = compile_rules("chinese", globals(), start="")
