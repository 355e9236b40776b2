"""Forgetting, for good: rows, index, vectors and the bytes of the file.

A memory goes with the turns it was drawn from, or the words would be found again; what else was drawn from those turns
alone goes too, and so do the persona's replies that repeat it. The bank's triggers drop its vector, unless other words
have the same, and the packed segment that holds it. SQLite overwrites what it frees (secure_delete) but for old pages
in the write-ahead log: that is emptied, then the bytes are searched. Exports that wait to be downloaded are deleted; a
bank that was kept by a restore is not, but named if it still holds any of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from mmap import ACCESS_READ, mmap
from pathlib import Path

from sqlite_utils import Database

from memory import downloads, journal, scope, validity
from memory.bank import Bank
from memory.rows import listed
from memory.scope import Meant, Scope, numbers

PROOF_CHARACTERS = 12
"""Shorter texts than this stand in a file by chance, or inside others: they are no proof of anything."""

PROOFS = 200
"""Texts that are looked for in the bytes; of more, they are sampled evenly: each costs a pass over the whole file."""


BEFORE = ".before-restore"
"""What a restore adds to the name of the bank that it keeps."""

SHOWN = 5
"""Lines of what would go that a preview shows."""


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
            (self.lines + other.lines)[:SHOWN],
            tuple(dict.fromkeys(self.copies + other.copies)),
        )


def preview(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """What forgetting these memories would remove; removes nothing."""
    return preview_meant(bank, persona_id, scope.memories(memory_ids))


def preview_session(bank: Bank, persona_id: int, session_id: int) -> Forgotten:
    """What forgetting this session would remove; removes nothing."""
    return preview_meant(bank, persona_id, scope.session(bank.session(persona_id, session_id).id))


def preview_persona(bank: Bank, persona_id: int) -> Forgotten:
    """What forgetting this persona would remove; removes nothing."""
    persona = bank.persona(persona_id)
    with bank.reading() as db:
        memories, turns, sessions = _of_persona(db, persona.id)
    return Forgotten(len(memories), len(turns), sessions)


def preview_meant(bank: Bank, persona_id: int, which: Scope) -> Forgotten:
    """What forgetting all that is meant would remove, with its first lines; removes nothing."""
    with bank.reading() as db:
        whole = _whole(db, persona_id, which(db, persona_id))
        lines = _lines(db, whole)
    return Forgotten(len(whole.memories), len(whole.turns), len(whole.sessions), lines=lines)


def forget(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """Remove memories of a persona, the turns they came from, and what came from those turns alone."""
    return forget_meant(bank, persona_id, scope.memories(memory_ids))


def forget_session(bank: Bank, persona_id: int, session_id: int) -> Forgotten:
    """Remove a session with its turns and all that was drawn from them."""
    return forget_meant(bank, persona_id, scope.session(bank.session(persona_id, session_id).id))


def forget_meant(bank: Bank, persona_id: int, which: Scope) -> Forgotten:
    """Remove what is meant, what came from its turns alone, and the replies that repeat any of it."""
    with bank.writing() as db:
        whole = _whole(db, persona_id, which(db, persona_id))
        texts = _texts(db, whole.memories, whole.turns)
        _reopen(db, whole.memories)
        _drop_titles(db, whole)
        _learn_again(db, whole)
        _delete(db, "memories", whole.memories)
        _rehome(db, whole.sessions)
        _delete(db, "turns", whole.turns)
        _delete(db, "sessions", whole.sessions)
        _note(db, persona_id, whole.memories, len(whole.turns), len(whole.sessions))
    return _scrub(bank, Forgotten(len(whole.memories), len(whole.turns), len(whole.sessions)), texts)


def forget_persona(bank: Bank, persona_id: int) -> Forgotten:
    """Remove a persona with everything it knows."""
    persona = bank.persona(persona_id)
    with bank.writing() as db:
        memories, turns, sessions = _of_persona(db, persona.id)
        texts = _texts(db, memories, turns)
        _delete(db, "personas", [persona.id])
        _note(db, persona.id, memories, len(turns), sessions)
    return _scrub(bank, Forgotten(len(memories), len(turns), sessions), texts)


def _note(db: Database, persona_id: int, memories: Sequence[int], turns: int, sessions: int) -> None:
    counts = {"sessions": sessions, "turns": turns, "memories": len(memories)}
    journal.note(db, "forgot", persona_id, counts, memories)


def _of_persona(db: Database, persona_id: int) -> tuple[list[int], list[int], int]:
    """The memories and turns of a persona, and how many sessions it has."""
    memories = numbers(db, "SELECT id FROM memories WHERE persona_id = ?", persona_id)
    turns = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"
    return memories, numbers(db, turns, persona_id), db.table("sessions").count_where("persona_id = ?", [persona_id])


def _whole(db: Database, persona_id: int, meant: Meant) -> Meant:
    """What is meant with all that no other turn carries alone, and the replies that repeat any of it."""
    memories = sorted({*meant.memories, *_carried(db, meant.turns)})
    turns = sorted({*meant.turns, *_replies(db, persona_id, memories, meant.turns)})
    sessions = sorted({*meant.sessions, *_emptied(db, turns)})
    return Meant(memories, turns, sessions, meant.titles)


def _replies(db: Database, persona_id: int, memories: Sequence[int], turns: Sequence[int]) -> list[int]:
    """What the persona said in a chat that repeats them: answers that cite one, and its replies to one of the turns."""
    query = """
        SELECT t.id, t.text,
            EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories)))
            OR EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.position = t.position - 1
                AND b.id IN (SELECT value FROM json_each(:turns)))
        FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.persona_id = :persona AND s.source = 'chat' AND t.role = 'assistant'
            AND t.id NOT IN (SELECT value FROM json_each(:turns))
    """
    by_start: dict[str, list[str]] = {}
    for text in _texts(db, memories, turns):
        if len(text) >= PROOF_CHARACTERS:
            by_start.setdefault(text[:PROOF_CHARACTERS], []).append(text)
    values = {"persona": persona_id, "turns": listed(turns), "memories": listed(memories)}
    found = db.conn.execute(query, values)
    return [int(turn_id) for turn_id, said, meant in found if meant or _holds_any(said, by_start)]


def _holds_any(said: str, by_start: Mapping[str, Sequence[str]]) -> bool:
    """Whether any of the texts, given by how they start, stands in what was said; one pass, however many there are."""
    return any(
        said.startswith(text, place)
        for place in range(len(said) - PROOF_CHARACTERS + 1)
        for text in by_start.get(said[place : place + PROOF_CHARACTERS], ())
    )


def _carried(db: Database, turns: Iterable[int]) -> list[int]:
    """The memories that no turn but these carries alone."""
    query = """
        SELECT memory_id FROM sources
        WHERE memory_id IN (SELECT memory_id FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns)))
        GROUP BY memory_id HAVING sum(alone AND turn_id NOT IN (SELECT value FROM json_each(:turns))) = 0
    """
    return [int(i) for (i,) in db.conn.execute(query, {"turns": listed(turns)})]


def _lines(db: Database, whole: Meant) -> tuple[str, ...]:
    """The first turns that would go and, where there are no more, memories that no turn said."""
    query = """
        SELECT * FROM (SELECT speaker, text FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) ORDER BY id)
        UNION ALL SELECT speaker, text FROM memories m WHERE id IN (SELECT value FROM json_each(:memories))
            AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id) LIMIT :shown
    """
    values = {"turns": listed(whole.turns), "memories": listed(whole.memories), "shown": SHOWN}
    return tuple(f"{speaker}: {text}" if speaker else text for speaker, text in db.conn.execute(query, values))


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


def _emptied(db: Database, turns: Iterable[int]) -> list[int]:
    """Sessions that would keep no turn."""
    query = """
        SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(?)) GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return numbers(db, query, listed(turns))


