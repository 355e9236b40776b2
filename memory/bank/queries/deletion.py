"""Select what to forget, find the rows that depend on it, detach what stays from them (deletion.sql), and delete them.

`db` is a connection of the caller's, so that all of it belongs to one transaction.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from memory import named_queries
from memory.bank.queries.memories import known_to, persona_list, visible_personas
from memory.bank.rows import format_time, json_list
from memory.errors import MemoirError, UnknownMemory

FIELD_SEPARATOR = 0xE000
"""A private-use character that is neither a letter nor a space, so that no match spans two columns."""

# Scripts without spaces between words: a word in them has no boundaries to match.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

_SQL = named_queries(__file__)
_WITHOUT_TURNS = "NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"
_TURN_IDS = "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ?"


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of rows to delete; the sessions in `titles` only lose their title."""

    memories: Sequence[int] = ()
    turns: Sequence[int] = ()
    sessions: Sequence[int] = ()
    titles: Sequence[int] = ()
    personas: Sequence[int] = ()

    @property
    def values(self) -> dict[str, str]:
        """Its ids as the values of a statement of deletion.sql."""
        return {name: json_list(getattr(self, name)) for name in self.__slots__}


Selector = Callable[[Database, int], Selection]
"""Finds the selected rows of one persona, given its id."""


def _ids(db: Database, query: str, *values: object) -> list[int]:
    return [int(i) for (i,) in db.conn.execute(query, values)]


def select_everything(db: Database, persona_id: int) -> Selection:
    """Select a persona and all its rows.

    Raises:
        MemoirError: it is not there.
    """
    memories, sessions = (
        _ids(db, f"SELECT id FROM {table} WHERE persona_id = ?", persona_id) for table in ("memories", "sessions")
    )
    if not (personas := _ids(db, "SELECT id FROM personas WHERE id = ?", persona_id)):
        raise MemoirError(f"There is no persona {persona_id}. It was deleted, perhaps in another window.")
    return Selection(memories, _ids(db, _TURN_IDS, persona_id), sessions, personas=personas)


def select_memories(ids: Sequence[int]) -> Selector:
    """Select memories that the persona knows, and the turns they came from."""

    def find(db: Database, persona_id: int) -> Selection:
        known = known_to(db, persona_id, "+m.persona_id")
        existing = f"SELECT m.id FROM memories m WHERE {known} AND m.id IN (SELECT value FROM json_each(?))"
        memories = _ids(db, existing, json_list(ids))
        turns = "SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(?))"
        return Selection(memories, _ids(db, turns, json_list(memories)))

    return find


def select_session(session_id: int) -> Selector:
    """Select a whole session of the persona, or of one whose memories of the user it shares.

    Raises:
        UnknownMemory: it is not there, or another persona's that is kept apart.
    """

    def find(db: Database, persona_id: int) -> Selection:
        personas = persona_list(visible_personas(db, persona_id))
        if not _ids(db, f"SELECT id FROM sessions WHERE id = ? AND persona_id IN {personas}", session_id):
            raise UnknownMemory(f"persona {persona_id} has no session {session_id}")
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
    words = text.split()
    if not any(letter.isalnum() for letter in text):
        raise MemoirError("Enter the word or name to forget.")
    first, last = words[0][0], words[-1][-1]
    left = "" if _UNSPACED.match(first) or not first.isalnum() else r"(?<!\w)"
    right = "" if _UNSPACED.match(last) or not last.isalnum() else r"(?!\w)"
    pattern = re.compile(left + r"\s+".join(map(re.escape, words)) + right, re.IGNORECASE)
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


def run(db: Database, name: str, selected: Selection | None = None, **values: int | str) -> sqlite3.Cursor:
    """Run a statement of deletion.sql on selected rows, with further values that it names."""
    return db.conn.execute(_SQL[name], {**(selected or Selection()).values, **values})


def run_column(db: Database, name: str, selected: Selection | None = None, **values: int) -> list[Any]:
    """The first column of what a statement selects."""
    return [value for (value,) in run(db, name, selected, **values)]


def delete_rows(db: Database, table: str, ids: Iterable[int]) -> None:
    """Delete rows of a table, with all that belongs to them alone."""
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [json_list(ids)])


def empty_log(db: Database) -> None:
    """Empty the write-ahead log, which holds old pages, outside any transaction."""
    db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
