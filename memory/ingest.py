"""Import a file into the bank, and report what was stored and what was not.

The file is read once, record by record, and stored in batches of whole sessions. An import that was interrupted leaves
whole sessions only, and importing the same file again adds the rest.
"""

from collections.abc import Collection, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from pathlib import Path

from memory.bank.bank import Bank
from memory.errors import Cancelled, MemoirError, UnreadableFile
from memory.exporting.export import restore_personas
from memory.importers import BENCHMARKS, CHATS, history_file
from memory.importers.detect import unpack
from memory.importers.history_file import History, HistoryFile, Participants
from memory.progress import Progress, rescale, without_progress
from memory.types import MemoryDraft, Persona, PersonaDraft, SessionDraft, Skip, WriteCounts

BATCH_TURNS = 500
"""Turns stored in one transaction. A chat waits for one, a tenth of a second; 2,000 would take 8 % less time in all."""

BATCH_BYTES = 1 << 22
"""Bytes of text in one transaction, all of which is in memory; a single turn may be as long as thousands."""


@dataclass(frozen=True, slots=True)
class HistorySummary:
    """What a file contains of one history."""

    external_id: str
    name: str
    sessions: int
    turns: int
    memories: int
    first: datetime | None
    last: datetime | None


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What a file contains. `fault` says where and why it breaks off, if it does.

    `speakers` are those of whom the user may be one, where the file does not say; `user` the one who surely is. The
    user may have had the conversations of an `is_chat`; only what `may_share` can be known to other personas.
    """

    format: str
    histories: tuple[HistorySummary, ...]
    skips: tuple[Skip, ...]
    skipped: int
    fault: str
    speakers: tuple[str, ...] = ()
    user: str = ""
    is_chat: bool = False
    may_share: bool = False


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """How many records of one history were found in the file, and how many of them were stored or already known.

    `stored.memories` includes the dialogue memories made from turns. `skips` are records that were left out, or stored
    but need a look; `skipped` is their full number.
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
    """The result of an import. All before a `fault` is stored; `missing` are chosen histories not in the file."""

    path: Path
    format: str
    histories: tuple[HistoryReport, ...]
    fault: str
    missing: tuple[str, ...] = ()


def summarize(path: Path, progress: Progress = without_progress) -> FileSummary:
    """Read a file to its end and list the histories in it; stores nothing. `progress` gets the share that was read.

    Raises:
        UnreadableFile: the file is of no known format, or nothing in it can be read.
    """
    with closing(HistoryFile(path, progress)) as file:
        file.read_to_end()
    histories = file.histories.values()
    summaries = tuple(
        HistorySummary(h.header.external_id, h.header.name, h.sessions, h.turns, h.memories, h.first, h.last)
        for h in histories
    )
    skipped, (speakers, user) = sum(h.skipped for h in histories), history_file.find_speakers(file.importer, histories)
    is_chat, is_benchmark = file.importer in CHATS, file.importer in BENCHMARKS
    may_share, listed = not is_benchmark and not file.is_export, _listed(histories)
    return FileSummary(file.importer.NAME, summaries, listed, skipped, file.fault, speakers, user, is_chat, may_share)


def ingest(
    bank: Bank,
    path: Path,
    *,
    choose: Collection[str] | None = None,
    persona: str | None = None,
    user: str = "",
    kept_apart: bool = True,
    progress: Progress = without_progress,
) -> ImportReport:
    """Store the histories of a file, each as a persona of its own; a second time adds nothing.

    Args:
        bank: The bank to store them in.
        path: The file, whose format is recognised by its content.
        choose: Source ids or names of the histories to import; all if None.
        persona: Name or number of a persona to import everything into; created if missing.
        user: Which speaker the user is, where the file does not say; the persona gets the name of the other one.
        kept_apart: Whether the personas that are created are kept apart from the others; those of an export of Memoir's
            are as they were.
        progress: Called with the share of the file that was read, 0..1.

    Raises:
        UnreadableFile: no known format, nothing readable, or none of the chosen histories. A file that breaks off later
            is stored up to that point, and the report says so.
        Cancelled: the user cancelled; the message says what was stored.
        BankUnavailable: the bank cannot be written; the message says what was stored.
    """
    participants = Participants(path, user, rescale(progress, 0, 0.3))
    with closing(HistoryFile(path, rescale(progress, 0.3, 1) if user else progress)) as file:
        if file.is_export:
            chosen = _restore_export(bank, file, choose, persona, progress)
        else:
            chosen = _store_records(_BatchWriter(bank, file, persona, participants, kept_apart), choose)
    if not chosen:
        names = ", ".join([h.header.external_id or h.header.name for h in file.histories.values()][:20])
        missing = f"has no history {', '.join(choose or ())}; it has {names}. Nothing was stored."
        raise UnreadableFile(f"{path.name}, read as {file.importer.NAME}, {missing} {file.fault}".strip())
    by_persona: dict[int, list[History]] = {}
    for history in chosen:
        if history.persona:
            by_persona.setdefault(history.persona.id, []).append(history)
    reports = tuple(_report(*histories) for histories in by_persona.values())
    with suppress(Cancelled):  # too late, everything is stored
        progress(1.0)
    absent = tuple(name for name in choose or () if not any(history.is_among([name]) for history in chosen))
    return ImportReport(path, file.importer.NAME, reports, file.fault, absent)


