"""What hangs on what is to be forgotten: memories that no other turn carries, and replies that repeat any of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlite_utils import Database

from memory.bank.rows import listed
from memory.forgetting.selection import Meant, numbers

PROOF_CHARACTERS = 12
"""Shorter texts than this stand in a file by chance, or inside others: they are no proof of anything."""

SHOWN = 5
"""Lines of what would go that a preview shows."""


def whole(db: Database, persona_id: int, meant: Meant) -> Meant:
    """What is meant with all that no other turn carries alone, and the replies that repeat any of it."""
    memories = sorted({*meant.memories, *_carried(db, meant.turns)})
    turns = sorted({*meant.turns, *_replies(db, persona_id, memories, meant.turns)})
    sessions = sorted({*meant.sessions, *_emptied(db, turns)})
    return Meant(memories, turns, sessions, meant.titles)


def lines(db: Database, whole: Meant) -> tuple[str, ...]:
    """The first turns that would go and, where there are no more, memories that no turn said."""
    query = """
        SELECT * FROM (SELECT speaker, text FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) ORDER BY id)
        UNION ALL SELECT speaker, text FROM memories m WHERE id IN (SELECT value FROM json_each(:memories))
            AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id) LIMIT :shown
    """
    values = {"turns": listed(whole.turns), "memories": listed(whole.memories), "shown": SHOWN}
    return tuple(f"{speaker}: {text}" if speaker else text for speaker, text in db.conn.execute(query, values))


def texts(db: Database, memories: Sequence[int], turns: Sequence[int]) -> set[str]:
    """All the words by which these memories and turns stand in the bank."""
    query = """
        SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT text FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))
    """
    values = {"memories": listed(memories), "turns": listed(turns)}
    return {str(t) for (t,) in db.conn.execute(query, values)}


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
    for text in texts(db, memories, turns):
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


def _emptied(db: Database, turns: Iterable[int]) -> list[int]:
    """Sessions that would keep no turn."""
    query = """
        SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(?)) GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return numbers(db, query, listed(turns))
