"""Select what to forget, find the rows that depend on it, detach what stays from them, and delete them.

`db` is a connection of the caller's, so that all of it belongs to one transaction.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlite_utils import Database

from memory.bank.rows import format_time, json_list
from memory.errors import MemoirError

FIELD_SEPARATOR = 0xE000
"""A private-use character that is neither a letter nor a space, so that no match spans two columns."""

# Scripts without spaces between words: a word in them has no boundaries to match.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

_IN_MEMORIES = "IN (SELECT value FROM json_each(:memories))"
_IN_TURNS = "IN (SELECT value FROM json_each(:turns))"
_WITHOUT_TURNS = "NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"
_CARD = ("name", "description", "scenario", "first_message", "examples")
_TURN_IDS = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of rows to delete; the sessions in `titles` only lose their title."""

    memories: Sequence[int] = ()
    turns: Sequence[int] = ()
    sessions: Sequence[int] = ()
    titles: Sequence[int] = ()

    @property
    def values(self) -> dict[str, str]:
        """Its ids as the values of a query: `:memories`, `:turns`, `:sessions` and `:titles` for `json_each`."""
        return {name: json_list(getattr(self, name)) for name in self.__slots__}


Selector = Callable[[Database, int], Selection]
"""Finds the selected rows of one persona, given its id."""


def _ids(db: Database, query: str, *values: object) -> list[int]:
    return [int(i) for (i,) in db.conn.execute(query, values)]


def select_everything(db: Database, persona_id: int) -> Selection:
    """Select all rows of a persona."""
    memories, sessions = (
        _ids(db, f"SELECT id FROM {table} WHERE persona_id = ?", persona_id) for table in ("memories", "sessions")
    )
    return Selection(memories, _ids(db, _TURN_IDS, persona_id), sessions)


def select_memories(ids: Sequence[int]) -> Selector:
    """Select memories and the turns they came from."""

    def find(db: Database, persona_id: int) -> Selection:
        existing = "SELECT id FROM memories WHERE persona_id = ? AND id IN (SELECT value FROM json_each(?))"
        memories = _ids(db, existing, persona_id, json_list(ids))
        turns = "SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(?))"
        return Selection(memories, _ids(db, turns, json_list(memories)))

    return find


def select_session(session_id: int) -> Selector:
    """Select a whole session, which must belong to the persona."""

    def find(db: Database, persona_id: int) -> Selection:
        memories = _ids(db, f"SELECT id FROM memories m WHERE session_id = ? AND {_WITHOUT_TURNS}", session_id)
        return Selection(memories, _ids(db, "SELECT id FROM turns WHERE session_id = ?", session_id), (session_id,))

    return find


def select_before(moment: datetime) -> Selector:
    """Select the turns said before a moment, and memories without turns that were known or over by then.

    What has no date is not selected.
    """

    def find(db: Database, persona_id: int) -> Selection:
        values, known = (persona_id, format_time(moment)), "coalesce(said_at, event_end) < ?"
        query = f"SELECT id FROM memories m WHERE persona_id = ? AND {known} AND {_WITHOUT_TURNS}"
        return Selection(_ids(db, query, *values), _ids(db, f"{_TURN_IDS} AND t.said_at < ?", *values))

    return find


def select_mentions(text: str) -> Selector:
    """Select turns, memories and titles that contain these words in any case; "Ann" does not match "Anna".

    If a summary contains them, its other turns stay; it is written anew from those.

    Raises:
        MemoirError: the text contains no word.
    """
    pattern = _pattern_of(text)
    # Several columns as one text: a call out of SQLite costs as much as the search itself.
    key, separator = "CASE WHEN key = text THEN '' ELSE key END", f" || char({FIELD_SEPARATOR}) || "
    of_memory = separator.join(("text", key, "speaker", "attribute", "event_text", "emotion", "scene"))
    of_turn = separator.join(("t.text", "t.speaker"))

    def find(db: Database, persona_id: int) -> Selection:
        db.conn.create_function("mentions", 1, lambda value: pattern.search(value) is not None, deterministic=True)
        return Selection(
            _ids(db, f"SELECT id FROM memories WHERE persona_id = ? AND mentions({of_memory})", persona_id),
            _ids(db, f"{_TURN_IDS} AND mentions({of_turn})", persona_id),
            titles=_ids(db, "SELECT id FROM sessions WHERE persona_id = ? AND mentions(title)", persona_id),
        )

    return find


def _pattern_of(text: str) -> re.Pattern[str]:
    words = text.split()
    if not any(letter.isalnum() for letter in text):
        raise MemoirError("Enter the word or name to forget.")
    first, last = text.strip()[0], text.strip()[-1]
    left = "" if _UNSPACED.match(first) or not first.isalnum() else r"(?<!\w)"
    right = "" if _UNSPACED.match(last) or not last.isalnum() else r"(?!\w)"
    return re.compile(left + r"\s+".join(re.escape(word) for word in words) + right, re.IGNORECASE)


# --- what depends on it


