"""Forget for good: delete rows, index entries, vectors and the bytes in the file.

A memory goes along with the turns it came from, or its words would be found again. With those turns go the memories
that have no other source, and the persona's replies that repeat them. The bank's triggers delete the vector, unless
another memory has the same text, and the packed segment of the index. SQLite overwrites what it frees (secure_delete),
except for old pages in the write-ahead log; so the log is emptied, and then the bytes of all files are searched.
Exports that wait for download are deleted. A bank that a restore kept is not, but it is named if it contains any of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlite_utils import Database

from memory.bank import deletion, journal, validity
from memory.bank.backup import KEPT_SUFFIX
from memory.bank.bank import Bank
from memory.exporting import downloads
from memory.forgetting import residue
from memory.forgetting.dependants import (
    MIN_PROOF_CHARACTERS,
    PREVIEW_LINES,
    add_dependants,
    preview_lines,
)
from memory.forgetting.selection import Selector, select_memories, select_session
from memory.progress import Progress, Task, rescale, without_progress

MAX_TEXTS_SEARCHED = 1000
"""The most texts to search the files for; from more, an even sample is taken."""

ROWS_PER_STATEMENT = 1000
"""Rows deleted by one statement, which takes some tenths of a second."""

SHARE_SELECTED, SHARE_DELETED = 0.25, 0.75
"""The shares of the time spent when everything to delete is found, and when it is deleted."""


@dataclass(frozen=True, slots=True)
class ForgetReport:
    """How many rows were deleted, or would be.

    `residue` counts the deleted texts that still occur in the bank's files; `lines` are, in a preview, the first turns
    and memories that would go; `copies` are the banks kept by a restore that contain deleted texts.
    """

    memories: int
    turns: int
    sessions: int
    residue: int = 0
    lines: tuple[str, ...] = ()
    copies: tuple[Path, ...] = ()

    def __add__(self, other: ForgetReport) -> ForgetReport:
        return ForgetReport(
            self.memories + other.memories,
            self.turns + other.turns,
            self.sessions + other.sessions,
            self.residue + other.residue,
            (self.lines + other.lines)[:PREVIEW_LINES],
            tuple(dict.fromkeys(self.copies + other.copies)),
        )


def preview_memories(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> ForgetReport:
    """Report what forgetting these memories would delete."""
    return preview_selected(bank, [persona_id], select_memories(memory_ids))


def preview_persona(bank: Bank, persona_id: int) -> ForgetReport:
    """Report what forgetting this persona would delete."""
    persona = bank.persona(persona_id)
    with bank.reading() as db:
        memories, turns, sessions = _ids_of_persona(db, persona.id)
    return ForgetReport(len(memories), len(turns), sessions)


def preview_selected(
    bank: Bank, persona_ids: Sequence[int], select: Selector, task: Task | None = None
) -> ForgetReport:
    """Report what forgetting a selection of the personas would delete, with its first lines."""
    task, planned = task or Task(), ForgetReport(0, 0, 0)
    with bank.reading() as db, task.interruptible(db.conn):
        for nth, persona_id in enumerate(persona_ids):
            task.report(nth / len(persona_ids))
            selected = add_dependants(db, persona_id, select(db, persona_id))
            lines = preview_lines(db, selected)
            planned += ForgetReport(len(selected.memories), len(selected.turns), len(selected.sessions), lines=lines)
    return planned


def forget_memories(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> ForgetReport:
    """Delete memories of a persona, the turns they came from, and what came from those turns alone."""
    return forget_selected(bank, [persona_id], select_memories(memory_ids))


def forget_session(bank: Bank, persona_id: int, session_id: int, task: Task | None = None) -> ForgetReport:
    """Delete a session with its turns and all that came from them alone; see `forget_selected`."""
    return forget_selected(bank, [persona_id], select_session(bank.session(persona_id, session_id).id), task)


def forget_selected(bank: Bank, persona_ids: Sequence[int], select: Selector, task: Task | None = None) -> ForgetReport:
    """Delete a selection of the personas, what came from its turns alone, and the replies that repeat any of it.

    Raises:
        Cancelled: the task was cancelled while it could be; nothing was removed.
    """
    task, report, texts = task or Task(), ForgetReport(0, 0, 0), set[str]()
    with bank.writing() as db:
        with task.interruptible(db.conn):
            for nth, persona_id in enumerate(persona_ids):
                progress = rescale(
                    task.report, SHARE_DELETED * nth / len(persona_ids), SHARE_DELETED * (nth + 1) / len(persona_ids)
                )
                report += _delete_selected(db, persona_id, select, texts, progress)
        task.make_uncancellable()
    return _clean_and_verify(bank, report, texts, rescale(task.report, SHARE_DELETED, 1))


def forget_persona(bank: Bank, persona_id: int, task: Task | None = None) -> ForgetReport:
    """Delete a persona with everything it knows; see `forget_selected`."""
    task, persona = task or Task(), bank.persona(persona_id)
    with bank.writing() as db:
        with task.interruptible(db.conn):
            memories, turns, sessions = _ids_of_persona(db, persona.id)
            texts = deletion.texts_of(db, memories, turns)
            _delete(db, "memories", memories, rescale(task.report, 0, SHARE_DELETED))
            _delete(db, "personas", [persona.id])
            _log_forget(db, persona.id, memories, len(turns), sessions)
        task.make_uncancellable()
    return _clean_and_verify(
        bank, ForgetReport(len(memories), len(turns), sessions), texts, rescale(task.report, SHARE_DELETED, 1)
    )


def _delete_selected(
    db: Database, persona_id: int, select: Selector, texts: set[str], progress: Progress
) -> ForgetReport:
    """Delete a selection of a persona with its dependants; adds the deleted texts to `texts`."""
    progress(0)
    selected = add_dependants(db, persona_id, select(db, persona_id))
    texts |= deletion.texts_of(db, selected.memories, selected.turns)
    progress(SHARE_SELECTED)
    _reopen_superseded(db, selected.memories)
    deletion.clear_titles(db, selected.titles, selected.turns)
    deletion.requeue_sessions(db, selected.memories, selected.turns)
    _delete(db, "memories", selected.memories, rescale(progress, SHARE_SELECTED, 0.9))
    deletion.move_shared_memories(db, selected.sessions)
    _delete(db, "turns", selected.turns, rescale(progress, 0.9, 1))
    _delete(db, "sessions", selected.sessions)
    _log_forget(db, persona_id, selected.memories, len(selected.turns), len(selected.sessions))
    return ForgetReport(len(selected.memories), len(selected.turns), len(selected.sessions))


def _log_forget(db: Database, persona_id: int, memories: Sequence[int], turns: int, sessions: int) -> None:
    counts = {"sessions": sessions, "turns": turns, "memories": len(memories)}
    journal.record(db, "forgot", persona_id, counts, memories)


def _ids_of_persona(db: Database, persona_id: int) -> tuple[list[int], list[int], int]:
    """The ids of a persona's memories and turns, and its number of sessions."""
    memories, turns = deletion.persona_memories(db, persona_id), deletion.persona_turns(db, persona_id)
    return memories, turns, deletion.count_sessions(db, persona_id)


