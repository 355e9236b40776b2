"""Rules for Chinese times: 2023年5月7日, 昨天, 上周五, 两周前, 去年夏天.

Of these `dateparser` 1.5.0 (as "zh") reads 昨天, 去年 and numeric dates with a year, but not 上周五, 三天前, 两周前 or
5月7日; all are read here, with the same calendar functions as English. 上周五 is the Friday of the week before, not
the last one that is over.
"""

import re
from collections.abc import Callable

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, WORDS, unit_at
from memory.dates.rules import Kind, Match, Resolve, Rule

DIGITS = "零一二三四五六七八九十"
NUMBER = r"(?:\d{1,4}|[一二两三四五六七八九十]{1,3}|几|多|半)"
WEEK = r"(?:周|星期|礼拜)"
YEARS, DAYS, SHIFTS, SEASONS, PARTS, UNITS = WORDS["chinese"].values()
YEAR_WORD = f"(?:{'|'.join(YEARS)})"
SHIFT = r"(?P<shift>上上|下下|上|这|本|下)一?个?"
PART = r"(?P<part>早上|早晨|上午|下午|晚上|夜里|早|晚)"


def number(text: str) -> tuple[int, int]:
    """The least and the most that a Chinese number means: 三 is 3 to 3, 几 is 2 to 5."""
    if text in {"几", "多"}:
        return (2, 5) if text == "几" else (5, 20)
    if text.isdecimal():
        return int(text), int(text)
    text = text.replace("两", "二")
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return DIGITS.index(text), DIGITS.index(text)
    value = 10 * (DIGITS.index(tens) if tens else 1) + (DIGITS.index(ones) if ones else 0)
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
    return lambda now, tense: calendar.day_at(unit_at("week", now, shift).start + weekday * DAY)


def read_chinese_weekday(match: Match) -> Resolve:
    """Read 周五, 周末: the last one that is over; in the future tense, the next."""
    if match["day"] == "末":
        return rules.the_weekend
    return rules.weekday_at("一二三四五六".find(match["day"]) % 7)


def read_chinese_date(match: Match) -> Resolve | None:
    """Read 5月7日, 去年5月, 今年五月七号."""
    month = number(match["month"])[0]
    day = number(match["day"])[0] if match["day"] else None
    if not 1 <= month <= 12:
        return None
    if match["year"]:
        shift = YEARS[match["year"]]
        return lambda now, tense: next(
            (one for one in calendar.in_each_year(now, month, day) if one.start.year == now.year + shift), None
        )
    return rules.occurrence(lambda now: calendar.in_each_year(now, month, day))


def read_chinese_season(match: Match) -> Resolve | None:
    """Read 去年夏天, 2021年春天; without a year, the latest that has begun."""
    name = SEASONS[match["season"]]
    if match["number"]:
        return rules.fixed(calendar.season(int(match["number"]), name))
    if match["year"]:
        shift = YEARS[match["year"]]
        return lambda now, tense: calendar.season(now.year + shift, name)
    return rules.occurrence(lambda now: calendar.seasons(now, name))


def read_chinese_distance(match: Match) -> Resolve | None:
    """Read 三天前, 两周前, 几个月前, 半年前."""
    unit = UNITS[match["unit"]]
    if match["count"] == "半":
        return (lambda now, tense: calendar.unit_away("month", now, -6)) if unit == "year" else None
    least, most = number(match["count"])
    return lambda now, tense: calendar.units_away(unit, now, -least, -most, sure=least == most)


def chinese(pattern: str, read: Callable[[Match], Resolve | None], kind: Kind = "plain") -> Rule:
    """Compile a rule for a script without spaces between words."""
    return Rule(re.compile(pattern), read, kind)


CHINESE_RULES = (
    chinese(r"(?P<number>\d{4})年(?P<year>)的?(?P<season>[春夏秋冬])[天季]", read_chinese_season),
    chinese(r"\d{4}年(?:\d{1,2}月(?:份|\d{1,2}[日号])?)?", rules.read_full_date),
    chinese(rf"(?P<year>{YEAR_WORD})(?P<number>)的?(?P<season>[春夏秋冬])[天季]", read_chinese_season),
    chinese(
        rf"(?<![\d一二两三四五六七八九十几半])(?:(?P<year>{YEAR_WORD})的?)?(?P<month>\d{{1,2}}|十[一二]?|[一二三四五六七八九])月"
        r"(?:份|(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})[日号])?",
        read_chinese_date,
        "recurring",
    ),
    chinese(YEAR_WORD, lambda match: rules.unit_from_now("year", YEARS[match[0]])),
    chinese(rf"(?:(?:大前|前|昨|今|明|后)[天日](?:{PART})?|[昨今明](?P<short>[晚早夜]))", read_chinese_day),
    chinese(rf"{SHIFT}{WEEK}(?P<day>[一二三四五六日天末])?", read_chinese_week),
    chinese(rf"{SHIFT}月", lambda match: rules.unit_from_now("month", SHIFTS[match["shift"]])),
    chinese(rf"(?<![每一两三]){WEEK}(?P<day>[一二三四五六日天末])", read_chinese_weekday, "recurring"),
    chinese(rf"(?P<count>{NUMBER})个?(?P<unit>{'|'.join(UNITS)})(?:多|之|以)?前", read_chinese_distance, "count"),
    chinese(r"最近|近来", lambda match: rules.days_ago(30, 0)),
    chinese(r"(?<=在)(?:(?P<year>)(?P<number>))(?P<season>[春夏秋冬])[天季]", read_chinese_season, "recurring"),
)
