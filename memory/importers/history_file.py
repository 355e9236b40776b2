"""Read a file history by history: count the records of each, and remember where the file breaks off.

WhatsApp, Telegram and transcripts give the names of those who speak, but often not whose the file is: the user chooses
one, and the persona is named after the other.
"""

import ctypes
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from memory.errors import UnreadableFile
from memory.formatting import clip, format_count
from memory.importers import Importer
from memory.importers.chats import telegram, whatsapp
from memory.importers.child_process import LARGE_BYTES, read_file
from memory.importers.generic import transcript
from memory.importers.reading.dialogue import ROLE_OF_NAME, name_in_title
from memory.importers.reading.source import Record
from memory.progress import Progress, without_progress
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, Skip, WriteCounts

MAX_LISTED_SKIPS = 200
"""The most skips of one history that a report lists; the others are only counted."""

MAX_SPEAKERS = 1000
"""The most speakers of one history that are told apart; a chat of more has no use for their names."""

MAX_SKIP_CHARACTERS = 300
"""The longest place or reason in a report; they may quote the file."""

MAX_CHOICES = 20
"""Speakers to choose from; those who speak most."""

_TITLE = re.compile(r"WhatsApp[ -]Chat\W+(?:(?:with|mit|con|avec|com|met)\W+)?", re.IGNORECASE)
"""How WhatsApp begins the name of an export; the rest names the other person, or the group."""


@dataclass
class History:
    """The records of one history so far: how many were read, and how many stored; `speakers` with their turns."""

    header: PersonaDraft = field(default_factory=lambda: PersonaDraft(""))
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    first: datetime | None = None
    last: datetime | None = None
    speakers: dict[str, int] = field(default_factory=dict)
    has_assistant: bool = False
    skips: list[Skip] = field(default_factory=list)
    skipped: int = 0
    persona: Persona | None = None
    stored: WriteCounts = field(default_factory=WriteCounts)

    def is_among(self, names: Collection[str] | None) -> bool:
        """Whether the user chose it, by its id or name in the source; with None, every history is chosen."""
        own = {self.header.external_id.casefold(), self.header.name.casefold()} - {""}
        return names is None or not own.isdisjoint(name.casefold() for name in names)

    def count(self, record: SessionDraft | MemoryDraft | Skip) -> None:
        """Count one record."""
        if isinstance(record, Skip):
            self.skipped += 1
            if len(self.skips) < MAX_LISTED_SKIPS:
                place, reason = clip(record.place, MAX_SKIP_CHARACTERS), clip(record.reason, MAX_SKIP_CHARACTERS)
                self.skips.append(Skip(place, reason))
        elif isinstance(record, SessionDraft):
            self.sessions += 1
            self.turns += len(record.turns)
            self._count_time(record.started_at)
            for turn in record.turns:
                self._count_time(turn.said_at)
                self.has_assistant = self.has_assistant or turn.role == "assistant"
                if turn.speaker in self.speakers or len(self.speakers) < MAX_SPEAKERS:
                    self.speakers[turn.speaker] = self.speakers.get(turn.speaker, 0) + 1
        else:
            self.memories += 1
            self._count_time(record.event.start if record.event else record.said_at)

    def _count_time(self, moment: datetime | None) -> None:
        if moment is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)


