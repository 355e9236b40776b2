"""What is still to be learned from: the queue of sessions that are over, kept in the bank's own rows.

A session is due when it is closed and what was learned from is not what it holds: killed at any point, the next start
goes on where this one stopped; run twice, nothing is added; a turn that came or went makes it due again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlite_utils import Database

from memory import rows, writing
from memory.bank import Bank
from memory.types import Learned, Stored, Turn

IDLE = timedelta(minutes=30)
"""A chat in which nobody has spoken for so long is over."""

SUMMARY = "summary"
"""The attribute of the one memory that sums a session up."""

_HELD = "(SELECT count(*) || ':' || max(t.id) FROM turns t WHERE t.session_id = s.id)"
_DUE = f"""
SELECT s.persona_id, s.id, {_HELD} AS held FROM sessions s
WHERE (s.heard_at IS NULL OR s.heard_at < :quiet) AND s.learned <> held ORDER BY s.id
"""


@dataclass(frozen=True, slots=True)
class Due:
    """A session that is to be learned from; `held` tells one state of its turns from another."""

    persona_id: int
    session_id: int
    held: str


@dataclass(frozen=True, slots=True)
class Heard:
    """A turn of such a session. It is `news` if it may be recalled: a question and a reply from memory are none."""

    turn: Turn
    news: bool


def due(bank: Bank, now: datetime, limit: int = -1) -> list[Due]:
    """The sessions that are over at `now` and not learned from yet, the oldest first."""
    with bank.reading() as db:
        found = db.conn.execute(f"{_DUE} LIMIT :limit", {"quiet": rows.stamp(now - IDLE), "limit": limit})
        return [Due(*row) for row in found]


def close(bank: Bank, persona_id: int | None = None, external_id: str | None = None) -> None:
    """Say that a chat is over; without arguments, that all are."""
    with bank.writing() as db:
        db.conn.execute(
            "UPDATE sessions SET heard_at = NULL WHERE heard_at IS NOT NULL AND persona_id = coalesce(?, persona_id) "
            "AND external_id = coalesce(?, external_id)",
            (persona_id, external_id),
        )


def heard(bank: Bank, session: Due) -> list[Heard]:
    """The turns of a session in order; what was taken back since is no news any more."""
    query = """
        SELECT t.*, EXISTS (SELECT 1 FROM sources o JOIN memories m ON m.id = o.memory_id WHERE o.turn_id = t.id
            AND o.alone AND m.store = 'dialogue' AND m.taken_back IS NULL) AS news
        FROM turns t WHERE t.session_id = ? ORDER BY t.position
    """
    with bank.reading() as db:
        return [Heard(rows.turn(r), bool(r["news"])) for r in db.query(query, [session.session_id])]


def settle(bank: Bank, session: Due, turns: Sequence[Turn], learned: Sequence[Learned]) -> Stored | None:
    """Store what was learned from a session's turns and take it from the queue, all or nothing.

    None, and nothing stored, if the session changed meanwhile or another process was first. A summary takes the place
    of the one that the session had.
    """
    with bank.writing() as db:
        now = db.conn.execute(
            f"SELECT {_HELD}, s.learned FROM sessions s WHERE s.id = ?", (session.session_id,)
        ).fetchone()
        if now is None or now[0] != session.held or now[1] == session.held:
            return None
        _drop_summary(db, session.session_id, learned)
        said = [(turn.id, turn) for turn in turns]
        stored = writing.learned(db, session.persona_id, session.session_id, said, learned)
        db.conn.execute("UPDATE sessions SET learned = ? WHERE id = ?", (session.held, session.session_id))
    return stored


def _drop_summary(db: Database, session_id: int, learned: Sequence[Learned]) -> None:
    """Remove what sums the session up, unless it is learned again word by word."""
    kept = [item.memory.text for item in learned if item.memory.attribute == SUMMARY]
    db.conn.execute(
        "DELETE FROM memories WHERE session_id = ? AND store = 'event' AND attribute = ? "
        "AND text NOT IN (SELECT value FROM json_each(?))",
        (session_id, SUMMARY, json.dumps(kept)),
    )


def waiting(bank: Bank) -> int:
    """How many sessions are closed and not learned from yet."""
    return len(due(bank, datetime.now(UTC)))
