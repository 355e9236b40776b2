"""The node `persist`: store the exchange and what was learned from it."""

import asyncio
from collections.abc import Collection
from dataclasses import replace

from graph.learning.corrections import revise
from graph.learning.from_rules import learn_from_texts
from graph.state import USER, Ask, Message, Reading, Revision, Runtime, TraceLine, TurnState
from graph.understanding import acts
from graph.understanding.parts import tells
from graph.understanding.sentences import split
from graph.understanding.times import stated_time
from memory.bank.bank import Bank
from memory.bank.queries.told import known_relations
from memory.formatting import format_count
from memory.search.quotes import contains
from memory.types import LearnedMemory, SessionDraft, TurnDraft

MAX_TITLE, MAX_OPENING = 60, 2000
"""Characters of a chat's title, and of a message among which it is looked for."""

GREETING, PLEASANTRY = 4, 20
"""Characters up to which a sentence surely names no topic ("Hi!"), and up to which it may be small talk."""


async def persist(state: TurnState, runtime: Runtime) -> TurnState:
    """Store the exchange, the memory of what was stated, and what was learned from it, in one transaction."""
    ask, services = state["ask"], runtime.context
    if not ask.remember:
        return {"trace": (TraceLine("persist", "not remembered, as asked"),)}
    known = await asyncio.to_thread(known_relations, services.bank, ask.persona.id, ask.as_of)
    of_others = frozenset(relation.tail for relation in known)
    drafts = [*opening(ask), exchange(ask, state["message"], state["reading"], state.get("revision"), of_others)]
    stored = await asyncio.to_thread(services.bank.remember, ask.persona.id, drafts)
    services.wake_indexer()
    figures = {"turns": stored.turns, "memories": stored.memories}
    decided = f"stored {format_count(stored.memories, 'memory', 'memories')}"
    return {"stored": stored, "trace": (TraceLine("persist", decided, figures),)}


def persist_interrupted(state: TurnState, bank: Bank) -> None:
    """Store what the user said in a turn that was cancelled before `persist`, and nothing of the reply.

    A message that was not parsed yet is kept as it is; what it states is learned once the chat is over. What it
    corrects is corrected, as an earlier reply to it, which stays, may say.
    """
    ask, message = state["ask"], state.get("message")
    if not ask.remember or "stored" in state:
        return
    revision = revise(message, ask, state.get("hits", ()), bank) if message else None
    bank.remember(ask.persona.id, [*opening(ask), exchange(ask, message, None, revision)])


def opening(ask: Ask) -> list[SessionDraft]:
    """The turn with which the persona opened this chat, as a draft of its session; none if this is no first reply."""
    if [turn.role for turn in ask.dialogue] != ["assistant"]:
        return []
    said_text = ask.as_of.isoformat(timespec="seconds")
    name, text = ask.persona.name, ask.dialogue[0].text
    turn = TurnDraft(name, "assistant", text, ask.as_of, said_text, f"{ask.chat_id} opening", recallable=False)
    return [SessionDraft((turn,), ask.as_of, said_text, ask.chat_id, source="chat")]


def title_of(text: str) -> str:
    """What a chat is about, in words of one of its messages: the first sentence that is no small talk; empty if all is.

    They are words of the turn, so that the title is forgotten with it.
    """
    sentences = split(text[:MAX_OPENING])
    naming = (s for s in sentences if len(s) > GREETING and (len(s) > PLEASANTRY or not acts.said(s).is_small_talk))
    title = next(naming, "")
    return title if len(title) <= MAX_TITLE else title[:MAX_TITLE].rsplit(" ", 1)[0]


def _named(fact: LearnedMemory) -> str:
    return fact.memory.relation.tail if fact.memory.relation else ""


def exchange(
    ask: Ask,
    message: Message | None,
    reply: Reading | None,
    revision: Revision | None = None,
    of_others: Collection[str] = (),
) -> SessionDraft:
    """The exchange as a draft of its session; without a reply, or with an empty one, with the earlier one, if any.

    All that the user says becomes a memory, as typed; what it teaches depends on what it states. The reply becomes
    none: it repeats what was remembered. A message that only corrects something becomes none either: what it corrects
    is one. The names of others are not learned as the user's: "Biscuit and Pickle are all I have".
    """
    recallable = True
    if message is None:
        statements, event, asks = tuple[str](), stated_time(ask.text, ask.as_of), not tells(ask.text[:MAX_OPENING])
    else:
        statements, event, asks = message.statements, message.stated_at, message.only_asks
    if revision is not None:
        statements = tuple(text for text in statements if not contains(revision.sentence, text))
        event, recallable = stated_time(" ".join(statements), ask.as_of), bool(statements)
    said_text = ask.as_of.isoformat(timespec="seconds")  # with the zone, so that the speaker's own day is kept
    mine = TurnDraft(USER, "user", ask.text, ask.as_of, said_text, ask.turn_id, recallable, asks=asks)
    turns = [replace(mine, event=event.span, event_text=event.text) if event else mine]
    reply = reply if reply is not None and reply.answer else ask.earlier
    if reply is not None:
        theirs = TurnDraft(ask.persona.name, "assistant", reply.answer, ask.as_of, said_text, ask.reply_id)
        relied_on = tuple(citation.memory.id for citation in reply.citations)
        turns.append(replace(theirs, recallable=False, cites=relied_on, unsupported=reply.unsupported))
    taught, _ = learn_from_texts([(0, mine, statement) for statement in statements], (USER, ask.persona.name))
    # A turn of several times has none, so that its events tell when each is.
    learned = [item for item in taught if item.memory.store != "event" or (event is None and item.memory.event)]
    learned = [item for item in learned if item.memory.attribute != "name" or _named(item) not in of_others]
    return SessionDraft(
        tuple(turns),
        ask.as_of,
        said_text,
        ask.chat_id,
        title_of(ask.text),
        source="chat",
        learned=(*learned, *(revision.learned if revision else ())),
        retracts=revision.retracted if revision else (),
    )
