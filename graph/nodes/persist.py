"""What is to be remembered of it?"""

from __future__ import annotations

import uuid
from datetime import datetime

from langgraph.runtime import Runtime

from graph.state import Ask, Message, Services, TraceLine, TurnState
from memory.bank import Bank
from memory.facts import facts
from memory.timespan import TimeExpression, find
from memory.types import Learned, Quote, SessionDraft, TurnDraft

USER = "You"
"""Who the user is to the bank until they say their name; the screen shows their turns under it."""


def persist(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Store the exchange, the memory of what was told, and what was learned from it, in one transaction."""
    ask, services = state["ask"], runtime.context
    if not ask.remember:
        return {"trace": (TraceLine("persist", "not remembered, as asked"),)}
    stored = services.bank.remember(ask.persona.id, [exchange(ask, state["message"], state["reading"].answer)])
    if services.indexer is not None:
        services.indexer.wake()
    figures = {"turns": stored.turns, "memories": stored.memories}
    return {"stored": stored, "trace": (TraceLine("persist", f"stored {stored.memories} memories", figures),)}


def keep_said(state: TurnState, bank: Bank) -> None:
    """Store what the user said in a turn that was broken off before it was stored; of its reply nothing."""
    ask, message = state["ask"], state.get("message")
    stored = any(line.node == "persist" for line in state.get("trace", ()))
    if message is not None and ask.remember and not stored:
        bank.remember(ask.persona.id, [exchange(ask, message, None)])


def exchange(ask: Ask, message: Message, reply: str | None) -> SessionDraft:
    """The exchange as a draft of its session; without a reply the user's turn alone.

    Only what the user stated becomes a memory: a question holds no news, and the reply repeats what was remembered.
    """
    event = _event(message, ask.as_of)
    at = said_text(ask.as_of)
    mine = TurnDraft(
        USER,
        "user",
        ask.text,
        ask.as_of,
        at,
        external_id=uuid.uuid4().hex,
        recallable=bool(message.statements),
        event=event.span if event else None,
        event_text=event.text if event else "",
    )
    turns = [mine]
    if reply is not None:
        theirs = TurnDraft(ask.persona.name, "assistant", reply, ask.as_of, at, uuid.uuid4().hex, recallable=False)
        turns.append(theirs)
    learned = {
        (fact.store, fact.text): Learned(fact, (Quote(0, told),))
        for told in message.statements
        for fact in facts(told, USER, ask.as_of)
    }
    return SessionDraft(
        tuple(turns), ask.as_of, at, ask.chat_id, ask.text[:80], source="chat", learned=tuple(learned.values())
    )


def _event(message: Message, said_at: datetime) -> TimeExpression | None:
    """When what is told happened; a guess ("recently") or an open stretch ("before May") is no date for it."""
    dates = find(" ".join(message.statements), said_at)
    return next((date for date in dates if date.sure and date.relation == "in"), None)


def said_text(moment: datetime) -> str:
    """The moment with its zone, so that the day it was for the one who spoke is kept."""
    return moment.isoformat(timespec="seconds")
