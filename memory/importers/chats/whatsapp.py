"""WhatsApp's export of a chat (More, Export chat): a text file, or a zip of it with the pictures.

    [01/05/24, 08:00:05] Ana: Where is my kayak?                 iPhone
    05/01/24, 8:00 AM - Ana: Where is my kayak?                  Android
    It was red.                                                  the next line of the same message
    01.05.24, 08:01 - Messages and calls are end-to-end ...      a line by WhatsApp itself: no speaker
    [01/05/24, 08:02:00] Bo: <U+200E>image omitted               text that WhatsApp writes for a speaker

The date format follows the phone's language. Whether the day or the month is first is decided from the whole file: by a
number over 12, else by the order in which time does not run backwards, else the day is first, which is reported. Clocks
of 12 and 24 hours are read, also with "PM" before the hour. Times are local without a zone and are read as UTC.
Forms as parsed by github.com/realyuvishere/whatsapp-group-chat-analyzer-and-visualizer, github.com/pauloneves/bolsozap
and others, and as documented for a Finnish iPhone ("12.3.2022 klo 14.08.18").

One history, named after the file; a pause of six hours begins a session. The file does not name the user: it is the one
who deleted a message as "You"; in a chat of two, the one who is not in the file's name ("WhatsApp Chat with Bo"); else
the first to speak, which is reported. Media are left out, their captions kept.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from memory import fill, read_table
from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.reading.dialogue import MAX_CHARACTERS, ChatLog, RoleAssigner, name_in_title
from memory.importers.reading.fields import date_problem
from memory.importers.reading.source import Record, Source, head_text, read_lines, record_reader
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "WhatsApp"

ORDERS = ("day/month/year", "month/day/year", "year/month/day")
"""If nothing in a file decides, the first is used, which most languages write."""

_FORMS = read_table(__file__)
STAMP, EDITED, PLACEHOLDER, ATTACHED = (
    re.compile(fill(pattern, _FORMS["parts"]).replace("\n", ""), re.DOTALL) for pattern in _FORMS["patterns"].values()
)
MORNING, AFTERNOON, EDITED_WORDS, DELETED_BY_USER, DELETED_BY_OTHERS = map(frozenset, _FORMS["words"].values())

FIRST_YEAR = 2009
"""The year in which WhatsApp appeared."""

COPY = re.compile(r" \([0-9]{1,3}\)\Z")
LONGEST_NAME = 100
QUOTES = frozenset('"“”«»„')
MARKS = "\u200e\u200f\u202a\u202b\u202c\u2068\u2069 \u00a0\u202f~"
SYSTEM_MARK = "\u200e"
"""An iPhone marks text by WhatsApp itself with it, before or within a message."""


def sniff(head: bytes) -> bool:
    """Whether the first line begins with a date as WhatsApp writes it, not a transcript that is written by hand."""
    first = next((line for line in head_text(head).splitlines() if line.strip()), "")
    stamp = read_message_time(first)
    return stamp is not None and not stamp.is_plain and any(stamp.moment(order) for order in ORDERS)


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The sessions of one chat; the file is read twice, first for its speakers and date format."""
    title = COPY.sub("", path.stem)
    order, roles, ambiguity = _survey(path, title)
    yield PersonaDraft(clean(title))
    yield ambiguity
    log = ChatLog(skips)
    for stamp, speaker, written, place in _read_messages(path, skips):
        said_at = stamp.moment(order)
        text, reason = text_and_skip_reason(speaker, written)
        if reason:
            yield Skip(place, reason)
        if said_at is None:
            yield Skip(place, f"{stamp.text} is not a date as this file writes dates; kept without one")
        elif fault := date_problem(said_at):
            yield Skip(place, fault)
        if text:
            turn = TurnDraft(speaker, roles.role_of(speaker), text, said_at, stamp.text)
            yield from log.add(turn, place)
        yield None
    yield from log.finish()
    yield roles.guess_at("the file")


