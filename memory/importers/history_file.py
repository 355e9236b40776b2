"""The histories of a file while it is read: what has been met of each, and where the file breaks off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path

from memory.errors import UnreadableFile
from memory.importers.detect import unpack
from memory.importers.reading.source import Record
from memory.progress import Progress, without_progress
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, Skip, WriteCounts

MAX_LISTED_SKIPS = 200
"""Skips of one history that a report lists in full; the rest is counted."""

MAX_SKIP_CHARACTERS = 300
"""Characters of a place or reason, which may quote the file, in a report."""


@dataclass
class History:
    """What has been met of one history so far, and what has been stored of it."""

    header: PersonaDraft = field(default_factory=lambda: PersonaDraft(""))
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    first: datetime | None = None
    last: datetime | None = None
    skips: list[Skip] = field(default_factory=list)
    skipped: int = 0
    persona: Persona | None = None
    stored: WriteCounts = field(default_factory=WriteCounts)

    @property
    def names(self) -> set[str]:
        """What it can be chosen by."""
        return {self.header.external_id.casefold(), self.header.name.casefold()} - {""}

    def count(self, record: SessionDraft | MemoryDraft | Skip) -> None:
        """Count one record."""
        if isinstance(record, Skip):
            self.skipped += 1
            if len(self.skips) < MAX_LISTED_SKIPS:
                self.skips.append(Skip(_clip(record.place), _clip(record.reason)))
        elif isinstance(record, SessionDraft):
            self.sessions += 1
            self.turns += len(record.turns)
            for moment in (record.started_at, *(turn.said_at for turn in record.turns)):
                self._meet_time(moment)
        else:
            self.memories += 1
            self._meet_time(record.event.start if record.event else record.said_at)

    def _meet_time(self, moment: datetime | None) -> None:
        if moment is not None:
            self.first = min(self.first or moment, moment)
            self.last = max(self.last or moment, moment)


class HistoryFile:
    """A file as it is read: the histories met so far, each once, and where it breaks off."""

    def __init__(self, path: Path, progress: Progress = without_progress) -> None:
        self.path = path
        self._unpacked = unpack(path)
        self.importer = self._unpacked.importer
        self.histories: dict[str, History] = {}
        self.fault = ""
        self._progress = progress

    def read(self) -> Iterator[tuple[History, SessionDraft | MemoryDraft]]:
        """Each session and memory, counted, with the history it belongs to.

        Raises:
            UnreadableFile: nothing in the file can be stored. A fault after something came is kept in `fault`.
        """
        # What cannot be read before the first history is named is told with that one.
        history = nobody = History()
        try:
            for record in _observed(self._records(), self._unpacked.size, self._progress):
                if isinstance(record, PersonaDraft):
                    history = self._turn_to(record, nobody)
                    continue
                history.count(record)
                if not isinstance(record, Skip):
                    yield history, record
        except UnreadableFile as broken:
            self.fault = str(broken)
        self._check(nobody)

    def _records(self) -> Iterator[Record]:
        yield from chain.from_iterable(self.importer.read(source) for source in self._unpacked.sources)
        yield from self._unpacked.skips

    def _turn_to(self, header: PersonaDraft, nobody: History) -> History:
        if not self.histories:
            nobody.header = header
        return self.histories.setdefault(
            header.external_id or header.name, History(header) if self.histories else nobody
        )

    def _check(self, nobody: History) -> None:
        everyone = self.histories.values()
        # A character card may hold nothing but who somebody is.
        if any(h.sessions or h.memories or h.header.description or h.header.traits for h in everyone):
            return
        skips = [skip for h in everyone or [nobody] for skip in h.skips]
        if self.fault or skips or not everyone:
            why = f"{skips[0].place}: {skips[0].reason}" if skips else "it holds no history"
            raise UnreadableFile(
                self.fault or f"{self.path.name}, read as {self.importer.NAME}, has nothing to store. {why}."
            )


def _observed(records: Iterator[Record], size: int, progress: Progress) -> Iterator[Record]:
    """The same records; after each the share that was read is told, judged by their text, since parsers read ahead."""
    read = 0
    for record in records:
        yield record
        read += size_of(record)
        progress(min(read / max(size, 1), 0.99))


def _clip(text: str) -> str:
    return text if len(text) <= MAX_SKIP_CHARACTERS else f"{text[: MAX_SKIP_CHARACTERS - 1]}…"


def size_of(record: Record) -> int:
    """About how much of a file a record takes up."""
    if isinstance(record, SessionDraft):
        return sum(len(t.text.encode()) + len(t.speaker) + 30 for t in record.turns)
    return len(record.text.encode()) if isinstance(record, MemoryDraft) else 0