def orphaned_memories(db: Database, selected: Selection) -> list[int]:
    """The memories that would keep no turn that supports them on its own."""
    query = f"""
        SELECT memory_id FROM sources
        WHERE memory_id IN (SELECT memory_id FROM sources WHERE turn_id {_IN_TURNS})
        GROUP BY memory_id HAVING sum(alone AND NOT turn_id {_IN_TURNS}) = 0
    """
    return [int(i) for (i,) in db.conn.execute(query, selected.values)]


def emptied_sessions(db: Database, selected: Selection) -> list[int]:
    """The sessions that would keep no turn."""
    query = f"""
        SELECT session_id FROM turns WHERE id {_IN_TURNS} GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return [int(i) for (i,) in db.conn.execute(query, selected.values)]


def other_replies(db: Database, persona_id: int, selected: Selection) -> Iterator[tuple[int, str, int]]:
    """(turn id, text, whether it cites one of the memories or answers one of the turns) of each other chat reply."""
    query = f"""
        SELECT t.id, t.text, EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id {_IN_MEMORIES})
            OR EXISTS (SELECT 1 FROM turns b
                WHERE b.session_id = t.session_id AND b.position = t.position - 1 AND b.id {_IN_TURNS})
        FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.persona_id = :persona AND s.source = 'chat' AND t.role = 'assistant' AND NOT t.id {_IN_TURNS}
    """
    return db.conn.execute(query, {"persona": persona_id, **selected.values})


# --- texts


def first_texts(db: Database, selected: Selection, limit: int) -> list[tuple[str, str]]:
    """(speaker, text) of the first of the turns, followed by those of the memories that came from no turn."""
    query = f"""
        SELECT * FROM (SELECT speaker, text FROM turns WHERE id {_IN_TURNS} ORDER BY id)
        UNION ALL SELECT speaker, text FROM memories m WHERE id {_IN_MEMORIES} AND {_WITHOUT_TURNS} LIMIT :limit
    """
    return db.conn.execute(query, {"limit": limit, **selected.values}).fetchall()


def texts_of(db: Database, selected: Selection) -> set[str]:
    """Every text that the bank stores for the memories and turns."""
    query = f"""
        SELECT text FROM memories WHERE id {_IN_MEMORIES} UNION SELECT key FROM memories WHERE id {_IN_MEMORIES}
        UNION SELECT text FROM turns WHERE id {_IN_TURNS} UNION SELECT quote FROM sources WHERE turn_id {_IN_TURNS}
    """
    return {str(text) for (text,) in db.conn.execute(query, selected.values)}


def names_of(db: Database, persona_id: int) -> set[str]:
    """The texts of a persona's card, and the titles of its sessions."""
    of_card = " UNION ".join(f"SELECT {column} FROM personas WHERE id = :id" for column in _CARD)
    query = f"{of_card} UNION SELECT title FROM sessions WHERE persona_id = :id"
    return {str(text) for (text,) in db.conn.execute(query, {"id": persona_id})}


def all_texts(db: Database) -> Iterator[str]:
    """The text and speaker of every turn, the text and key of every memory, every card and every title, one by one."""
    of_cards = " UNION ALL ".join(f"SELECT {column} FROM personas" for column in _CARD)
    query = f"""
        SELECT text FROM turns UNION ALL SELECT text FROM memories UNION ALL SELECT key FROM memories
        UNION ALL SELECT DISTINCT speaker FROM turns UNION ALL SELECT DISTINCT speaker FROM memories
        UNION ALL {of_cards} UNION ALL SELECT title FROM sessions
    """
    return (text for (text,) in db.conn.execute(query))


# --- changes


def clear_titles(db: Database, selected: Selection) -> None:
    """Clear the `titles`, and those that are words of one of the turns: a chat is named after its first words."""
    query = f"""
        UPDATE sessions SET title = '' WHERE title <> '' AND (id IN (SELECT value FROM json_each(:titles)) OR EXISTS (
            SELECT 1 FROM turns t
            WHERE t.session_id = sessions.id AND instr(t.text, sessions.title) AND t.id {_IN_TURNS}))
    """
    db.conn.execute(query, selected.values)


def move_shared_memories(db: Database, selected: Selection) -> None:
    """Move memories that have sources in other sessions to one of those, or deleting these would delete them."""
    in_sessions = "IN (SELECT value FROM json_each(:sessions))"
    other = (
        "(SELECT t.session_id FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = memories.id "
        f"AND NOT t.session_id {in_sessions} ORDER BY t.id LIMIT 1)"
    )
    db.conn.execute(
        f"UPDATE memories SET session_id = {other} WHERE session_id {in_sessions} AND {other} IS NOT NULL",
        selected.values,
    )


def requeue_sessions(db: Database, selected: Selection) -> None:
    """Queue the sessions of these rows for learning again: their summaries may have to be written anew."""
    query = f"""
        UPDATE sessions SET learned = 0 WHERE id IN (SELECT session_id FROM turns
            WHERE id {_IN_TURNS} OR id IN (SELECT turn_id FROM sources WHERE memory_id {_IN_MEMORIES}))
    """
    db.conn.execute(query, selected.values)


def delete_rows(db: Database, table: str, ids: Iterable[int]) -> None:
    """Delete rows of a table, with all that belongs to them alone."""
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [json_list(ids)])


def empty_log(db: Database) -> None:
    """Empty the write-ahead log, which holds old pages, outside any transaction."""
    db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
