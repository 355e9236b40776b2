"""A file of somebody's history into the bank, with an account of what was stored and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from memory.bank import Bank
from memory.errors import UnreadableFile
from memory.importers import Record, detect
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, Skip, Stored

BATCH_TURNS = 2000
"""Turns a transaction: a thousandth of a second a turn is lost if the machine stops, and commits cost nothing."""

KEPT_SKIPS = 200
"""Skips of one history that a report lists in full; the rest is counted."""

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Found:
    """One history in a file, before anything of it is stored."""

    external_id: str
    name: str
    sessions: int
    turns: int
    memories: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds. `fault` says where and why it breaks off, if it does."""

    format: str
    histories: tuple[Found, ...]
    skipped: int
    fault: str


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """What became of one history: found = stored + known before + skipped."""

    persona: Persona
    found_sessions: int
    found_turns: int
    found_memories: int
    stored: Stored
    skips: tuple[Skip, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a file. All that a `fault` left readable is stored."""

    path: Path
    format: str
    histories: tuple[HistoryReport, ...]
    fault: str


@dataclass
class _Tally:
    """What has been met of the history that is being read."""

    header: PersonaDraft
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    times: list[datetime] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    skipped: int = 0

    def meet(self, record: SessionDraft | MemoryDraft | Skip) -> None:
        """Count one record."""
        if isinstance(record, Skip):
            self.skipped += 1
            if len(self.skips) < KEPT_SKIPS:
                self.skips.append(record)
        elif isinstance(record, SessionDraft):
            self.sessions += 1
            self.turns += len(record.turns)
            self._meet_time(record.started_at)
        else:
            self.memories += 1
            self._meet_time(record.event.start if record.event else record.said_at)

    def _meet_time(self, moment: datetime | None) -> None:
        if moment is not None:
            self.times = [min([*self.times, moment]), max([*self.times, moment])]


def contents(path: Path) -> Contents:
    """Read a file to its end and tell what histories it holds; stores nothing.

    Raises:
        UnreadableFile: it is no known format, or nothing in it can be read.
    """
    importer = detect(path)
    tallies: list[_Tally] = []
    fault = ""
    skipped = 0
    try:
        for record in importer.read(path):
            if isinstance(record, PersonaDraft):
                tallies.append(_Tally(record))
            elif tallies:
                tallies[-1].meet(record)
            skipped += isinstance(record, Skip)
    except UnreadableFile as broken:
        if not tallies:
            raise
        fault = str(broken)
    return Contents(importer.NAME, tuple(_found(t) for t in tallies), skipped, fault)


def ingest(
    bank: Bank,
    path: Path,
    *,
    choose: Collection[str] | None = None,
    persona: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Store the histories of a file, each as a persona of its own; a second time adds nothing.

    Args:
        bank: Where to.
        path: What from; the format is told by its content.
        choose: Source ids or names of the histories to take; all if None.
        persona: The name or number of the one persona that everything taken goes to; made if missing.
        progress: Told the share of the file that has been read, 0..1.

    Raises:
        UnreadableFile: no known format, nothing readable, or nothing in it is called as chosen. A file that breaks off
            later is stored up to there, and the report says so.
    """
    importer = detect(path)
    target = _target(bank, persona)
    reports: list[HistoryReport] = []
    fault = ""
    wanted = None if choose is None else {c.casefold() for c in choose}
    records = _observed(importer.read(path), path, progress)
    met: list[str] = []
    writer: _Writer | None = None
    try:
        for record in records:
            if isinstance(record, PersonaDraft):
                if writer is not None:
                    reports.append(writer.close())
                    writer = None
                met.append(record.external_id or record.name)
                if wanted is None or {record.external_id.casefold(), record.name.casefold()} & wanted:
                    writer = _Writer(bank, target or bank.create_persona(record), record)
            elif writer is not None:
                writer.take(record)
    except UnreadableFile as broken:
        if writer is None and not reports:
            raise
        fault = str(broken)
    if writer is not None:
        reports.append(writer.close())
    if not reports:
        asked = f"none of {', '.join(sorted(choose))}; it has {', '.join(met[:20])}" if choose else "no history"
        raise UnreadableFile(f"{path}: read as {importer.NAME}, holds {asked}. Nothing was stored.")
    if progress is not None:
        progress(1.0)
    return Report(path, importer.NAME, tuple(reports), fault)


class _Writer:
    """Stores one history in batches, and keeps its tally."""

    def __init__(self, bank: Bank, persona: Persona, header: PersonaDraft) -> None:
        self._bank = bank
        self._persona = persona
        self._tally = _Tally(header)
        self._stored = Stored()
        self._sessions: list[SessionDraft] = []
        self._memories: list[MemoryDraft] = []
        self._pending = 0

    def take(self, record: SessionDraft | MemoryDraft | Skip) -> None:
        self._tally.meet(record)
        if isinstance(record, SessionDraft):
            self._sessions.append(record)
            self._pending += len(record.turns) + 1
        elif isinstance(record, MemoryDraft):
            self._memories.append(record)
            self._pending += 1
        if self._pending >= BATCH_TURNS:
            self._flush()

    def close(self) -> HistoryReport:
        self._flush()
        t = self._tally
        return HistoryReport(self._persona, t.sessions, t.turns, t.memories, self._stored, tuple(t.skips), t.skipped)

    def _flush(self) -> None:
        if self._sessions:
            self._stored += self._bank.remember(self._persona.id, self._sessions)
        if self._memories:
            self._stored += self._bank.add_memories(self._persona.id, self._memories)
        self._sessions, self._memories, self._pending = [], [], 0


def _target(bank: Bank, persona: str | None) -> Persona | None:
    if persona is None:
        return None
    known = [
        p for p in bank.personas() if persona.casefold() in (p.name.casefold(), p.external_id.casefold(), str(p.id))
    ]
    return known[0] if known else bank.create_persona(PersonaDraft(persona))


def _observed(records: Iterator[Record], path: Path, progress: Progress | None) -> Iterator[Record]:
    """The same records; after each the share that was read is told. Counts records, since parsers read ahead."""
    seen: Counter[str] = Counter()
    size = max(path.stat().st_size, 1)
    for record in records:
        yield record
        if progress is not None:
            seen["bytes"] += _weight(record)
            progress(min(seen["bytes"] / size, 0.99))


def _weight(record: Record) -> int:
    if isinstance(record, SessionDraft):
        return sum(len(t.text.encode()) + len(t.speaker) + 30 for t in record.turns)
    return len(record.text.encode()) if isinstance(record, MemoryDraft) else 0


def _found(tally: _Tally) -> Found:
    first, last = (tally.times[0], tally.times[-1]) if tally.times else (None, None)
    header = tally.header
    return Found(header.external_id, header.name, tally.sessions, tally.turns, tally.memories, first, last)