def _store_records(writer: "_BatchWriter", choose: Collection[str] | None) -> list[History]:
    """Import a file of any format except Memoir's exports; returns the histories that were chosen."""
    file = writer.file
    try:
        for history, record in file.read():
            if history.is_among(choose):
                writer.add(history, record)
        writer.flush()
    except Cancelled as cancelled:
        raise Cancelled(f"Cancelled. {writer.so_far}") from cancelled
    chosen = [history for history in file.histories.values() if history.is_among(choose)]
    if not file.fault:
        for history in chosen:
            writer.persona_of(history)
    elif chosen and not any(history.persona for history in chosen):
        raise UnreadableFile(file.fault)
    return chosen


def _restore_export(
    bank: Bank, file: HistoryFile, choose: Collection[str] | None, persona: str | None, progress: Progress
) -> list[History]:
    """Import an export of Memoir's, row by row, once all of it was read as any other file is."""
    file.progress = rescale(progress, 0, 0.3)
    file.read_to_end()
    if file.fault:
        raise UnreadableFile(file.fault)
    existing = _find(bank, persona) if persona else None
    target, size = existing.name if existing else persona, max(file.size, 1)
    unpacked, restoring = unpack(file.path), rescale(progress, 0.3, 0.99)
    (source,) = unpacked.sources
    restored = restore_personas(bank, source, choose, target, lambda read: restoring(min(read / size, 1)))
    for skip in unpacked.skips if restored else ():
        restored[0].count(skip)
    return restored


@dataclass
class _BatchWriter:
    """Stores histories in batches; a persona is created only when there is something to store for it."""

    bank: Bank
    file: HistoryFile
    persona: str | None
    participants: Participants
    kept_apart: bool
    history: History = field(default_factory=History)
    sessions: list[SessionDraft] = field(default_factory=list)
    memories: list[MemoryDraft] = field(default_factory=list)
    turns: int = 0
    size: int = 0

    def add(self, history: History, record: SessionDraft | MemoryDraft) -> None:
        """Add a record to the next batch."""
        if history is not self.history:
            self.flush()
            self.history = history
        if isinstance(record, SessionDraft):
            self.sessions.append(self.participants.session(history.header, record))
            self.turns += len(record.turns)
        else:
            self.memories.append(record)
            self.turns += 1
        self.size += history_file.size_of(record)
        if self.turns >= BATCH_TURNS or self.size >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store the batch; an error says what was stored before."""
        if not self.sessions and not self.memories:
            return
        try:
            persona = self.persona_of(self.history)
            if self.sessions:
                self.history.stored += self.bank.remember(persona.id, self.sessions)
            if self.memories:
                self.history.stored += self.bank.add_memories(persona.id, self.memories)
        except MemoirError as fault:
            raise type(fault)(f"{str(fault).rstrip('.')}. {self.so_far}") from fault
        self.sessions, self.memories = [], []
        self.turns = self.size = 0

    def persona_of(self, history: History) -> Persona:
        """The persona of a history; created if it is new."""
        if history.persona is None:
            named = None if self.persona is None else _find(self.bank, self.persona)
            draft = self.participants.persona(history.header) if self.persona is None else PersonaDraft(self.persona)
            kept_apart = draft.kept_apart and self.kept_apart
            history.persona = named or self.bank.create_persona(replace(draft, kept_apart=kept_apart))
        return history.persona

    @property
    def so_far(self) -> str:
        """How much of the file is in the bank, as a sentence."""
        kept = sum((history.stored for history in self.file.histories.values()), WriteCounts())
        if kept == WriteCounts():
            return f"Nothing from {self.file.path.name} was stored."
        turns, memories = kept.turns + kept.known_turns, kept.memories + kept.known_memories
        return (
            f"{turns} turns in whole sessions and {memories} memories from {self.file.path.name} are in the bank. "
            "Import it again to add the rest."
        )


def _find(bank: Bank, persona: str) -> Persona | None:
    asked = persona.casefold() or None  # an empty name is not that of a persona without an external id
    return next((p for p in bank.personas() if asked in (p.name.casefold(), p.external_id.casefold(), str(p.id))), None)


def _report(*histories: History) -> HistoryReport:
    """The report on histories that were stored in the same persona."""
    persona = histories[0].persona
    assert persona is not None  # only stored histories are reported
    counts = ((h.sessions, h.turns, h.memories, h.skipped) for h in histories)
    sessions, turns, memories, skipped = map(sum, zip(*counts, strict=True))
    stored = sum((h.stored for h in histories), WriteCounts())
    return HistoryReport(persona, sessions, turns, memories, stored, _listed(histories), skipped)


def _listed(histories: Iterable[History]) -> tuple[Skip, ...]:
    return tuple(islice((skip for h in histories for skip in h.skips), history_file.MAX_LISTED_SKIPS))
