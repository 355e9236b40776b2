"""Forgetting, for good: rows, index, vectors and the bytes of the file.

A memory goes with the turns it was drawn from, or the words would be found again; what else was drawn from those turns
alone goes too, and so do the persona's replies that repeat it. The bank's triggers drop its vector, unless other words
have the same, and the packed segment that holds it. SQLite overwrites what it frees (secure_delete) but for old pages
in the write-ahead log: that is emptied, then the bytes are searched. Exports that wait to be downloaded are deleted; a
bank that was kept by a restore is not, but named if it still holds any of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlite_utils import Database

from memory.bank import journal, validity
from memory.bank.bank import Bank
from memory.bank.rows import listed
from memory.exporting import downloads
from memory.forgetting import dependants as hanging
from memory.forgetting import residue as traces
from memory.forgetting import selection as scope
from memory.forgetting.selection import Meant, Scope, numbers
from memory.progress import Progress, Task, rescale, without_progress

PROOFS = 1000
"""Texts that are looked for in the bytes at most; of more, they are sampled evenly."""

CHUNK = 1000
"""Rows deleted by one statement: some tenths of a second."""

FOUND, DELETED = 0.25, 0.75
"""How much is done, in seconds, of what takes long, when all is found that is to go, and when it is deleted."""


BEFORE = ".before-restore"
"""What a restore adds to the name of the bank that it keeps."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or went. `residue` is how many of the forgotten texts still stand anywhere in the bank's files.

    `lines` are, in a preview, the first turns and memories that would go; `copies` are banks that a restore kept and in
    which forgotten texts stand.
    """

    memories: int
    turns: int
    sessions: int
    residue: int = 0
    lines: tuple[str, ...] = ()
    copies: tuple[Path, ...] = ()

    def __add__(self, other: Forgotten) -> Forgotten:
        return Forgotten(
            self.memories + other.memories,
            self.turns + other.turns,
            self.sessions + other.sessions,
            self.residue + other.residue,
            (self.lines + other.lines)[: hanging.SHOWN],
            tuple(dict.fromkeys(self.copies + other.copies)),
        )


def preview(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """What forgetting these memories would remove; removes nothing."""
    return preview_meant(bank, [persona_id], scope.memories(memory_ids))


def preview_persona(bank: Bank, persona_id: int) -> Forgotten:
    """What forgetting this persona would remove; removes nothing."""
    persona = bank.persona(persona_id)
    with bank.reading() as db:
        memories, turns, sessions = _of_persona(db, persona.id)
    return Forgotten(len(memories), len(turns), sessions)


def preview_meant(bank: Bank, persona_ids: Sequence[int], which: Scope, task: Task | None = None) -> Forgotten:
    """What forgetting all that is meant of the personas would remove, with its first lines; removes nothing."""
    task, planned = task or Task(), Forgotten(0, 0, 0)
    with bank.reading() as db, task.interruptible(db.conn):
        for nth, persona_id in enumerate(persona_ids):
            task.report(nth / len(persona_ids))
            whole = hanging.whole(db, persona_id, which(db, persona_id))
            lines = hanging.lines(db, whole)
            planned += Forgotten(len(whole.memories), len(whole.turns), len(whole.sessions), lines=lines)
    return planned


def forget(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """Remove memories of a persona, the turns they came from, and what came from those turns alone."""
    return forget_meant(bank, [persona_id], scope.memories(memory_ids))


def forget_session(bank: Bank, persona_id: int, session_id: int, task: Task | None = None) -> Forgotten:
    """Remove a session with its turns and all that was drawn from them; see `forget_meant`."""
    return forget_meant(bank, [persona_id], scope.session(bank.session(persona_id, session_id).id), task)


def forget_meant(bank: Bank, persona_ids: Sequence[int], which: Scope, task: Task | None = None) -> Forgotten:
    """Remove what is meant of the personas, what came from its turns alone, and the replies that repeat any of it.

    Raises:
        Cancelled: the task was cancelled while it could be; nothing was removed.
    """
    task, gone, texts = task or Task(), Forgotten(0, 0, 0), set[str]()
    with bank.writing() as db:
        with task.interruptible(db.conn):
            for nth, persona_id in enumerate(persona_ids):
                progress = rescale(
                    task.report, DELETED * nth / len(persona_ids), DELETED * (nth + 1) / len(persona_ids)
                )
                gone += _remove(db, persona_id, which, texts, progress)
        task.make_uncancellable()
    return _scrub(bank, gone, texts, rescale(task.report, DELETED, 1))


def forget_persona(bank: Bank, persona_id: int, task: Task | None = None) -> Forgotten:
    """Remove a persona with everything it knows; see `forget_meant`."""
    task, persona = task or Task(), bank.persona(persona_id)
    with bank.writing() as db:
        with task.interruptible(db.conn):
            memories, turns, sessions = _of_persona(db, persona.id)
            texts = hanging.texts(db, memories, turns)
            _delete(db, "memories", memories, rescale(task.report, 0, DELETED))
            _delete(db, "personas", [persona.id])
            _note(db, persona.id, memories, len(turns), sessions)
        task.make_uncancellable()
    return _scrub(bank, Forgotten(len(memories), len(turns), sessions), texts, rescale(task.report, DELETED, 1))


def _remove(db: Database, persona_id: int, which: Scope, texts: set[str], progress: Progress) -> Forgotten:
    """Remove what is meant of a persona and what goes with it; adds to the texts what they said."""
    progress(0)
    whole = hanging.whole(db, persona_id, which(db, persona_id))
    texts |= hanging.texts(db, whole.memories, whole.turns)
    progress(FOUND)
    _reopen(db, whole.memories)
    _drop_titles(db, whole)
    _learn_again(db, whole)
    _delete(db, "memories", whole.memories, rescale(progress, FOUND, 0.9))
    _rehome(db, whole.sessions)
    _delete(db, "turns", whole.turns, rescale(progress, 0.9, 1))
    _delete(db, "sessions", whole.sessions)
    _note(db, persona_id, whole.memories, len(whole.turns), len(whole.sessions))
    return Forgotten(len(whole.memories), len(whole.turns), len(whole.sessions))


def _note(db: Database, persona_id: int, memories: Sequence[int], turns: int, sessions: int) -> None:
    counts = {"sessions": sessions, "turns": turns, "memories": len(memories)}
    journal.note(db, "forgot", persona_id, counts, memories)


def _of_persona(db: Database, persona_id: int) -> tuple[list[int], list[int], int]:
    """The memories and turns of a persona, and how many sessions it has."""
    memories = numbers(db, "SELECT id FROM memories WHERE persona_id = ?", persona_id)
    turns = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"
    return memories, numbers(db, turns, persona_id), db.table("sessions").count_where("persona_id = ?", [persona_id])


def _drop_titles(db: Database, whole: Meant) -> None:
    """Leave sessions without a title that was made of what goes: a chat is called after its first words."""
    db.conn.execute(
        "UPDATE sessions SET title = '' WHERE title <> '' AND (id IN (SELECT value FROM json_each(:titles)) OR "
        "EXISTS (SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND instr(t.text, sessions.title) "
        "AND t.id IN (SELECT value FROM json_each(:turns))))",
        {"titles": listed(whole.titles), "turns": listed(whole.turns)},
    )


def _rehome(db: Database, sessions: Sequence[int]) -> None:
    """Let what was told in other sessions, too, belong to one of those: it would go with these."""
    other = (
        "(SELECT t.session_id FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = memories.id "
        "AND t.session_id NOT IN (SELECT value FROM json_each(:ids)) ORDER BY t.id LIMIT 1)"
    )
    db.conn.execute(
        f"UPDATE memories SET session_id = {other} WHERE session_id IN (SELECT value FROM json_each(:ids)) "
        f"AND {other} IS NOT NULL",
        {"ids": listed(sessions)},
    )


def _learn_again(db: Database, whole: Meant) -> None:
    """Put the sessions of what goes back into the queue: what summed them up may have to be made anew."""
    db.conn.execute(
        "UPDATE sessions SET learned = 0 WHERE id IN (SELECT session_id FROM turns "
        "WHERE id IN (SELECT value FROM json_each(:turns)) OR id IN "
        "(SELECT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(:memories))))",
        {"turns": listed(whole.turns), "memories": listed(whole.memories)},
    )


def _reopen(db: Database, memories: Sequence[int]) -> None:
    """Let what the memories had closed or corrected hold as long as if they had never been told."""
    for memory_id in sorted(memories, reverse=True):
        validity.reopen(db, memory_id)


def _delete(db: Database, table: str, ids: Sequence[int], progress: Progress = without_progress) -> None:
    for first in range(0, len(ids), CHUNK):
        db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [listed(ids[first : first + CHUNK])])
        progress(min(1.0, (first + CHUNK) / len(ids)))


def _scrub(bank: Bank, gone: Forgotten, texts: set[str], progress: Progress) -> Forgotten:
    """Empty the write-ahead log and look for the texts that are in no row any more in the bank's files and copies."""
    downloads.clear(bank.path)  # first: what is being made of the bank as it was comes to nothing
    with bank.reading() as db:
        db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    telling = sorted(text for text in texts if len(text) >= hanging.PROOF_CHARACTERS)
    sought = telling[:: -(-len(telling) // PROOFS) or 1]
    standing = traces.in_files(bank.path, sought, rescale(progress, 0, 0.6))
    residue = _in_no_row(bank, standing) if standing else []
    kept = sorted(bank.path.parent.glob(f"{bank.path.name}{BEFORE}*"))
    copies = tuple(path for path in kept if traces.in_file(path, sought))
    progress(1.0)
    return replace(gone, residue=len(residue), copies=copies)


def _in_no_row(bank: Bank, texts: Iterable[str]) -> list[str]:
    """Those of the texts that stand in nothing that the bank still holds."""
    left = list(texts)
    with bank.reading() as db:
        query = "SELECT text FROM turns UNION ALL SELECT text FROM memories UNION ALL SELECT key FROM memories"
        for (held,) in db.conn.execute(query):
            if len(held) >= hanging.PROOF_CHARACTERS:
                left = [text for text in left if text not in held]
            if not left:
                break
    return left
