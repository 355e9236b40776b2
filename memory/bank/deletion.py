"""Find the rows that forgetting concerns, detach what stays from them, and delete them.

`db` is a connection of the caller's, so that all of it belongs to one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from sqlite_utils import Database

from memory.bank.rows import format_time, json_list

FIELD_SEPARATOR = 0xE000
"""A private-use character that is neither a letter nor a space, so that no match spans two columns."""

_WITHOUT_TURNS = "NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"
_TURN_IDS = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"


def _ids(db: Database, query: str, *values: object) -> list[int]:
    return [int(i) for (i,) in db.conn.execute(query, values)]


# --- what is selected


def persona_memories(db: Database, persona_id: int) -> list[int]:
    """All memories of a persona."""
    return _ids(db, "SELECT id FROM memories WHERE persona_id = ?", persona_id)


def persona_turns(db: Database, persona_id: int) -> list[int]:
    """All turns of a persona."""
    return _ids(db, _TURN_IDS, persona_id)


def count_sessions(db: Database, persona_id: int) -> int:
    """The number of a persona's sessions."""
    return db.table("sessions").count_where("persona_id = ?", [persona_id])


def existing_memories(db: Database, persona_id: int, ids: Iterable[int]) -> list[int]:
    """Those of the memories that are the persona's."""
    query = "SELECT id FROM memories WHERE persona_id = ? AND id IN (SELECT value FROM json_each(?))"
    return _ids(db, query, persona_id, json_list(ids))


def source_turns(db: Database, memories: Iterable[int]) -> list[int]:
    """The turns that memories came from."""
    query = "SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(?))"
    return _ids(db, query, json_list(memories))


def session_memories_without_turns(db: Database, session_id: int) -> list[int]:
    """The memories of a session that came from no turn."""
    return _ids(db, f"SELECT id FROM memories m WHERE session_id = ? AND {_WITHOUT_TURNS}", session_id)


def session_turns(db: Database, session_id: int) -> list[int]:
    """The turns of a session."""
    return _ids(db, "SELECT id FROM turns WHERE session_id = ?", session_id)


def memories_without_turns_before(db: Database, persona_id: int, moment: datetime) -> list[int]:
    """A persona's memories that came from no turn and were known or over before a moment."""
    query = f"SELECT id FROM memories m WHERE persona_id = ? AND coalesce(said_at, event_end) < ? AND {_WITHOUT_TURNS}"
    return _ids(db, query, persona_id, format_time(moment))


def turns_before(db: Database, persona_id: int, moment: datetime) -> list[int]:
    """A persona's turns that were said before a moment."""
    return _ids(db, f"{_TURN_IDS} AND t.said_at < ?", persona_id, format_time(moment))


def mentions(db: Database, persona_id: int, pattern: re.Pattern[str]) -> tuple[list[int], list[int], list[int]]:
    """A persona's memories and turns in which a pattern occurs, and the sessions in whose titles it does."""
    db.conn.create_function("mentions", 1, lambda value: pattern.search(value) is not None, deterministic=True)
    key = "CASE WHEN key = text THEN '' ELSE key END"
    columns = _concat("text", key, "speaker", "attribute", "event_text", "emotion", "scene")
    return (
        _ids(db, f"SELECT id FROM memories WHERE persona_id = ? AND mentions({columns})", persona_id),
        _ids(db, f"{_TURN_IDS} AND mentions({_concat('t.text', 't.speaker')})", persona_id),
        _ids(db, "SELECT id FROM sessions WHERE persona_id = ? AND mentions(title)", persona_id),
    )


def _concat(*columns: str) -> str:
    """Several columns as one text: a call out of SQLite costs as much as the search itself."""
    return f" || char({FIELD_SEPARATOR}) || ".join(columns)


# --- what depends on it


def orphaned_memories(db: Database, turns: Iterable[int]) -> list[int]:
    """The memories that would keep no turn that supports them on its own."""
    query = """
        SELECT memory_id FROM sources
        WHERE memory_id IN (SELECT memory_id FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns)))
        GROUP BY memory_id HAVING sum(alone AND turn_id NOT IN (SELECT value FROM json_each(:turns))) = 0
    """
    return [int(i) for (i,) in db.conn.execute(query, {"turns": json_list(turns)})]


