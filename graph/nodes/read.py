"""What do they say?"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from langgraph.runtime import Runtime

from graph.manners import manner
from graph.nodes.classify import likeliest
from graph.nodes.time_filter import meets
from graph.readers import answer, extractive, question
from graph.readers.acknowledge import acknowledge, greet
from graph.state import Reading, Services, TraceLine, TurnState
from memory.scoring import TOLD_WITHIN
from memory.timespan import find
from memory.types import Hit, Memory, TimeSpan

GENERAL = "I answer from what I have been told, and nobody has told me about that."
"""Why a question of general knowledge ("How do I boil an egg?") is not answered."""


def read(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Answer from notes on what was found, acknowledge what was told, or say that it is not known."""
    ask, message = state["ask"], state["message"]
    if runtime.context.settings.reader == "none":
        return {"reading": Reading(""), "trace": (TraceLine("read", "no reader"),)}
    hits = state.get("hits", ())
    spoken = []
    if message.statements and (ask.remember or not message.classes.is_question):
        told = " ".join(message.statements)
        spoken.append(acknowledge(told, ask.as_of, ask.persona.manner, remembered=ask.remember))
    if message.classes.is_question:
        reading = _read(state, runtime.context)
        if reading.abstained:
            why = reading.answer if message.classes.asks_memory else GENERAL
            reading = replace(reading, answer=manner(ask.persona.manner).unknown.format(why=why))
        decided = f"abstained: {reading.reason}" if reading.abstained else f"cites {len(reading.citations)}"
        best = max((note.relevance for note in reading.notes), default=0.0)
        line = TraceLine("read", f"{len(reading.notes)} notes, {decided}", {"best note": round(best, 3)})
    else:
        reading = Reading("" if message.statements else greet(ask.persona.manner))
        line = TraceLine("read", f"nothing was asked ({likeliest(message.classes)})")
        hits = tuple(replace(hit, dropped="unasked", why="nothing was asked") if hit.kept else hit for hit in hits)
    reading = replace(reading, answer="\n\n".join([*spoken, *filter(None, [reading.answer])]))
    runtime.stream_writer(reading.answer)
    return {"reading": reading, "hits": hits, "trace": (line,)}


def _read(state: TurnState, services: Services) -> Reading:
    ask, message = state["ask"], state["message"]
    hits = [hit for hit in state.get("hits", ()) if hit.kept]
    asked = message.question
    total, frequency = services.searcher.frequencies(ask.persona.id, question.terms_of(asked.text), ask.as_of)
    parsed = question.parse(asked.text, total, frequency, [w.text for w in state.get("window", ())])
    if asked.text.endswith(ask.text):
        # "And when was that?" is about the question before it, but asks for what its own words say.
        parsed = replace(parsed, expects=question.parse(ask.text, 0, {}).expects)
    dialogue = [hit.memory.id for hit in hits if hit.memory.store == "dialogue"]
    before = services.bank.turns_before(ask.persona.id, dialogue)
    encode = services.searcher.embedder.encode
    window = state.get("window", ())
    sure = bool(window) and all(time.sure and time.relation != "before" for time in window)
    of_other_time = [h.memory.id for h in hits if sure and not any(_may_tell_of(h, time.span) for time in window)]
    notes = extractive.take_notes(
        parsed, message.views[0].vector, hits, before, ask.persona.name, encode, of_other_time
    )
    # What was told in June may tell of February: no time is outside what is known if something found is of it.
    of_then = any(_dated(hit.memory) and meets(hit, time.span) for time in window for hit in hits)
    return answer.compose(
        parsed,
        notes,
        window=window,
        known=None if of_then else _known_by(services.bank.time_range(ask.persona.id), ask.as_of),
        hits=hits,
    )


def _may_tell_of(hit: Hit, span: TimeSpan) -> bool:
    """Whether it is of the time, or was said within days after it and names no time of its own."""
    memory = hit.memory
    if meets(hit, span) or memory.said_at is None or memory.event is not None:
        return meets(hit, span)
    soon = timedelta(seconds=TOLD_WITHIN)
    return span.end <= memory.said_at < span.end + soon and not find(memory.text, memory.said_at)


def _dated(memory: Memory) -> bool:
    return memory.event is not None or memory.said_at is not None


def _known_by(told: TimeSpan | None, moment: datetime) -> TimeSpan | None:
    """The part of what was told that had been told by a moment: how far the rest reaches is not to be given away."""
    if told is None or told.start > moment:
        return None
    return TimeSpan(told.start, min(told.end, moment + timedelta(microseconds=1)))
