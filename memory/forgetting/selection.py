"""Select what to forget: memories, a session, everything before a date, or everything that mentions some words.

A selection names rows; `memory.forgetting.dependants` adds the rows that must be deleted along with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlite_utils import Database

from memory.bank import rows
from memory.errors import MemoirError


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of rows to delete; the sessions in `titles` only lose their title."""

    memories: Sequence[int] = ()
    turns: Sequence[int] = ()
    sessions: Sequence[int] = ()
    titles: Sequence[int] = ()


Selector = Callable[[Database, int], Selection]
"""Finds the selected rows of one persona, given its id."""

# Scripts without spaces between words: a word in them has no boundaries to match.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

FIELD_SEPARATOR = 0xE000
"""A private-use character that is neither a letter nor a space, so that no match spans two columns."""

_WITHOUT_TURNS = "NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"


def select_memories(ids: Sequence[int]) -> Selector:
    """Select memories and the turns they came from."""

    def find(db: Database, persona_id: int) -> Selection:
        query = "SELECT id FROM memories WHERE persona_id = ? AND id IN (SELECT value FROM json_each(?))"
        memories = query_ids(db, query, persona_id, rows.json_list(ids))
        turns = "SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(?))"
        return Selection(memories, query_ids(db, turns, rows.json_list(memories)))

    return find


def select_session(session_id: int) -> Selector:
    """Select a whole session, which must belong to the persona."""

    def find(db: Database, persona_id: int) -> Selection:
        memories = query_ids(db, f"SELECT id FROM memories m WHERE session_id = ? AND {_WITHOUT_TURNS}", session_id)
        turns = query_ids(db, "SELECT id FROM turns WHERE session_id = ?", session_id)
        return Selection(memories, turns, (session_id,))

    return find


def select_before(moment: datetime) -> Selector:
    """Select the turns said before a moment, and memories without turns that were known or over by then.

    What has no date is not selected.
    """

    def find(db: Database, persona_id: int) -> Selection:
        at = rows.format_time(moment)
        turns = (
            "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ? AND t.said_at < ?"
        )
        memories = (
            f"SELECT id FROM memories m WHERE persona_id = ? AND coalesce(said_at, event_end) < ? AND {_WITHOUT_TURNS}"
        )
        return Selection(query_ids(db, memories, persona_id, at), query_ids(db, turns, persona_id, at))

    return find


def select_mentions(text: str) -> Selector:
    """Select turns, memories and titles that contain these words in any case; "Ann" does not match "Anna".

    If a summary contains them, its other turns stay; it is written anew from those.

    Raises:
        MemoirError: the text contains no word.
    """
    pattern = _pattern_of(text)

    def find(db: Database, persona_id: int) -> Selection:
        db.conn.create_function("mentions", 1, lambda value: pattern.search(value) is not None, deterministic=True)
        turns = (
            "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id "
            f"WHERE s.persona_id = ? AND mentions({_concat('t.text', 't.speaker')})"
        )
        key = "CASE WHEN key = text THEN '' ELSE key END"
        columns = _concat("text", key, "speaker", "attribute", "event_text", "emotion", "scene")
        return Selection(
            query_ids(db, f"SELECT id FROM memories WHERE persona_id = ? AND mentions({columns})", persona_id),
            query_ids(db, turns, persona_id),
            titles=query_ids(db, "SELECT id FROM sessions WHERE persona_id = ? AND mentions(title)", persona_id),
        )

    return find


def _concat(*columns: str) -> str:
    """Several columns as one text: a call out of SQLite costs as much as the search itself."""
    return f" || char({FIELD_SEPARATOR}) || ".join(columns)


def _pattern_of(text: str) -> re.Pattern[str]:
    words = text.split()
    if not any(letter.isalnum() for letter in text):
        raise MemoirError("Enter the word or name to forget.")
    first, last = text.strip()[0], text.strip()[-1]
    left = "" if _UNSPACED.match(first) or not first.isalnum() else r"(?<!\w)"
    right = "" if _UNSPACED.match(last) or not last.isalnum() else r"(?!\w)"
    return re.compile(left + r"\s+".join(re.escape(word) for word in words) + right, re.IGNORECASE)


def query_ids(db: Database, query: str, *values: object) -> list[int]:
    """The first column of a query's rows."""
    return [int(i) for (i,) in db.conn.execute(query, values)]
