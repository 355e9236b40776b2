"""What is meant to be forgotten: memories, a session, all before a date, all that mentions something.

These name the memories and turns; `memory.forgetting.forget` adds what hangs on them.
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
class Meant:
    """Numbers of what is to go. Sessions go by themselves when no turn is left; of others, titles may have to go."""

    memories: Sequence[int] = ()
    turns: Sequence[int] = ()
    sessions: Sequence[int] = ()
    titles: Sequence[int] = ()


Scope = Callable[[Database, int], Meant]
"""Finds what is meant of a persona."""

# Scripts that put no space between words: a word of theirs has no border to look for.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

BORDER = 0xE000
"""A character that is neither of a word nor space, and that nobody has a key for."""

_UNSAID = "NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)"


def memories(ids: Sequence[int]) -> Scope:
    """These memories and the turns that they came from."""

    def find(db: Database, persona_id: int) -> Meant:
        query = "SELECT id FROM memories WHERE persona_id = ? AND id IN (SELECT value FROM json_each(?))"
        found = numbers(db, query, persona_id, rows.listed(ids))
        said = "SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(?))"
        return Meant(found, numbers(db, said, rows.listed(found)))

    return find


def session(session_id: int) -> Scope:
    """A session whole; it must be the persona's."""

    def find(db: Database, persona_id: int) -> Meant:
        unsaid = numbers(db, f"SELECT id FROM memories m WHERE session_id = ? AND {_UNSAID}", session_id)
        turns = numbers(db, "SELECT id FROM turns WHERE session_id = ?", session_id)
        return Meant(unsaid, turns, (session_id,))

    return find


def before(moment: datetime) -> Scope:
    """What was said before a moment, and what nobody said and was known or over by then; what has no date stays."""

    def find(db: Database, persona_id: int) -> Meant:
        at = rows.stamp(moment)
        turns = (
            "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = ? AND t.said_at < ?"
        )
        unsaid = f"SELECT id FROM memories m WHERE persona_id = ? AND coalesce(said_at, event_end) < ? AND {_UNSAID}"
        return Meant(numbers(db, unsaid, persona_id, at), numbers(db, turns, persona_id, at))

    return find


def mentions(text: str) -> Scope:
    """Turns, memories and titles that hold these words, whatever their case; "Ann" is not in "Anna".

    Of a summary that holds them the turns stay that do not: it is made anew without the others.

    Raises:
        MemoirError: there is no word in the text.
    """
    pattern = _words(text)

    def find(db: Database, persona_id: int) -> Meant:
        db.conn.create_function("mentions", 1, lambda held: pattern.search(held) is not None, deterministic=True)
        turns = (
            "SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id "
            f"WHERE s.persona_id = ? AND mentions({_joined('t.text', 't.speaker')})"
        )
        own_key = "CASE WHEN key = text THEN '' ELSE key END"
        told = _joined("text", own_key, "speaker", "attribute", "event_text", "emotion", "scene")
        return Meant(
            numbers(db, f"SELECT id FROM memories WHERE persona_id = ? AND mentions({told})", persona_id),
            numbers(db, turns, persona_id),
            titles=numbers(db, "SELECT id FROM sessions WHERE persona_id = ? AND mentions(title)", persona_id),
        )

    return find


def _joined(*columns: str) -> str:
    """Several columns as one text, for each call out of SQLite costs as much as the search; no words span two."""
    return f" || char({BORDER}) || ".join(columns)


def _words(text: str) -> re.Pattern[str]:
    words = text.split()
    if not any(letter.isalnum() for letter in text):
        raise MemoirError("Write the word or name that is to be forgotten.")
    first, last = text.strip()[0], text.strip()[-1]
    left = "" if _UNSPACED.match(first) or not first.isalnum() else r"(?<!\w)"
    right = "" if _UNSPACED.match(last) or not last.isalnum() else r"(?!\w)"
    return re.compile(left + r"\s+".join(re.escape(word) for word in words) + right, re.IGNORECASE)


def numbers(db: Database, query: str, *values: object) -> list[int]:
    """The first column of what a query finds."""
    return [int(i) for (i,) in db.conn.execute(query, values)]