class HistoryFile:
    """A file while it is read, once: its histories so far, and where it breaks off. It must be closed."""

    def __init__(self, path: Path, progress: Progress = without_progress) -> None:
        self.path = path
        self.histories: dict[str, History] = {}
        self.fault = ""
        self.progress = progress
        self._share = 0.0
        unpacked, self._records = read_file(path, lambda: self.progress(self._share))
        self.importer, self.size, self.is_export = unpacked.importer, unpacked.size, unpacked.is_export

    def close(self) -> None:
        """End the reading, wherever it is; what a large file took of memory goes back to the system."""
        self._records.close()
        if self.size > LARGE_BYTES and sys.platform == "linux":
            with suppress(OSError, AttributeError):  # glibc has it, and keeps what was freed for each thread
                ctypes.CDLL(None).malloc_trim(0)

    def read(self) -> Iterator[tuple[History, SessionDraft | MemoryDraft]]:
        """Read each session and memory, with the history it belongs to.

        Raises:
            UnreadableFile: nothing in the file can be stored. Where the file breaks off later is kept in `fault`.
        """
        # Skips before the first history are reported with that history.
        history = unnamed = History()
        size = 0
        try:
            for record in self._records:
                if isinstance(record, PersonaDraft):
                    if not self.histories:
                        unnamed.header = record
                    history = self.histories.setdefault(_key(record), History(record) if self.histories else unnamed)
                else:
                    history.count(record)
                    if not isinstance(record, Skip):
                        yield history, record
                # The share is estimated from the length of the text, because parsers read ahead.
                size += size_of(record)
                self._share = min(size / max(self.size, 1), 0.99)
                self.progress(self._share)
        except UnreadableFile as broken:
            histories = self.histories.values()
            sessions = format_count(sum(h.sessions for h in histories), "complete session")
            memories = format_count(sum(h.memories for h in histories), "memory", "memories")
            kept = f"{sessions} and {memories} of {format_count(len(histories), 'history', 'histories')}"
            self.fault = f"{broken} Readable up to that point: {kept}."
        self._check(unnamed)

    def read_to_end(self) -> None:
        """Read all histories, to know what the file contains; raises as `read` does."""
        for _ in self.read():
            pass

    def _check(self, unnamed: History) -> None:
        histories = self.histories.values()
        for h in histories:
            # A character card, and an export, may contain only a persona.
            if h.sessions or h.memories or self.is_export or h.header.description or h.header.traits:
                return
        skips = [skip for h in histories or [unnamed] for skip in h.skips]
        if self.fault or skips or not histories:
            why = f"{skips[0].place}: {skips[0].reason}" if skips else "it contains no history"
            raise UnreadableFile(
                self.fault or f"{self.path.name}, read as {self.importer.NAME}, has nothing to store. {why}."
            )


def _key(header: PersonaDraft) -> str:
    """What tells a history of a file from the others."""
    return header.external_id or header.name


def size_of(record: Record) -> int:
    """Roughly the size of a record in its file, in bytes."""
    if isinstance(record, SessionDraft):
        return sum(len(t.text.encode()) + len(t.speaker) + 30 for t in record.turns)
    return len(record.text.encode()) if isinstance(record, MemoryDraft) else 0


def find_speakers(importer: Importer, histories: Collection[History]) -> tuple[tuple[str, ...], str]:
    """The speakers of whom the user may be one, who speaks most first, and the one who surely is, if one is.

    That is who is called "Me", or is not the one whom a chat of two is named after. There are none where the file says
    who the user is.
    """
    turns = Counter[str]()
    for history in histories:
        if not history.has_assistant and importer in (whatsapp, telegram, transcript):
            turns.update(history.speakers)
    if len(turns) < 2:
        return (), ""
    ranked = tuple(speaker for speaker, _ in turns.most_common(MAX_CHOICES))
    for history in histories:
        users = [speaker for speaker in history.speakers if ROLE_OF_NAME.get(speaker.casefold()) == "user"]
        if not users and (other := name_in_title(history.header.name, history.speakers)):
            users = [speaker for speaker in history.speakers if speaker != other]
        if users:
            return ranked, users[0]
    return ranked, ""


class Participants:
    """Who speaks in each history of a file, and which of them is the user; of no effect without a user."""

    def __init__(self, path: Path, user: str, progress: Progress) -> None:
        """Read the file to its end: only all of it shows who speaks in it."""
        self._user = user
        self._others: dict[str, list[str]] = {}
        """With whom the user speaks, in each history that they speak in."""
        if user:
            with closing(HistoryFile(path, progress)) as file:
                file.read_to_end()
            for key, history in file.histories.items():
                if user in history.speakers:
                    self._others[key] = [speaker for speaker in history.speakers if speaker != user]

    def persona(self, header: PersonaDraft) -> PersonaDraft:
        """The persona of a history: in a chat of two called like the other, and known by the name of the source."""
        others = self._others.get(_key(header))
        if others is None:
            return header
        name = others[0] if len(others) == 1 else _TITLE.sub("", header.name, count=1) or header.name
        return replace(header, name=name, external_id=_key(header))

    def session(self, header: PersonaDraft, session: SessionDraft) -> SessionDraft:
        """A session of the history with the user in their role."""
        if _key(header) not in self._others:
            return session
        turns = (
            replace(turn, role="user" if turn.speaker == self._user else "other" if turn.role == "user" else turn.role)
            for turn in session.turns
        )
        return replace(session, turns=tuple(turns))
