"""Read the rows of a persona that an export holds, and look up and connect those that a restore adds.

`db` is a connection of the caller's, so that all of it belongs to one transaction. The rows to export are streamed.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlite_utils import Database

from memory.bank.rows import json_list


def count_turns_and_memories(db: Database, persona_ids: Iterable[int]) -> tuple[int, int]:
    """The number of turns and of memories that personas have in all."""
    query = """
        SELECT coalesce(sum((SELECT count(*) FROM turns t JOIN sessions s ON s.id = t.session_id
                WHERE s.persona_id = p.id)), 0),
            coalesce(sum((SELECT count(*) FROM memories WHERE persona_id = p.id)), 0)
        FROM personas p WHERE id IN (SELECT value FROM json_each(?))
    """
    turns, memories = db.conn.execute(query, (json_list(persona_ids),)).fetchone()
    return int(turns), int(memories)


def turn_rows(db: Database, session_id: int) -> Iterator[dict[str, Any]]:
    """The turns of a session in order, and whether each is `recallable`."""
    query = """
        SELECT t.*, EXISTS (SELECT 1 FROM sources o JOIN memories m ON m.id = o.memory_id
            WHERE o.turn_id = t.id AND o.quote = '' AND m.store = 'dialogue') AS recallable
        FROM turns t WHERE session_id = ? ORDER BY position
    """
    return db.query(query, [session_id])


def memory_rows(db: Database, persona_id: int) -> Iterator[dict[str, Any]]:
    """The memories of a persona in order of id.

    `links` (turn, quote, alone, the turn's identity), `bases` (memories it rests on) and `uses` (turn, number of the
    citation) are JSON lists.
    """
    query = """
        SELECT m.*,
            (SELECT json_group_array(json_array(o.turn_id, o.quote, o.alone, t.identity))
                FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = m.id) AS links,
            (SELECT json_group_array(basis_id) FROM rests_on WHERE memory_id = m.id) AS bases,
            (SELECT json_group_array(json_array(turn_id, number)) FROM cites WHERE memory_id = m.id) AS uses
        FROM memories m WHERE persona_id = ? ORDER BY id
    """
    return db.query(query, [persona_id])


def turns_by_identity(db: Database, session_id: int) -> dict[str, tuple[int, int]]:
    """The id and the position of each turn of a session, by its identity."""
    query = "SELECT identity, id, position FROM turns WHERE session_id = ?"
    return {identity: (turn_id, position) for identity, turn_id, position in db.conn.execute(query, (session_id,))}


def identity_of_turn(db: Database, turn_id: int) -> str:
    """The identity of a turn, which must exist."""
    return str(db.conn.execute("SELECT identity FROM turns WHERE id = ?", (turn_id,)).fetchone()[0])


def requeue_session(db: Database, session_id: int) -> None:
    """Queue a session for learning again."""
    db.conn.execute("UPDATE sessions SET learned = 0 WHERE id = ?", (session_id,))


def set_superseding(db: Database, pairs: Iterable[tuple[int, int]]) -> None:
    """Set which memory superseded another: (the later, the earlier)."""
    db.conn.executemany("UPDATE memories SET superseded_by = ? WHERE id = ?", pairs)


def has_change(db: Database, row: Mapping[str, object]) -> bool:
    """Whether the bank has a change of the same persona, memory and time."""
    query = "SELECT 1 FROM changes WHERE persona_id = :persona_id AND memory_id = :memory_id AND at = :at"
    return db.conn.execute(query, row).fetchone() is not None