def _reopen_superseded(db: Database, memories: Sequence[int]) -> None:
    """Restore the validity of what the memories had closed or corrected."""
    for memory_id in sorted(memories, reverse=True):
        validity.undo_effects(db, memory_id)


def _delete(db: Database, table: str, ids: Sequence[int], progress: Progress = without_progress) -> None:
    for first in range(0, len(ids), ROWS_PER_STATEMENT):
        deletion.delete_rows(db, table, ids[first : first + ROWS_PER_STATEMENT])
        progress(min(1.0, (first + ROWS_PER_STATEMENT) / len(ids)))


def _clean_and_verify(bank: Bank, report: ForgetReport, texts: set[str], progress: Progress) -> ForgetReport:
    """Empty the write-ahead log, and search the bank's files and copies for texts that no row contains any more."""
    downloads.delete_all(bank.path)  # first, so that an export that is being written fails
    with bank.reading() as db:
        deletion.empty_log(db)
    provable = sorted(text for text in texts if len(text) >= MIN_PROOF_CHARACTERS)
    sample = provable[:: -(-len(provable) // MAX_TEXTS_SEARCHED) or 1]
    remaining = residue.find_in_bank(bank.path, sample, rescale(progress, 0, 0.6))
    left = _absent_from_rows(bank, remaining) if remaining else []
    kept = sorted(bank.path.parent.glob(f"{bank.path.name}{KEPT_SUFFIX}*"))
    copies = tuple(path for path in kept if residue.find_in_file(path, sample))
    progress(1.0)
    return replace(report, residue=len(left), copies=copies)


def _absent_from_rows(bank: Bank, texts: Iterable[str]) -> list[str]:
    """The texts that no row of the bank contains."""
    left = list(texts)
    with bank.reading() as db:
        for stored in deletion.all_texts(db):
            if len(stored) >= MIN_PROOF_CHARACTERS:
                left = [text for text in left if text not in stored]
            if not left:
                break
    return left
