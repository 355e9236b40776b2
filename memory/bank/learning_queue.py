"""What is still to be learned from: the queue of sessions that are over, kept in the bank's own rows.

A session is due when it is closed and was not learned from since its turns changed: killed at any point, the next start
goes on where this one stopped; run twice, nothing is added; a turn that came or went makes it due again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sqlite_utils import Database

from memory.bank import facts as knowing
from memory.bank import journal, rows
from memory.bank.bank import Bank
from memory.types import LearnedMemory, Turn, WriteCounts

IDLE_TIMEOUT = timedelta(minutes=30)
"""A chat in which nobody has spoken for so long is over."""

SUMMARY = "summary"
"""The attribute of the one memory that sums a session up."""

_DUE = "NOT learned AND (heard_at IS NULL OR heard_at < :quiet)"


@dataclass(frozen=True, slots=True)
class PendingSession:
    """A session that is to be learned from."""

    persona_id: int
    session_id: int


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn of such a session. It is `news` if it may be recalled: a question and a reply from memory are none."""

    turn: Turn
    news: bool


def pending_sessions(bank: Bank, now: datetime, limit: int = -1) -> list[PendingSession]:
    """The sessions that are over at `now` and not learned from yet, the oldest first."""
    with bank.reading() as db:
        query = f"SELECT persona_id, id FROM sessions WHERE {_DUE} ORDER BY id LIMIT :limit"
        return [
            PendingSession(*row)
            for row in db.conn.execute(query, {"quiet": rows.format_time(now - IDLE_TIMEOUT), "limit": limit})
        ]


def close_chats(bank: Bank, chat_id: str | None = None) -> None:
    """Say that a chat, by its session's `external_id`, is over; or that all are."""
    with bank.writing() as db:
        db.conn.execute(
            "UPDATE sessions SET heard_at = NULL WHERE heard_at IS NOT NULL AND external_id = coalesce(?, external_id)",
            (chat_id,),
        )


def session_turns(bank: Bank, session: PendingSession) -> list[SessionTurn]:
    """The turns of a session in order; what was taken back since is no news any more."""
    query = """
        SELECT t.*, EXISTS (SELECT 1 FROM sources o JOIN memories m ON m.id = o.memory_id WHERE o.turn_id = t.id
            AND o.alone AND m.store = 'dialogue' AND m.taken_back IS NULL) AS news
        FROM turns t WHERE t.session_id = ? ORDER BY t.position
    """
    with bank.reading() as db:
        return [SessionTurn(rows.turn(r), bool(r["news"])) for r in db.query(query, [session.session_id])]


def store_learned(
    bank: Bank, session: PendingSession, turns: Sequence[Turn], learned: Sequence[LearnedMemory]
) -> WriteCounts | None:
    """Store what was learned from a session's turns, all of them, and take it from the queue; all or nothing.

    None, and nothing stored, if the session changed meanwhile or another process was first. A summary takes the place
    of the one that the session had.
    """
    with bank.writing() as db:
        of_session = (session.session_id,)
        ids = db.conn.execute("SELECT id FROM turns WHERE session_id = ? ORDER BY position", of_session).fetchall()
        still = db.conn.execute("SELECT 1 FROM sessions WHERE id = ? AND NOT learned", of_session).fetchone()
        if still is None or [turn_id for (turn_id,) in ids] != [turn.id for turn in turns]:
            return None
        _drop_summary(db, session.session_id, learned)
        said = [(turn.id, turn) for turn in turns]
        stored = knowing.add_learned(db, session.persona_id, session.session_id, said, learned)
        db.conn.execute("UPDATE sessions SET learned = 1 WHERE id = ?", of_session)
        journal.record(db, "learned", session.persona_id, {"memories": stored.memories, "refused": stored.refused})
    return stored


def _drop_summary(db: Database, session_id: int, learned: Sequence[LearnedMemory]) -> None:
    """Remove what sums the session up, unless it is learned again word by word."""
    kept = [item.memory.text for item in learned if item.memory.attribute == SUMMARY]
    db.conn.execute(
        "DELETE FROM memories WHERE session_id = ? AND store = 'event' AND attribute = ? "
        "AND text NOT IN (SELECT value FROM json_each(?))",
        (session_id, SUMMARY, json.dumps(kept)),
    )


def count_pending(bank: Bank) -> int:
    """How many sessions are over and not learned from yet."""
    with bank.reading() as db:
        return db.table("sessions").count_where(_DUE, {"quiet": rows.format_time(datetime.now(UTC) - IDLE_TIMEOUT)})
