"""Parse the date and time before a WhatsApp message, in the order and spelling of the phone's language."""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from memory.types import Skip

Order = Literal["day/month/year", "month/day/year", "year/month/day"]

ORDERS: tuple[Order, ...] = ("day/month/year", "month/day/year", "year/month/day")
"""If nothing in a file decides, the first is used, which most languages write."""

_MARK = "[\u200e\u200f\u202a-\u202e\u2066-\u2069]{0,3}"
_SPACE = "[ \u00a0\u202f]"
_HALF = rf"[^\W\d_]{{1,5}}(?:\.?{_SPACE}?[^\W\d_]{{1,3}})?\.?"
# Digits of any script: a phone set to Arabic or Hindi writes those.
STAMP = re.compile(
    rf"{_MARK}(?P<open>\[?){_MARK}(?P<stamp>(?P<first>\d{{1,4}}){_MARK}(?P<mark>[./-]){_SPACE}?{_MARK}"
    rf"(?P<second>\d{{1,2}}){_MARK}[./-]{_SPACE}?{_MARK}(?P<third>\d{{1,4}})\.?(?P<comma>[,،]?){_SPACE}{{0,2}}{_MARK}"
    rf"(?:(?P<before>{_HALF}){_SPACE}?)?(?P<hour>\d{{1,2}})[:.](?P<minute>\d{{2}})(?:[:.](?P<seconds>\d{{2}}))?"
    rf"(?:{_SPACE}?(?P<after>{_HALF}))?){_MARK}(?:\]|{_SPACE}[-–]){_SPACE}(?P<rest>.*)",
    re.DOTALL,
)
# "a.m.", "p. m." and so on, without dots and spaces; other words before the hour ("klo", "um") mean "at".
MORNING = frozenset({"am", "上午", "午前", "오전", "vorm", "πμ", "ص"})
AFTERNOON = frozenset({"pm", "下午", "午後", "오후", "nachm", "μμ", "م"})
SHORT_YEAR = 100
CENTURY = 2000
FIRST_YEAR = 2009
"""The year in which WhatsApp appeared."""


@dataclass(frozen=True, slots=True)
class MessageTime:
    """A date of three numbers and a clock time; `text` is their spelling in the file, `rest` what follows.

    `is_plain` marks a date that people, too, would write by hand.
    """

    text: str
    numbers: tuple[int, int, int]
    clock: tuple[int, int, int]
    rest: str
    is_plain: bool

    def moment(self, order: Order) -> datetime | None:
        """The moment, with the numbers read in this order; None if there is no such day."""
        date = dict(zip(order.split("/"), self.numbers, strict=True))
        year = date["year"] if date["year"] >= SHORT_YEAR else date["year"] + CENTURY
        try:
            return datetime(year, date["month"], date["day"], *self.clock, tzinfo=UTC)
        except ValueError:
            return None


def read_message_time(line: str) -> MessageTime | None:
    """The date and time that a line begins with; None for a line that continues a message."""
    match = STAMP.match(line)
    if match is None:
        return None
    hour = int(match["hour"])
    half = re.sub(r"[.\s]", "", (match["after"] or match["before"] or "").lower())
    if half in MORNING | AFTERNOON:
        hour = hour % 12 + (12 if half in AFTERNOON else 0)
    clock = (hour, int(match["minute"]), int(match["seconds"] or 0))
    if clock >= (24, 0, 0) or max(clock[1:]) > 59:
        return None
    numbers = (int(match["first"]), int(match["second"]), int(match["third"]))
    # The year first, without a comma or a word: people write this by hand, too.
    is_plain = len(match["first"]) == 4 and not match["comma"] and not match["before"]
    return MessageTime(match["stamp"], numbers, clock, match["rest"], is_plain)


def is_whatsapp_time(stamp: MessageTime) -> bool:
    """Whether a first line with this date is WhatsApp's, not that of a transcript written by hand."""
    return not stamp.is_plain and any(stamp.moment(order) for order in ORDERS)


@dataclass(slots=True)
class DateOrders:
    """Counts, for each order of the numbers, the dates of a file that would be impossible or run backwards."""

    impossible: dict[Order, int] = field(default_factory=lambda: dict.fromkeys(ORDERS, 0))
    backwards: dict[Order, int] = field(default_factory=lambda: dict.fromkeys(ORDERS, 0))
    last: dict[Order, datetime] = field(default_factory=dict)
    tomorrow: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))
    first_told_apart: int = 0
    _example: str = ""

    def add(self, stamp: MessageTime, line: int) -> None:
        """Count a date, given the number of its line."""
        for order in ORDERS:
            moment = stamp.moment(order)
            if moment is None or not moment.year >= FIRST_YEAR or moment > self.tomorrow:
                self.impossible[order] += 1
                continue
            self.backwards[order] += moment < self.last.get(order, moment)
            self.last[order] = moment
        if not self.first_told_apart and stamp.moment(ORDERS[0]) != stamp.moment(ORDERS[1]):
            self.first_told_apart, self._example = line, stamp.text

    def choose(self) -> tuple[Order, Skip | None]:
        """The order with the fewest impossible dates, then the fewest steps back in time; and a skip if two tie."""
        by_day = ORDERS[:2]
        if all(self.impossible[order] > self.impossible["year/month/day"] for order in by_day):
            return "year/month/day", None
        rank = {order: (self.impossible[order], self.backwards[order]) for order in by_day}
        best = min(by_day, key=lambda order: rank[order])
        if rank[by_day[0]] != rank[by_day[1]] or not self.first_told_apart:
            return best, None
        doubt = f"day and month cannot be told apart; {self._example} and all other dates are read as {best}"
        return best, Skip(f"line {self.first_told_apart}", doubt)