def emptied_sessions(db: Database, turns: Iterable[int]) -> list[int]:
    """The sessions that would keep no turn."""
    query = """
        SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(?)) GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return _ids(db, query, json_list(turns))


def other_replies(
    db: Database, persona_id: int, memories: Iterable[int], turns: Iterable[int]
) -> Iterator[tuple[int, str, int]]:
    """(turn id, text, whether it cites one of the memories or answers one of the turns) of each other chat reply."""
    query = """
        SELECT t.id, t.text,
            EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories)))
            OR EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.position = t.position - 1
                AND b.id IN (SELECT value FROM json_each(:turns)))
        FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.persona_id = :persona AND s.source = 'chat' AND t.role = 'assistant'
            AND t.id NOT IN (SELECT value FROM json_each(:turns))
    """
    return db.conn.execute(query, {"persona": persona_id, "turns": json_list(turns), "memories": json_list(memories)})


# --- texts


def first_texts(db: Database, memories: Iterable[int], turns: Iterable[int], limit: int) -> list[tuple[str, str]]:
    """(speaker, text) of the first of these turns, followed by those of these memories that came from no turn."""
    query = f"""
        SELECT * FROM (SELECT speaker, text FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) ORDER BY id)
        UNION ALL SELECT speaker, text FROM memories m WHERE id IN (SELECT value FROM json_each(:memories))
            AND {_WITHOUT_TURNS} LIMIT :limit
    """
    values = {"turns": json_list(turns), "memories": json_list(memories), "limit": limit}
    return db.conn.execute(query, values).fetchall()


def texts_of(db: Database, memories: Iterable[int], turns: Iterable[int]) -> set[str]:
    """Every text that the bank stores for these memories and turns."""
    query = """
        SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT text FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))
    """
    values = {"memories": json_list(memories), "turns": json_list(turns)}
    return {str(t) for (t,) in db.conn.execute(query, values)}


def all_texts(db: Database) -> Iterator[str]:
    """The text of every turn, and the text and key of every memory, one by one."""
    query = "SELECT text FROM turns UNION ALL SELECT text FROM memories UNION ALL SELECT key FROM memories"
    return (text for (text,) in db.conn.execute(query))


# --- changes


def clear_titles(db: Database, sessions: Iterable[int], turns: Iterable[int]) -> None:
    """Clear the titles of these sessions, and titles that are words of one of these turns: a chat is named after its
    first words."""
    db.conn.execute(
        "UPDATE sessions SET title = '' WHERE title <> '' AND (id IN (SELECT value FROM json_each(:titles)) OR "
        "EXISTS (SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND instr(t.text, sessions.title) "
        "AND t.id IN (SELECT value FROM json_each(:turns))))",
        {"titles": json_list(sessions), "turns": json_list(turns)},
    )


def move_shared_memories(db: Database, sessions: Iterable[int]) -> None:
    """Move memories that have sources in other sessions to one of those, or deleting these would delete them."""
    other = (
        "(SELECT t.session_id FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = memories.id "
        "AND t.session_id NOT IN (SELECT value FROM json_each(:ids)) ORDER BY t.id LIMIT 1)"
    )
    db.conn.execute(
        f"UPDATE memories SET session_id = {other} WHERE session_id IN (SELECT value FROM json_each(:ids)) "
        f"AND {other} IS NOT NULL",
        {"ids": json_list(sessions)},
    )


def requeue_sessions(db: Database, memories: Iterable[int], turns: Iterable[int]) -> None:
    """Queue the sessions of these rows for learning again: their summaries may have to be written anew."""
    db.conn.execute(
        "UPDATE sessions SET learned = 0 WHERE id IN (SELECT session_id FROM turns "
        "WHERE id IN (SELECT value FROM json_each(:turns)) OR id IN "
        "(SELECT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(:memories))))",
        {"turns": json_list(turns), "memories": json_list(memories)},
    )


def delete_rows(db: Database, table: str, ids: Iterable[int]) -> None:
    """Delete rows of a table, with all that belongs to them alone."""
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [json_list(ids)])


def empty_log(db: Database) -> None:
    """Empty the write-ahead log, which holds old pages, outside any transaction."""
    db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