def _texts(db: Database, memories: Sequence[int], turns: Sequence[int]) -> set[str]:
    query = """
        SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT text FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))
    """
    values = {"memories": listed(memories), "turns": listed(turns)}
    return {str(t) for (t,) in db.conn.execute(query, values)}


def _delete(db: Database, table: str, ids: Sequence[int]) -> None:
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [listed(ids)])


def _scrub(bank: Bank, gone: Forgotten, texts: set[str]) -> Forgotten:
    """Empty the write-ahead log and look for the texts that are in no row any more in the bank's files and copies."""
    with bank.reading() as db:
        db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        held = "SELECT 1 FROM turns WHERE instr(text, :t) UNION ALL SELECT 1 FROM memories WHERE instr(key, :t) LIMIT 1"
        telling = sorted(text for text in texts if len(text) >= PROOF_CHARACTERS)
        sought = telling[:: max(1, len(telling) // PROOFS)]
        absent = [text for text in sought if not db.conn.execute(held, {"t": text}).fetchone()]
    downloads.clear(bank.path)
    kept = sorted(bank.path.parent.glob(f"{bank.path.name}{BEFORE}*"))
    copies = tuple(path for path in kept if any(_holds(path, text.encode()[:200]) for text in sought))
    return replace(gone, residue=sum(stands_in_files(bank.path, text) for text in absent), copies=copies)


def stands_in_files(path: Path, text: str) -> bool:
    """Whether a text stands anywhere in the bytes of the bank's file, its log or its index of the log."""
    files = [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]
    # SQLite breaks a long text at page borders: its first words are looked for.
    sought = text.encode()[:200]
    return any(_holds(file, sought) for file in files if file.exists() and file.stat().st_size)


def _holds(path: Path, sought: bytes) -> bool:
    # Mapped, for a bank may be larger than memory.
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as held:
        return held.find(sought) >= 0
