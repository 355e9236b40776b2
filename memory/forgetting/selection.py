"""Select what to forget: memories, a session, everything before a date, or everything that mentions some words.

A selection names rows; `memory.forgetting.dependants` adds the rows that must be deleted along with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlite_utils import Database

from memory.bank import deletion
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


def select_memories(ids: Sequence[int]) -> Selector:
    """Select memories and the turns they came from."""

    def find(db: Database, persona_id: int) -> Selection:
        memories = deletion.existing_memories(db, persona_id, ids)
        return Selection(memories, deletion.source_turns(db, memories))

    return find


def select_session(session_id: int) -> Selector:
    """Select a whole session, which must belong to the persona."""

    def find(db: Database, persona_id: int) -> Selection:
        memories = deletion.session_memories_without_turns(db, session_id)
        return Selection(memories, deletion.session_turns(db, session_id), (session_id,))

    return find


def select_before(moment: datetime) -> Selector:
    """Select the turns said before a moment, and memories without turns that were known or over by then.

    What has no date is not selected.
    """

    def find(db: Database, persona_id: int) -> Selection:
        memories = deletion.memories_without_turns_before(db, persona_id, moment)
        return Selection(memories, deletion.turns_before(db, persona_id, moment))

    return find


def select_mentions(text: str) -> Selector:
    """Select turns, memories and titles that contain these words in any case; "Ann" does not match "Anna".

    If a summary contains them, its other turns stay; it is written anew from those.

    Raises:
        MemoirError: the text contains no word.
    """
    pattern = _pattern_of(text)

    def find(db: Database, persona_id: int) -> Selection:
        memories, turns, titles = deletion.mentions(db, persona_id, pattern)
        return Selection(memories, turns, titles=titles)

    return find


def _pattern_of(text: str) -> re.Pattern[str]:
    words = text.split()
    if not any(letter.isalnum() for letter in text):
        raise MemoirError("Enter the word or name to forget.")
    first, last = text.strip()[0], text.strip()[-1]
    left = "" if _UNSPACED.match(first) or not first.isalnum() else r"(?<!\w)"
    right = "" if _UNSPACED.match(last) or not last.isalnum() else r"(?!\w)"
    return re.compile(left + r"\s+".join(re.escape(word) for word in words) + right, re.IGNORECASE)
