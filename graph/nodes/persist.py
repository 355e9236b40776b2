"""What is to be remembered of it?"""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import datetime

from langgraph.runtime import Runtime

from graph.learning.from_rules import stated
from graph.learning.quotation import own_sentences
from graph.state import Ask, Message, Reading, Revision, Services, TraceLine, TurnState
from graph.understanding.times import happened
from memory.bank.bank import Bank
from memory.quotes import holds
from memory.types import SessionDraft, TurnDraft

USER = "You"
"""Who the user is to the bank until they say their name; the screen shows their turns under it."""


def persist(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Store the exchange, the memory of what was told, and what was learned from it, in one transaction."""
    ask, services = state["ask"], runtime.context
    if not ask.remember:
        return {"trace": (TraceLine("persist", "not remembered, as asked"),)}
    reading = state["reading"]
    said = exchange(ask, state["message"], reading, state.get("revision"))
    stored = services.bank.remember(ask.persona.id, [said])
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


def exchange(ask: Ask, message: Message, reply: Reading | None, revision: Revision | None = None) -> SessionDraft:
    """The exchange as a draft of its session; without a reply the user's turn alone.

    Only what the user stated becomes a memory: a question holds no news, and the reply repeats what was remembered. A
    sentence that corrects something is no memory of its own: what it corrects is.
    """
    statements = message.statements
    if revision is not None:
        statements = tuple(told for told in statements if not holds(revision.sentence, told))
    event = happened(" ".join(statements), ask.as_of)
    at = said_text(ask.as_of)
    mine = TurnDraft(
        USER,
        "user",
        ask.text,
        ask.as_of,
        at,
        external_id=uuid.uuid4().hex,
        recallable=bool(statements),
        event=event.span if event else None,
        event_text=event.text if event else "",
    )
    turns = [mine]
    if reply is not None:
        theirs = TurnDraft(ask.persona.name, "assistant", reply.answer, ask.as_of, at, uuid.uuid4().hex)
        relied_on = tuple(citation.memory.id for citation in reply.citations)
        turns.append(replace(theirs, recallable=False, cites=relied_on))
    own = [sentence for told in statements for sentence in own_sentences(told)]
    present = (USER, ask.persona.name)
    learned = (item for sentence in own for item in stated(sentence, USER, ask.as_of, 0, present))
    return SessionDraft(
        tuple(turns),
        ask.as_of,
        at,
        ask.chat_id,
        ask.text[:80],
        source="chat",
        learned=(*learned, *(revision.learned if revision else ())),
        taken_back=revision.taken_back if revision else (),
    )


def said_text(moment: datetime) -> str:
    """The moment with its zone, so that the day it was for the one who spoke is kept."""
    return moment.isoformat(timespec="seconds")
