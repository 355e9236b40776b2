"""What is to be remembered of it?"""

from __future__ import annotations

import uuid
from datetime import datetime

from langgraph.runtime import Runtime

from graph.state import Ask, Message, Services, TraceLine, TurnState
from memory.facts import facts
from memory.timespan import find
from memory.types import Learned, SessionDraft, TurnDraft

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


def exchange(ask: Ask, message: Message, reply: str) -> SessionDraft:
    """The exchange as a draft of its session.

    Only what the user stated becomes a memory: a question holds no news, and the reply repeats what was remembered.
    """
    dates = find(" ".join(message.statements), ask.as_of)[:1]
    at = said_text(ask.as_of)
    mine = TurnDraft(
        USER,
        "user",
        ask.text,
        ask.as_of,
        at,
        external_id=uuid.uuid4().hex,
        recallable=bool(message.statements),
        event=dates[0].span if dates else None,
        event_text=dates[0].text if dates else "",
    )
    theirs = TurnDraft(ask.persona.name, "assistant", reply, ask.as_of, at, uuid.uuid4().hex, recallable=False)
    learned = tuple(Learned(fact, (0,)) for text in message.statements for fact in facts(text, USER, ask.as_of))
    return SessionDraft((mine, theirs), ask.as_of, at, ask.chat_id, title=ask.text[:80], source="chat", learned=learned)


def said_text(moment: datetime) -> str:
    """The moment with its zone, so that the day it was for the one who spoke is kept."""
    return moment.isoformat(timespec="seconds")
