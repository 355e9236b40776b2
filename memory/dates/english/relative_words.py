"""Rules for times relative to the moment of speaking: "yesterday", "last week", "two years ago", "recently"."""

from dataclasses import replace
from datetime import datetime

from memory.dates import calendar, rules
from memory.dates.calendar import DAY, WORDS, Stretch, Tense, run_of_days
from memory.dates.rules import Match, Resolve, compile_rules

DAY_WORDS: dict[str, int] = WORDS["days"]
VAGUE: dict[str, tuple[int, int]] = WORDS["vague"]


def read_day_word(match: Match) -> Resolve:
    """Read "yesterday", "today", "tomorrow" and their neighbours."""
    return rules.unit_from_now("day", DAY_WORDS[" ".join(match[0].lower().split())])


def read_tonight(match: Match) -> Resolve:
    """Read "tonight"."""
    return rules.unit_from_now("night", 0)


def read_the_weekend(match: Match) -> Resolve:
    """Read "the weekend"."""
    return rules.the_weekend


def read_unit(match: Match) -> Resolve | None:
    """Read "last week", "this month", "the weekend before last": whole calendar units."""
    unit = match["unit"].lower()
    shift = {"last": -1, "this": 0, "next": 1}[rules.choice_of(match["which"])]
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
    nearer = rules.occurrence(lambda now: calendar.weekdays(now, weekday), "last" if sign < 0 else "next")
    return lambda now, tense: nearer(now + 7 * sign * DAY, tense)


def read_distance(match: Match) -> Resolve | None:
    """Read "two weeks ago", "a few days ago", "in three months", "a week from now"."""
    least, most = rules.count_of(match["count"])
    unit, sign = match["unit"].lower(), -1 if match["way"] else 1
    if (
        least == 0
        or rules.before("asking_how_many", match)
        or (not match["way"] and rules.before("done_before", match))
    ):
        return None  # "how many days ago", "I read it in four days"
    if match["half"]:
        return read_half_more(unit, sign, least)
    weekday, sure = rules.named_weekday(unit), not rules.is_vague_count(match["count"])

    def resolve(now: datetime, tense: Tense) -> Stretch:
        if weekday is None:
            return calendar.units_away(unit, now, sign * least, sign * most, sure=sure)
        last = calendar.weekday_before(now, weekday) if sign < 0 else calendar.weekday_after(now + DAY, weekday)
        return calendar.day_at(last + 7 * sign * (least - 1) * DAY)

    return resolve


def read_range_ago(match: Match) -> Resolve:
    """Read "two or three weeks ago" and "a week or so ago": from the farther to the nearer, unsure."""
    unit, least = match["unit"].lower(), rules.count_of(match["least"])[0]
    most = least + 1 if match["most"].lower() == "so" else rules.count_of(match["most"])[1]
    return lambda now, tense: replace(calendar.units_away(unit, now, -least, -most, sure=False), unit="span")


def read_half_more(unit: str, sign: int, count: int) -> Resolve | None:
    """Read "a year and a half ago", "a week and a half ago", and with a count of 0 "half an hour ago"."""
    finer = {"year": ("month", 12), "week": ("day", 7), "day": ("hour", 24), "hour": ("minute", 60)}.get(unit)
    if finer is None:
        return None
    return lambda now, tense: calendar.unit_away(finer[0], now, sign * (count * finer[1] + finer[1] // 2))


def read_half(match: Match) -> Resolve | None:
    """Read "half a year ago"."""
    return read_half_more(match["unit"].lower(), -1, 0)


ROLLING_DAYS = {"day": 1, "night": 1, "week": 7, "weekend": 7, "fortnight": 14}
ROLLING_MONTHS = {"month": 1, "year": 12, "decade": 120}


def read_rolling(match: Match) -> Resolve:
    """Read "the last two weeks" and "in the past year": up to today, today included; "the next" from today on."""
    unit, counted = match["unit"].lower(), match["count"] or "one"
    sign = 1 if rules.choice_of(match["which"]) == "next" else -1
    count, sure = sign * rules.count_of(counted)[1], not rules.is_vague_count(counted)

    def resolve(now: datetime, tense: Tense) -> Stretch:
        today = calendar.midnight(now)
        if unit in ROLLING_DAYS:
            far = today + count * ROLLING_DAYS[unit] * DAY
        else:
            far = calendar.shift_months(today, count * ROLLING_MONTHS[unit])
        return Stretch(min(far, today), max(far, today) + DAY, sure=sure)

    return resolve


def read_vague(match: Match) -> Resolve | None:
    """Read "recently", "the other day", "a while ago"."""
    far, near = VAGUE[" ".join(match[0].lower().split())]
    if rules.before("asking_how_many", match):
        return None  # "how long ago", "how many years ago"
    return rules.days_ago(far, near)


def read_this_time(match: Match) -> Resolve:
    """Read "this time last year": about the same date."""
    unit = match["unit"].lower()
    spread = {"year": 15, "month": 3, "week": 1}[unit]

    def resolve(now: datetime, tense: Tense) -> Stretch:
        then = now - 7 * DAY if unit == "week" else calendar.shift_months(now, -12 if unit == "year" else -1)
        return replace(run_of_days(then - spread * DAY, 2 * spread + 1), sure=False)

    return resolve


RELATIVE_RULES = compile_rules("relative", globals())
