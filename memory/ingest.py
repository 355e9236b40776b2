"""A file of somebody's history into the bank, with an account of what was stored and what was not.

The file is read once, record by record, and stored in batches of whole sessions: stopping at any moment leaves whole
sessions only, and taking the same file again goes on from there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from memory.bank.bank import Bank
from memory.errors import Cancelled, MemoirError, UnreadableFile
from memory.exporting import restore as moving
from memory.importers.detect import Unpacked, unpack
from memory.importers.generic import memoir
from memory.importers.generic import memoir_export as memoir_sealed
from memory.importers.history_file import MAX_LISTED_SKIPS, History, HistoryFile, size_of
from memory.progress import Progress, without_progress
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, Skip, WriteCounts

BATCH_TURNS = 2000
"""Turns a transaction: half a second in which another writer waits, and commits cost nothing."""

BATCH_BYTES = 1 << 22
"""Text a transaction: some histories say in one turn what others say in thousands, and all of a batch is in memory."""


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """One history in a file, before anything of it is stored."""

    external_id: str
    name: str
    sessions: int
    turns: int
    memories: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What a file holds. `fault` says where and why it breaks off, if it does."""

    format: str
    histories: tuple[HistorySummary, ...]
    skips: tuple[Skip, ...]
    skipped: int
    fault: str


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """What became of one history: what was found is stored now or was known before.

    `stored.memories` counts the dialogue memories made of the turns, too. `skips` are what is not among the found, and
    what is but deserves a look; `skipped` is how many there are in all.
    """

    persona: Persona
    found_sessions: int
    found_turns: int
    found_memories: int
    stored: WriteCounts
    skips: tuple[Skip, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file. All that a `fault` left readable is stored; `missing` was chosen but is not in it."""

    path: Path
    format: str
    histories: tuple[HistoryReport, ...]
    fault: str
    missing: tuple[str, ...] = ()


def summarize(path: Path, progress: Progress = without_progress) -> FileSummary:
    """Read a file to its end and tell what histories it holds; stores nothing.

    `progress` is told the share that has been read.

    Raises:
        UnreadableFile: it is no known format, or nothing in it can be read.
    """
    file = HistoryFile(path, progress)
    for _ in file.read():
        pass
    everyone = file.histories.values()
    found = tuple(
        HistorySummary(h.header.external_id, h.header.name, h.sessions, h.turns, h.memories, h.first, h.last)
        for h in everyone
    )
    return FileSummary(file.importer.NAME, found, _listed(everyone), sum(h.skipped for h in everyone), file.fault)


def ingest(
    bank: Bank,
    path: Path,
    *,
    choose: Collection[str] | None = None,
    persona: str | None = None,
    progress: Progress = without_progress,
) -> ImportReport:
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
        Cancelled: the user cancelled; the message says what of the file is stored.
        BankUnavailable: the bank cannot be written (any more); the message says what of the file is stored.
    """
    if sealed := _sealed(path):
        report = _moved(bank, path, sealed, _wanted(choose), persona, progress)
    else:
        report = _taken(bank, path, choose, persona, progress)
    with suppress(Cancelled):  # too late: it is done
        progress(1.0)
    return report


def _taken(
    bank: Bank, path: Path, choose: Collection[str] | None, persona: str | None, progress: Progress
) -> ImportReport:
    """Store what is no export of Memoir's, history by history."""
    wanted = _wanted(choose)
    file = HistoryFile(path, progress)
    intake = _BatchWriter(bank, path, persona)
    try:
        for history, record in file.read():
            if wanted is None or history.names & wanted:
                intake.take(history, record)
        intake.flush()
    except Cancelled as cancelled:
        raise Cancelled(f"Cancelled. {intake.so_far()}") from cancelled
    taken = [h for h in file.histories.values() if wanted is None or h.names & wanted]
    if not taken:
        raise UnreadableFile(_none_of(file, choose or ()))
    if file.fault and not any(h.persona for h in taken):
        raise UnreadableFile(file.fault)
    for history in taken:
        if not file.fault:
            intake.persona_of(history)
    missing = tuple(c for c in choose or () if not any(c.casefold() in h.names for h in taken))
    return ImportReport(path, file.importer.NAME, _reports(taken), file.fault, missing)


def _wanted(choose: Collection[str] | None) -> set[str] | None:
    return None if choose is None else {c.casefold() for c in choose}


def _none_of(file: HistoryFile, choose: Collection[str]) -> str:
    held = ", ".join([h.header.external_id or h.header.name for h in file.histories.values()][:20])
    asked = f"{file.path.name}, read as {file.importer.NAME}, holds none of {', '.join(choose)}; it has {held}."
    return f"{asked} Nothing was stored. {file.fault}".strip()


def _sealed(path: Path) -> Unpacked | None:
    """What Memoir exported: the file itself, or the one that an archive holds."""
    if memoir_sealed.is_export(path):
        return Unpacked(memoir, (path,), path.stat().st_size)
    found = unpack(path)
    return found if memoir_sealed.is_export(found.sources[0]) else None


def _moved(
    bank: Bank,
    path: Path,
    sealed: Unpacked,
    choose: Collection[str] | None,
    persona: str | None,
    progress: Progress,
) -> ImportReport:
    """Store what Memoir exported, row by row."""
    known = _find(bank, persona) if persona else None
    target, (source,) = known.name if known else persona, sealed.sources
    done = moving.restore_personas(
        bank, source, choose, target, lambda read: progress(min(read / max(sealed.size, 1), 0.99))
    )
    if not done:
        file = HistoryFile(path)
        for _ in file.read():
            pass
        raise UnreadableFile(_none_of(file, choose or ()))
    skips = [sealed.skips, *([()] * len(done))]
    reports = tuple(
        HistoryReport(m.persona, m.sessions, m.turns, m.memories, m.stored, beside[:MAX_LISTED_SKIPS], len(beside))
        for m, beside in zip(done, skips, strict=False)
    )
    met = {name.casefold() for m in done for name in m.names}
    return ImportReport(path, memoir.NAME, reports, "", tuple(c for c in choose or () if c.casefold() not in met))


class _BatchWriter:
    """Stores histories in batches; no persona is made before there is something to store for it."""

    def __init__(self, bank: Bank, path: Path, persona: str | None) -> None:
        self._bank = bank
        self._path = path
        self._persona = persona
        self._target: Persona | None = None
        self._history = History()
        self._sessions: list[SessionDraft] = []
        self._memories: list[MemoryDraft] = []
        self._stored = WriteCounts()
        self._turns = self._bytes = 0

    def take(self, history: History, record: SessionDraft | MemoryDraft) -> None:
        """Keep a record for the next batch."""
        if history is not self._history:
            self.flush()
            self._history = history
        if isinstance(record, SessionDraft):
            self._sessions.append(record)
            self._turns += len(record.turns)
        else:
            self._memories.append(record)
            self._turns += 1
        self._bytes += size_of(record)
        if self._turns >= BATCH_TURNS or self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what waits, or say what was stored before."""
        if not self._sessions and not self._memories:
            return
        stored = WriteCounts()
        try:
            persona = self.persona_of(self._history)
            if self._sessions:
                stored += self._bank.remember(persona.id, self._sessions)
            if self._memories:
                stored += self._bank.add_memories(persona.id, self._memories)
        except MemoirError as fault:
            raise type(fault)(f"{str(fault).rstrip('.')}. {self.so_far(stored)}") from fault
        self._history.stored += stored
        self._stored += stored
        self._sessions, self._memories = [], []
        self._turns = self._bytes = 0

    def persona_of(self, history: History) -> Persona:
        """Who the history goes to; made if it is new."""
        if self._target is None and self._persona is not None:
            self._target = _find(self._bank, self._persona) or self._bank.create_persona(PersonaDraft(self._persona))
        if history.persona is None:
            history.persona = self._target or self._bank.create_persona(history.header)
        return history.persona

    def so_far(self, last: WriteCounts | None = None) -> str:
        """How much of the file is in the bank, with what was stored last."""
        kept = self._stored + (last or WriteCounts())
        if kept == WriteCounts():
            return f"Nothing of {self._path.name} was stored."
        return (
            f"Of {self._path.name}, {kept.turns + kept.known_turns} turns in whole sessions and "
            f"{kept.memories + kept.known_memories} memories are in the bank; import it again to take the rest."
        )


def _find(bank: Bank, persona: str) -> Persona | None:
    asked = persona.casefold()
    return next((p for p in bank.personas() if asked in (p.name.casefold(), p.external_id.casefold(), str(p.id))), None)


def _reports(taken: Iterable[History]) -> tuple[HistoryReport, ...]:
    """One report a persona, though several histories may have gone to it."""
    by_persona: dict[int, list[History]] = {}
    for history in taken:
        if history.persona is not None:
            by_persona.setdefault(history.persona.id, []).append(history)
    return tuple(
        HistoryReport(
            persona,
            sum(h.sessions for h in merged),
            sum(h.turns for h in merged),
            sum(h.memories for h in merged),
            sum((h.stored for h in merged), WriteCounts()),
            _listed(merged),
            sum(h.skipped for h in merged),
        )
        for merged in by_persona.values()
        if (persona := merged[0].persona)
    )


def _listed(histories: Iterable[History]) -> tuple[Skip, ...]:
    return tuple(islice((skip for h in histories for skip in h.skips), MAX_LISTED_SKIPS))
