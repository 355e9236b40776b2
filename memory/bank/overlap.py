"""Where a log that was exported anew begins in the midst of what the bank knows of it."""

from __future__ import annotations

import operator
from collections.abc import Sequence

from sqlite_utils import Database

from memory.bank import rows
from memory.types import SessionDraft

Said = Sequence[tuple[str, str, str]]
"""Turns by what counts equal ones: their source's name for them, who spoke, and the words."""


def begun(db: Database, persona_id: int, draft: SessionDraft) -> tuple[int, Said] | None:
    """The session that a part of a log takes up in its midst, and what was said in it before.

    A log that is exported again may begin anywhere, though it was cut at the same pauses. From where it begins, it must
    agree with what is held, line by line; a message of the same words in the same minute is then neither lost nor told
    twice.
    """
    first = draft.turns[0] if draft.turns else None
    # What its source gives a name of its own is no other; a log's session is named after its first message, if at all.
    if first is None or first.said_at is None or draft.external_id != first.external_id:
        return None
    at = rows.format_time(first.said_at)
    query = (
        "SELECT DISTINCT m.session_id FROM memories m JOIN sessions s ON s.id = m.session_id "
        "WHERE m.persona_id = ? AND m.said_at = ? AND m.store = 'dialogue' AND s.source = 'import'"
    )
    told = [
        _sign(t.external_id, t.speaker, t.text, rows.format_time(t.said_at or draft.started_at)) for t in draft.turns
    ]
    for (session_id,) in db.conn.execute(query, (persona_id, at)).fetchall():
        turns = "SELECT external_id, speaker, text, said_at FROM turns WHERE session_id = ? ORDER BY position"
        held = db.conn.execute(turns, (session_id,)).fetchall()
        signs = [_sign(*row) for row in held]
        for place, sign in enumerate(signs):
            if sign == told[0] and all(map(operator.eq, signs[place:], told)):
                return session_id, [row[:3] for row in held[:place]]
    return None


def _sign(external_id: str, speaker: str, text: str, said_at: str | None) -> object:
    """What tells one message of a log from another."""
    return external_id or (speaker, text, said_at)
