"""Forgetting, for good: rows, index, vectors and the bytes of the file.

A memory goes with the turns it was drawn from, or the words would be found again; what else was drawn from those turns
alone goes too, and so do the persona's replies that repeat it. The bank's triggers drop its vector, unless other words
have the same, and the packed segment that holds it. SQLite overwrites what it frees (secure_delete) but for old pages
in the write-ahead log: that is emptied, then the bytes are searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from mmap import ACCESS_READ, mmap
from pathlib import Path

from sqlite_utils import Database

from memory import validity
from memory.bank import Bank

PROOF_CHARACTERS = 12
"""Shorter texts than this stand in a file by chance, or inside others: they are no proof of anything."""

PROOFS = 200
"""Texts that are looked for in the bytes; of more, they are sampled evenly: each costs a pass over the whole file."""


Meant = tuple[list[int], list[int], list[int]]
"""Ids of the memories, turns and sessions that go."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or went. `residue` is how many of the forgotten texts still stand anywhere in the bank's files."""

    memories: int
    turns: int
    sessions: int
    residue: int = 0


def preview(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """What forgetting these memories would remove; removes nothing."""
    with bank.reading() as db:
        return Forgotten(*map(len, _closure(db, persona_id, memory_ids)))


def preview_session(bank: Bank, persona_id: int, session_id: int) -> Forgotten:
    """What forgetting this session would remove; removes nothing."""
    session = bank.session(persona_id, session_id)
    with bank.reading() as db:
        return Forgotten(*map(len, _of_session(db, persona_id, session.id)))


def preview_persona(bank: Bank, persona_id: int) -> Forgotten:
    """What forgetting this persona would remove; removes nothing."""
    persona = bank.persona(persona_id)
    with bank.reading() as db:
        memories, turns, sessions = _of_persona(db, persona.id)
    return Forgotten(len(memories), len(turns), sessions)


def forget(bank: Bank, persona_id: int, memory_ids: Sequence[int]) -> Forgotten:
    """Remove memories, the turns they came from, what came from those alone, and the replies that repeat it."""
    return _forget(bank, lambda db: _closure(db, persona_id, memory_ids))


def forget_session(bank: Bank, persona_id: int, session_id: int) -> Forgotten:
    """Remove a session with its turns, all that was drawn from them, and replies elsewhere that repeat it."""
    session = bank.session(persona_id, session_id)
    return _forget(bank, lambda db: _of_session(db, persona_id, session.id))


def _forget(bank: Bank, meant: Callable[[Database], Meant]) -> Forgotten:
    with bank.writing() as db:
        memories, turns, sessions = meant(db)
        texts = _texts(db, memories, turns)
        _reopen(db, memories)
        _delete(db, "memories", memories)
        _rehome(db, sessions)
        _learn_again(db, turns)
        _untitle(db, turns)
        _delete(db, "turns", turns)
        _delete(db, "sessions", sessions)
    return Forgotten(len(memories), len(turns), len(sessions), _scrub(bank, texts))


def forget_persona(bank: Bank, persona_id: int) -> Forgotten:
    """Remove a persona with everything it knows."""
    persona = bank.persona(persona_id)
    with bank.writing() as db:
        memories, turns, sessions = _of_persona(db, persona.id)
        texts = _texts(db, memories, turns)
        _delete(db, "personas", [persona.id])
    return Forgotten(len(memories), len(turns), sessions, _scrub(bank, texts))


def _of_session(db: Database, persona_id: int, session_id: int) -> Meant:
    """A session with its turns, the memories that no turn elsewhere carries alone, and the replies that repeat them."""
    turns = "SELECT id FROM turns WHERE session_id = :session"
    unsaid = (
        "SELECT id FROM memories m WHERE session_id = :session "
        "AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"
    )
    values = {"session": session_id}
    memories = [int(i) for (i,) in db.conn.execute(f"{_carried(turns)} UNION {unsaid}", values)]
    said = [int(i) for (i,) in db.conn.execute(turns, values)]
    gone = [*said, *_replies(db, persona_id, memories, said)]
    return memories, gone, sorted({session_id, *_emptied(db, gone)})


def _of_persona(db: Database, persona_id: int) -> tuple[list[int], list[int], int]:
    """The memories and turns of a persona, and how many sessions it has."""
    memories = _ids(db, "SELECT id FROM memories WHERE persona_id = ?", persona_id)
    turns = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"
    return memories, _ids(db, turns, persona_id), db.table("sessions").count_where("persona_id = ?", [persona_id])


def _ids(db: Database, query: str, owner: int) -> list[int]:
    return [int(i) for (i,) in db.conn.execute(query, (owner,))]


def _closure(db: Database, persona_id: int, memory_ids: Sequence[int]) -> Meant:
    """The memories meant, their source turns and the replies that repeat them, and what no other turn carries alone."""
    values = {"persona": persona_id, "ids": json.dumps(list(memory_ids))}
    asked = "SELECT id FROM memories WHERE persona_id = :persona AND id IN (SELECT value FROM json_each(:ids))"
    turns = f"SELECT turn_id FROM sources WHERE memory_id IN ({asked})"
    all_turns = [int(i) for (i,) in db.conn.execute(f"SELECT DISTINCT turn_id FROM ({turns})", values)]
    memories = [int(i) for (i,) in db.conn.execute(f"{asked} UNION {_carried(turns)}", values)]
    gone = [*all_turns, *_replies(db, persona_id, memories, all_turns)]
    return memories, gone, _emptied(db, gone)


def _replies(db: Database, persona_id: int, memories: Sequence[int], turns: Sequence[int]) -> list[int]:
    """What the persona said in a chat that repeats them: answers that cite one, and its replies to one of the turns."""
    query = """
        SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.persona_id = :persona AND s.source = 'chat' AND t.role = 'assistant'
            AND t.id NOT IN (SELECT value FROM json_each(:turns)) AND (
            EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories)))
            OR EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.position = t.position - 1
                AND b.id IN (SELECT value FROM json_each(:turns)))
            OR EXISTS (SELECT 1 FROM json_each(:texts) WHERE instr(t.text, value)))
    """
    texts = [text for text in _texts(db, memories, turns) if len(text) >= PROOF_CHARACTERS]
    values = {"persona": persona_id, "memories": memories, "turns": turns, "texts": texts}
    return [
        int(i)
        for (i,) in db.conn.execute(query, {n: v if n == "persona" else json.dumps(v) for n, v in values.items()})
    ]


def _untitle(db: Database, turns: Sequence[int]) -> None:
    """Take from sessions the titles that are words of these turns."""
    db.conn.execute(
        "UPDATE sessions SET title = '' WHERE title <> '' AND EXISTS (SELECT 1 FROM turns t WHERE t.session_id = "
        "sessions.id AND t.id IN (SELECT value FROM json_each(?)) AND instr(t.text, sessions.title))",
        (json.dumps(list(turns)),),
    )


def _carried(turns: str) -> str:
    """The query for the memories that no turn but those that the query `turns` gives carries alone."""
    touched = f"SELECT memory_id FROM sources WHERE turn_id IN ({turns})"
    return (
        f"SELECT memory_id FROM sources WHERE memory_id IN ({touched}) GROUP BY memory_id "
        f"HAVING sum(alone AND turn_id NOT IN ({turns})) = 0"
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
        {"ids": json.dumps(list(sessions))},
    )


def _learn_again(db: Database, turns: Sequence[int]) -> None:
    """Put the sessions of these turns back into the queue: what summed them up may have to be made anew."""
    db.conn.execute(
        "UPDATE sessions SET learned = 0 WHERE id IN "
        "(SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(?)))",
        (json.dumps(list(turns)),),
    )


def _reopen(db: Database, memories: Sequence[int]) -> None:
    """Let what the memories had closed or corrected hold as long as if they had never been told."""
    for memory_id in sorted(memories, reverse=True):
        validity.reopen(db, memory_id)


def _emptied(db: Database, turns: Sequence[int]) -> list[int]:
    """Sessions that would keep no turn."""
    query = """
        SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(:ids)) GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return [int(i) for (i,) in db.conn.execute(query, {"ids": json.dumps(list(turns))})]


def _texts(db: Database, memories: Sequence[int], turns: Sequence[int]) -> set[str]:
    query = """
        SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT text FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))
    """
    values = {"memories": json.dumps(list(memories)), "turns": json.dumps(list(turns))}
    return {str(t) for (t,) in db.conn.execute(query, values)}


def _delete(db: Database, table: str, ids: Sequence[int]) -> None:
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [json.dumps(list(ids))])


def _scrub(bank: Bank, texts: set[str]) -> int:
    """Empty the write-ahead log and count the texts that still stand in the files but in no row."""
    with bank.reading() as db:
        db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        held = "SELECT 1 FROM turns WHERE instr(text, :t) UNION ALL SELECT 1 FROM memories WHERE instr(key, :t) LIMIT 1"
        telling = sorted(text for text in texts if len(text) >= PROOF_CHARACTERS)
        sought = telling[:: max(1, len(telling) // PROOFS)]
        gone = [text for text in sought if not db.conn.execute(held, {"t": text}).fetchone()]
    return sum(stands_in_files(bank.path, text) for text in gone)


def stands_in_files(path: Path, text: str) -> bool:
    """Whether a text stands anywhere in the bytes of the bank's file, its log or its index of the log."""
    files = [path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")]
    # SQLite breaks a long text at page borders: its first words are looked for.
    sought = text.encode()[:200]
    return any(_holds(file, sought) for file in files if file.exists() and file.stat().st_size)


def _holds(path: Path, sought: bytes) -> bool:
    # Mapped, for a bank may be larger than memory.
    with path.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as held:
        return held.find(sought) >= 0