def _survey(path: Source, title: str) -> tuple[str, RoleAssigner, Skip | None]:
    """What only the whole file shows: the order of day and month, who may be the user, and what remains in doubt."""
    dates, speakers, user = list[tuple[str, MessageTime]](), dict[str, None](), ""
    with suppress(UnreadableFile):  # raised when the file is read, after what can be read of it
        for stamp, speaker, text, place in _read_messages(path, []):
            # The first time of a day is enough, so that a chat of any length fits in memory.
            if not dates or stamp.numbers != dates[-1][1].numbers:
                dates.append((place, replace(stamp, rest="")))
            if speaker and not text.startswith(SYSTEM_MARK):
                speakers[speaker] = None
            if speaker and _bare(text) in DELETED_BY_USER:
                user = speaker
    other = "" if user else name_in_title(title, speakers)
    order, ambiguity = find_order(dates)
    return order, RoleAssigner([user] if user else [], [other] if other else []), ambiguity


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

    def moment(self, order: str) -> datetime | None:
        """The moment, with the numbers read in this order; None if there is no such day."""
        date = dict(zip(order.split("/"), self.numbers, strict=True))
        year = date["year"] if date["year"] >= 100 else date["year"] + 2000
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


def find_order(dates: Sequence[tuple[str, MessageTime]]) -> tuple[str, Skip | None]:
    """The order with the fewest impossible dates, then the fewest steps back in time; and a skip if two tie.

    Each date comes with its place.
    """
    faults = {order: _count_faults([stamp.moment(order) for _, stamp in dates]) for order in ORDERS}
    *by_day, by_year = ORDERS
    if all(faults[order][0] > faults[by_year][0] for order in by_day):
        return by_year, None
    best = min(by_day, key=faults.__getitem__)
    first = next(((place, stamp) for place, stamp in dates if len({*map(stamp.moment, by_day)}) > 1), None)
    if first is None or len({faults[order] for order in by_day}) > 1:
        return best, None
    place, stamp = first
    return best, Skip(place, f"day and month cannot be told apart; {stamp.text} and all other dates are read as {best}")


def _count_faults(moments: Sequence[datetime | None]) -> tuple[int, int]:
    """How many dates are impossible, and how many others lie before the one that comes first in the file."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    possible = [moment for moment in moments if moment and moment.year >= FIRST_YEAR and moment <= tomorrow]
    return len(moments) - len(possible), sum(later < earlier for earlier, later in pairwise(possible))


def _read_messages(path: Source, skips: list[Skip]) -> Iterator[tuple[MessageTime, str, str, str]]:
    """The time, speaker, text and place of each message, which may have several lines; of a very long one, in parts."""
    stamp: MessageTime | None = None
    speaker, place, lines, size = "", "", list[str](), 0
    for line in read_lines(path, skips):
        began = read_message_time(line.text)
        if stamp and (began or size > MAX_CHARACTERS):
            yield stamp, speaker, "\n".join(lines), place
            place, lines, size = line.place, [], 0
        if began:
            stamp, place = began, line.place
            speaker, text = split_speaker(began.rest)
            lines.append(text)
        elif stamp:
            lines.append(line.text)
            size += len(line.text)
        elif line.text.strip():
            skips.append(Skip(line.place, "text before the first message"))
    if stamp:
        yield stamp, speaker, "\n".join(lines), place


def split_speaker(rest: str) -> tuple[str, str]:
    """The speaker and the text; no speaker for a line by WhatsApp itself."""
    speaker, colon, text = rest.partition(":")
    speaker = speaker.strip(MARKS)
    is_name = 0 < len(speaker) <= LONGEST_NAME and QUOTES.isdisjoint(speaker)
    if not colon or (text and not text[0].isspace()) or not is_name:
        return "", rest
    return speaker, text.removeprefix(" ")


def text_and_skip_reason(speaker: str, text: str) -> tuple[str, str]:
    """The text that the speaker wrote, and why something is left out of the message; either may be empty."""
    if not speaker:
        return "", "a line by WhatsApp itself"
    if (edited := EDITED.search(text[-60:])) and any(word in edited[0] for word in EDITED_WORDS):
        text = text[: -len(edited[0])]
    if _bare(text) in DELETED_BY_USER | DELETED_BY_OTHERS:
        return "", "deleted by its author"
    if PLACEHOLDER.fullmatch(text.strip()):
        return "", f"only text is kept; left out: {_bare(text)}"
    if attached := ATTACHED.match(text):
        return text[attached.end() :].strip(), f"only text is kept; left out: {attached['file'].strip(SYSTEM_MARK)}"
    written, mark, own = text.partition(SYSTEM_MARK)
    own, _, further = own.partition("\n")
    if mark and (not written.strip() or PLACEHOLDER.fullmatch(own.strip()) or own.rstrip().endswith("omitted")):
        return f"{written}\n{further}".strip(), f"text by WhatsApp itself: {own.strip()}"
    return text.strip(), "" if text.strip() else "empty message"


def _bare(text: str) -> str:
    return text.strip().strip(SYSTEM_MARK).rstrip(".").strip()
