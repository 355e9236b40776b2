"""Select what to forget, find the rows that depend on it, detach what stays from them (deletion.sql), and delete them.

`db` is a connection of the caller's, so that all of it belongs to one transaction.
"""

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlite_utils import Database

from memory import named_queries
from memory.bank.queries.memories import known_to, visible_personas
from memory.bank.rows import format_time, json_list
from memory.errors import MemoirError, UnknownMemory

# Scripts without spaces between words: a word in them has no boundaries to match.
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")

_SQL = named_queries(__file__)


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

    @property
    def counts(self) -> dict[str, Any]:
        """How many rows it has, by kind."""
        return {kind: len(getattr(self, kind)) for kind in ("sessions", "turns", "memories")}


Selector = Callable[[Database, int], Selection]
"""Finds the selected rows of one persona, given its id."""


def select_everything(db: Database, persona_id: int) -> Selection:
    """Select a persona and all its rows.

    Raises:
        MemoirError: it is not there.
    """
    kinds = ("memories", "turns", "sessions", "personas")
    selected = [run_column(db, f"{kind}_of_persona", persona=persona_id) for kind in kinds]
    if not selected[-1]:
        raise MemoirError(f"There is no persona {persona_id}. It was deleted, perhaps in another window.")
    return Selection(**dict(zip(kinds, selected, strict=True)))


def select_memories(ids: Sequence[int]) -> Selector:
    """Select memories that the persona knows, and the turns they came from."""

    def find(db: Database, persona_id: int) -> Selection:
        query = _SQL["known_memories"].format(known=known_to(db, persona_id, "+m.persona_id"))
        known = Selection([memory_id for (memory_id,) in db.conn.execute(query, (json_list(ids),))])
        return replace(known, turns=run_column(db, "source_turns", known))

    return find


def select_session(session_id: int) -> Selector:
    """Select a whole session of the persona, or of one whose memories of the user it shares.

    Raises:
        UnknownMemory: it is not there, or another persona's that is kept apart.
    """

    def find(db: Database, persona_id: int) -> Selection:
        personas = json_list(visible_personas(db, persona_id))
        if not run_column(db, "known_session", session=session_id, knowing=personas):
            raise UnknownMemory(f"persona {persona_id} has no session {session_id}")
        turns = run_column(db, "turns_of_session", session=session_id)
        return Selection(run_column(db, "memories_of_session", session=session_id), turns, (session_id,))

    return find


def select_before(moment: datetime) -> Selector:
    """Select the turns said before a moment, and memories without turns that were known or over by then.

    What has no date is not selected.
    """

    def find(db: Database, persona_id: int) -> Selection:
        kinds, at = ("memories", "turns"), format_time(moment)
        return Selection(*(run_column(db, f"{kind}_before", persona=persona_id, moment=at) for kind in kinds))

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

    def find(db: Database, persona_id: int) -> Selection:
        db.conn.create_function("mentions", 1, lambda value: pattern.search(value) is not None, deterministic=True)
        kinds = ("memories", "turns", "titles")
        return Selection(**{kind: run_column(db, f"mentioning_{kind}", persona=persona_id) for kind in kinds})

    return find


def run(db: Database, name: str, selected: Selection | None = None, **values: object) -> sqlite3.Cursor:
    """Run a statement of deletion.sql on selected rows, with further values that it names."""
    return db.conn.execute(_SQL[name], {**(selected or Selection()).values, **values})


def run_column(db: Database, name: str, selected: Selection | None = None, **values: object) -> list[Any]:
    """The first column of what a statement selects."""
    return [value for (value,) in run(db, name, selected, **values)]


def delete_rows(db: Database, table: str, ids: Iterable[int]) -> None:
    """Delete rows of a table, with all that belongs to them alone."""
    db.table(table).delete_where("id IN (SELECT value FROM json_each(?))", [json_list(ids)])


def empty_log(db: Database) -> None:
    """Empty the write-ahead log, which holds old pages, outside any transaction."""
    db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
