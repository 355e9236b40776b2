"""The node `converse`: a chat model speaks as the persona, and what it says of the user is checked."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from langgraph.runtime import Runtime  # noqa: TC002 (LangGraph reads the annotations of `choose`)

from graph.models.calls import Messages, ModelFailed, Unreachable, stream_reply
from graph.models.names import UnknownModel
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens
from graph.nodes.read import asks_memory, correct, read, speaks
from graph.replies.checks import CheckedReply
from graph.replies.conversation import MEMORIES, TURNS, Talk, messages
from graph.replies.phrases import CRISIS, LOSS
from graph.replies.reminders import eligible
from graph.state import Ask, Citation, Message, Reading, Services, Token, TraceLine, TurnState, drop
from graph.understanding.sentences import capitalise
from memory.bank.queries.told import name_told
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memory.types import Hit

REPLY_TOKENS = 160
"""Most tokens of a reply: three sentences have some 80."""

STOP = ("\nUser:", "\nHuman:", "<|im_end|>")
"""Texts at which a reply ends: there the model begins to write the user's part."""

IN_PASSING = ("farewell", "goodnight", "apology", "agreement", "disagreement", "laughter", "thanks")
"""Small talk that is answered without a memory."""

_HURRY = re.compile(
    r"\b(?:in a (?:hurry|rush)|(?:gotta|got to|have to|need to|must) (?:go|run|dash|leave)|no time|brb|running late)\b",
    re.IGNORECASE,
)


def choose(state: TurnState, runtime: Runtime[Services]) -> str:
    """The node that replies: `read` in a crisis, where a memory is asked for, or without a chat model; else `converse`.

    A message with memories handed in by a benchmark asks for none.
    """
    services, message, ask = runtime.context, state["message"], state["ask"]
    is_question = asks_memory(ask, message) and not ask.handed_in
    reads = not speaks(services) or message.news == CRISIS or is_question
    return "read" if reads else "converse"


async def converse(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Talk as the persona. If the chat model fails or says nothing usable, reply without it."""
    ask, services, write = state["ask"], runtime.context, runtime.stream_writer
    hits = state.get("hits", ())
    model = services.model
    assert model is not None
    corrected = await correct(ask, hits, services, write)
    if corrected is not None:
        return corrected
    suitable = await asyncio.to_thread(_suitable, ask, state["message"], hits, services)
    user = await asyncio.to_thread(name_told, services.bank, ask.persona.id, ask.as_of)
    talk = Talk(ask, user, tuple(hit.memory for hit in suitable))
    spoken = CheckedReply(talk, lambda text: write(Token(text)))
    try:
        asked = await asyncio.to_thread(_fitting, talk, model)
        reply = await stream_reply(model, asked, max_tokens=REPLY_TOKENS, stop=STOP, on_piece=spoken.feed)
        spoken.end(cut=reply.cut)
    except (ModelFailed, UnknownModel) as fault:
        return await _without_model(state, runtime, str(fault), fault)
    figures = {
        "tokens in": reply.tokens_in,
        "tokens out": reply.tokens_out,
        "sentences dropped": len(spoken.dropped),
    }
    if not spoken.text:
        why = f"nothing that the chat model said could be used ({', '.join(dict.fromkeys(spoken.dropped)) or 'empty'})"
        return await _without_model(state, runtime, why, figures=figures)
    citations = tuple(
        Citation(1, hit.memory, hit.memory.text, hit.scores) for hit in suitable if hit.memory == spoken.cited
    )
    reading = Reading(spoken.text, citations=citations, by=services.settings.model)
    woven = f"brought up memory {citations[0].memory.id}" if citations else "brought up nothing"
    dropped = f"; dropped: {', '.join(spoken.dropped)}" if spoken.dropped else ""
    line = TraceLine("converse", f"{services.settings.model}, {woven}{dropped}", {**figures, "fallback": 0})
    unread = drop(hits, lambda hit: all(hit.memory != c.memory for c in citations), "unasked", "not brought up")
    return {"reading": reading, "hits": unread, "trace": (line,)}


async def _without_model(
    state: TurnState,
    runtime: Runtime[Services],
    why: str,
    fault: MemoirError | None = None,
    figures: Mapping[str, float] | None = None,
) -> TurnState:
    """The reply that `read` gives without a chat model; a failure of the model is told to the user."""
    settings = replace(runtime.context.settings, reader="extractive")
    runtime.stream_writer(Token("", restart=True))
    change = await read(state, runtime.override(context=replace(runtime.context, model=None, settings=settings)))
    notice = f"{capitalise(why)}. Memoir replied without the chat model." if fault is not None else ""
    reading = replace(change["reading"], notice=notice, unreachable=isinstance(fault, (Unreachable, UnknownModel)))
    line = TraceLine("converse", f"replied without the chat model: {why}", {**(figures or {}), "fallback": 1})
    return {**change, "reading": reading, "trace": (line, *change["trace"])}


def _suitable(ask: Ask, message: Message, hits: Iterable[Hit], services: Services) -> tuple[Hit, ...]:
    """The memories that may be brought up: none on a loss, in passing or in a hurry, unless they were handed in."""
    is_untimely = message.news in (LOSS, CRISIS) or message.small_talk in IN_PASSING or _HURRY.search(ask.text)
    if not ask.persona.proactive or (is_untimely and not ask.handed_in):
        return ()
    return tuple(eligible(ask, [hit for hit in hits if hit.kept], services.bank))[:MEMORIES]


def _fitting(talk: Talk, model: BaseChatModel) -> Messages:
    """The prompt with as many turns of the chat as fit beside the reply; blocks while a server is asked."""
    room = (context_length(model) or UNKNOWN_CONTEXT) - REPLY_TOKENS
    turns = min(TURNS, len(talk.ask.dialogue))
    while turns and count_tokens(model, messages(talk, turns)) > room:
        turns -= 1
    return messages(talk, turns)
