"""The queue of finished sessions that are still to be learned from, kept in the bank's rows.

A session is pending when it is over and was not learned from since its turns changed. A process that is killed loses
nothing: the next one goes on where it stopped. Learning twice adds nothing; a turn that is added or deleted makes its
session pending again.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory import named_queries
from memory.bank import journal, rows
from memory.bank.bank import Bank
from memory.bank.facts import add_learned
from memory.bank.journal import Counts
from memory.types import SUMMARY, LearnedMemory, Memory, Session, Turn, WriteCounts

SQL = named_queries(__file__)

IDLE_TIMEOUT = timedelta(minutes=30)
"""A chat is over when nobody has spoken for this long."""


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """A turn of a session that is over.

    It is `news` if it is a memory: no reply from memory, no correction, not retracted.
    """

    turn: Turn
    news: bool


def pending_sessions(bank: Bank, now: datetime | None = None, limit: int = -1) -> list[Session]:
    """The sessions that are over and were not learned from yet, the oldest first."""
    quiet = rows.format_time((now or datetime.now(UTC)) - IDLE_TIMEOUT)
    return bank.read_sessions(SQL["due"], {"quiet": quiet, "limit": limit})


def close_chats(bank: Bank, chat_id: str | None = None) -> None:
    """Mark a chat, given by its session's `external_id`, as over; or all chats."""
    with bank.writing() as db:
        db.conn.execute(SQL["close_chats"], (chat_id,))


def session_turns(bank: Bank, session: Session) -> list[SessionTurn]:
    """The turns of a session in order."""
    with bank.reading() as db:
        return [SessionTurn(rows.read(Turn, r), bool(r["news"])) for r in db.query(SQL["session_turns"], [session.id])]


def learned_before(bank: Bank, session: Session) -> list[Memory]:
    """What a session taught already, at once or before its turns changed, but its summary; also what was retracted."""
    return bank.read_memories(SQL["learned_before"], {"persona": session.persona_id, "session": session.id})


def store_learned(
    bank: Bank, session: Session, turns: Sequence[Turn], learned: Sequence[LearnedMemory], counts: Counts | None = None
) -> WriteCounts | None:
    """Store what was learned from all turns of a session and remove it from the queue, in one transaction.

    Returns None, and stores nothing, if the session changed meanwhile or another process was first. A summary replaces
    the one that the session had, unless both have the same words. The journal's entry has the further `counts`, too.
    """
    with bank.writing() as db:
        of_session = (session.id,)
        ids = db.conn.execute("SELECT id FROM turns WHERE session_id = ? ORDER BY position", of_session).fetchall()
        still = db.conn.execute("SELECT 1 FROM sessions WHERE id = ? AND NOT learned", of_session).fetchone()
        if still is None or [turn_id for (turn_id,) in ids] != [turn.id for turn in turns]:
            return None
        kept = [item.memory.text for item in learned if item.memory.attribute == SUMMARY]
        db.conn.execute(SQL["delete_other_summaries"], (session.id, json.dumps(kept)))
        numbered = [(turn.id, turn) for turn in turns]
        stored = add_learned(db, session.persona_id, session.id, numbered, learned)
        db.conn.execute("UPDATE sessions SET learned = 1 WHERE id = ?", of_session)
        entry = {"memories": stored.memories, "refused": stored.refused, **(counts or {})}
        journal.record(db, "learned", session.persona_id, entry)
    return stored
