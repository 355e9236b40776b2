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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.chats.whatsapp_times import (
    ORDERS,
    DateOrders,
    MessageTime,
    Order,
    is_whatsapp_time,
    read_message_time,
)
from memory.importers.reading.dates import date_problem
from memory.importers.reading.fields import clean_text
from memory.importers.reading.session_builder import MAX_CHARACTERS, ChatLog
from memory.importers.reading.source import Record, Source, TextLine, count_records, head_text, read_lines
from memory.importers.reading.speakers import RoleAssigner
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "WhatsApp"

COPY = re.compile(r" \([0-9]{1,3}\)\Z")
LONGEST_NAME = 100
QUOTES = frozenset('"“”«»„')
MARKS = "\u200e\u200f\u202a\u202b\u202c\u2068\u2069 \u00a0\u202f~"

# An iPhone marks text by WhatsApp itself with U+200E before or within a message.
SYSTEM_MARK = "\u200e"
EDITED = re.compile(r"\s*\u200e?<[^<>\n]{5,40}>\Z")
EDITED_WORDS = ("edited", "bearbeitet", "editó", "editado", "editada", "modifié", "modificato", "bewerkt")
# <Media omitted>, <Medien ausgeschlossen>, <attached: 00000012-PHOTO.jpg>, in any language: two words in brackets.
PLACEHOLDER = re.compile(r"\u200e?<[^<>\n]{2,60}[ :][^<>\n]{1,80}>")
ATTACHED = re.compile(
    r"\u200e?(?P<file>[^\n]{1,120}\.[A-Za-z0-9]{2,5}) \((?:file attached|Datei angehängt|archivo adjunto|fichier joint|"
    r"file allegato|arquivo anexado|bestand bijgevoegd)\)(?:\n|\Z)"
)
DELETED_BY_USER = frozenset({"You deleted this message", "Du hast diese Nachricht gelöscht", "Eliminaste este mensaje"})
DELETED = DELETED_BY_USER | {"This message was deleted", "Diese Nachricht wurde gelöscht", "Se eliminó este mensaje"}


def sniff(head: bytes) -> bool:
    """Whether the first line begins with a date as WhatsApp writes it."""
    first = next((line for line in head_text(head).splitlines() if line.strip()), "")
    stamp = read_message_time(first)
    return stamp is not None and is_whatsapp_time(stamp)


@count_records
def read(path: Source) -> Iterator[Record]:
    """The sessions of one chat; the file is read twice, first for its speakers and date format."""
    survey = _survey(path)
    yield PersonaDraft(clean(COPY.sub("", path.stem)))
    yield from survey.skips
    roles = survey.roles(COPY.sub("", path.stem))
    reader = _Reader(survey.order, roles)
    for line in read_lines(path):
        if isinstance(line, Skip):
            yield line
        else:
            yield from reader.take(line)
    yield from reader.finish()
    if roles.guess:
        yield Skip("the file", f"does not say who the user is; assumed to be {roles.guess}, who speaks first")


@dataclass(slots=True)
class _Survey:
    """What only the whole file shows: the order of day and month, and who may be the user."""

    order: Order = ORDERS[0]
    speakers: dict[str, None] = field(default_factory=dict)
    user: str = ""
    skips: list[Skip] = field(default_factory=list)

    def roles(self, title: str) -> RoleAssigner:
        """The roles of the speakers, as far as the file shows them."""
        named = [name for name in self.speakers if title.casefold().endswith(name.casefold())]
        others = named if len(self.speakers) == 2 and len(named) == 1 else []
        return RoleAssigner([self.user], []) if self.user else RoleAssigner([], others)


def _survey(path: Source) -> _Survey:
    survey, dates = _Survey(), DateOrders()
    with suppress(UnreadableFile):  # raised when the file is read, after what can be read of it
        for line in read_lines(path):
            if isinstance(line, Skip) or (stamp := read_message_time(line.text)) is None:
                continue
            dates.add(stamp, line.number)
            speaker, text = split_speaker(stamp.rest)
            if speaker and not text.startswith(SYSTEM_MARK):
                survey.speakers[speaker] = None
            if speaker and _bare(text) in DELETED_BY_USER:
                survey.user = speaker
    survey.order, ambiguity = dates.choose()
    if ambiguity:
        survey.skips.append(ambiguity)
    return survey


@dataclass(slots=True)
class _Message:
    """A message whose lines are still coming in."""

    stamp: MessageTime
    speaker: str
    place: str
    lines: list[str]
    size: int = 0


class _Reader:
    """Joins lines to messages, and messages to sessions."""

    def __init__(self, order: Order, roles: RoleAssigner) -> None:
        self.order = order
        self.roles = roles
        self.log = ChatLog()
        self.message: _Message | None = None

    def take(self, line: TextLine) -> Iterator[Record]:
        """Take a line, which begins a message or continues one."""
        skips: list[Skip] = []
        place = f"line {line.number}"
        text = clean_text(line.text, place, skips)
        yield from skips
        if stamp := read_message_time(text):
            yield from self._release()
            speaker, first_line = split_speaker(stamp.rest)
            self.message = _Message(stamp, speaker, place, [first_line])
        elif self.message:
            self.message.lines.append(text)
            self.message.size += len(text)
            if self.message.size > MAX_CHARACTERS:
                long = self.message
                yield from self._release()
                self.message = _Message(long.stamp, long.speaker, place, [])
        elif text.strip():
            yield Skip(place, "text before the first message")

    def finish(self) -> Iterator[Record]:
        """Hand over the last message and session."""
        yield from self._release()
        yield from self.log.finish()

    def _release(self) -> Iterator[Record]:
        message, self.message = self.message, None
        if message is None:
            return
        said_at = message.stamp.moment(self.order)
        text, reason = text_and_skip_reason(message.speaker, "\n".join(message.lines))
        if reason:
            yield Skip(message.place, reason)
        if said_at is None:
            yield Skip(message.place, f"{message.stamp.text} is not a date as this file writes dates; kept without one")
        elif fault := date_problem(said_at):
            yield Skip(message.place, fault)
        if text:
            role = self.roles.role_of(message.speaker)
            turn = TurnDraft(message.speaker, role, text, said_at, message.stamp.text)
            yield from self.log.add(turn, message.place)


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
    if _bare(text) in DELETED:
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
