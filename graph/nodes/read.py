"""What do they say?"""

from __future__ import annotations

from dataclasses import replace

from langgraph.runtime import Runtime

from graph.manners import manner
from graph.nodes.classify import likeliest
from graph.readers import answer, extractive, question
from graph.readers.acknowledge import acknowledge, greet
from graph.state import Reading, Services, TraceLine, TurnState


def read(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Answer from notes on what was found, acknowledge what was told, or say that it is not known."""
    ask, message = state["ask"], state["message"]
    spoken = []
    if message.statements:
        told = " ".join(message.statements)
        spoken.append(acknowledge(told, ask.as_of, ask.persona.manner, remembered=ask.remember))
    if message.classes.is_question:
        reading = _read(state, runtime.context)
        if reading.abstained:
            reading = replace(reading, answer=manner(ask.persona.manner).unknown.format(why=reading.answer))
        decided = f"abstained: {reading.reason}" if reading.abstained else f"cites {len(reading.citations)}"
        best = max((note.relevance for note in reading.notes), default=0.0)
        line = TraceLine("read", f"{len(reading.notes)} notes, {decided}", {"best note": round(best, 3)})
    else:
        reading = Reading("" if message.statements else greet(ask.persona.manner))
        line = TraceLine("read", f"nothing was asked ({likeliest(message.classes)})")
    reading = replace(reading, answer="\n\n".join([*spoken, *filter(None, [reading.answer])]))
    runtime.stream_writer(reading.answer)
    return {"reading": reading, "trace": (line,)}


def _read(state: TurnState, services: Services) -> Reading:
    ask, message = state["ask"], state["message"]
    hits = [hit for hit in state.get("hits", ()) if hit.kept]
    # "And when was that?" names nothing: its words are those of the question before it.
    asked = ask.text if question.names_something(ask.text) else message.views[-1].text
    parsed = question.parse(asked, *services.searcher.frequencies(ask.persona.id, question.terms_of(asked)))
    dialogue = [hit.memory.id for hit in hits if hit.memory.store == "dialogue"]
    before = services.bank.turns_before(ask.persona.id, dialogue)
    notes = extractive.take_notes(parsed, message.views[0].vector, hits, before, services.searcher.embedder.encode)
    return answer.compose(
        parsed,
        notes,
        many=message.classes.asks_many,
        window=state.get("window", ()),
        known=services.bank.time_range(ask.persona.id),
        hits=hits,
    )
