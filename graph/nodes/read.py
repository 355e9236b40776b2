"""What do they say?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from graph.manners import manner
from graph.models import ModelFailed, UnknownModel, Unreachable
from graph.models.local import LocalChat
from graph.models.quantization import resolved
from graph.models.tokens import counted
from graph.nodes.classify import likeliest
from graph.nodes.time_filter import meets
from graph.readers import answer, elapsed, extractive, question
from graph.readers.acknowledge import acknowledge, greet
from graph.readers.chain_of_note import Reader, read_with
from graph.readers.elapsed import Compared
from graph.readers.replies import Unreadable
from graph.state import Reading, Services, TraceLine, TurnState
from memory.errors import MemoirError
from memory.scoring import TOLD_WITHIN
from memory.timespan import find
from memory.types import Hit, Memory, TimeSpan, Turn

GENERAL = "I answer from what I have been told, and nobody has told me about that."
"""Why a question of general knowledge ("How do I boil an egg?") is not answered."""

BETWEEN = "\n\n"
"""Between what is said to a statement and what is said to a question."""

Write = Callable[[str | None], None]
"""Tells whoever waits a further piece of the reply; None takes back what was told so far."""


def read(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Answer from notes on what was found, acknowledge what was told, or say that it is not known."""
    ask, message, services = state["ask"], state["message"], runtime.context
    if services.settings.reader == "none":
        return {"reading": Reading(""), "trace": (TraceLine("read", "no reader"),)}
    hits = state.get("hits", ())
    spoken = []
    if message.statements and (ask.remember or not message.classes.is_question):
        told = " ".join(message.statements)
        spoken.append(acknowledge(told, ask.as_of, ask.persona.manner, remembered=ask.remember))
        runtime.stream_writer(spoken[0])
    if message.classes.is_question:
        if spoken:
            runtime.stream_writer(BETWEEN)
        reading, hits, line = _answered(state, services, runtime.stream_writer, "".join(s + BETWEEN for s in spoken))
    else:
        reading = Reading("" if message.statements else greet(ask.persona.manner))
        line = TraceLine("read", f"nothing was asked ({likeliest(message.classes)})")
        hits = tuple(replace(hit, dropped="unasked", why="nothing was asked") if hit.kept else hit for hit in hits)
        runtime.stream_writer(reading.answer)
    reading = replace(reading, answer=BETWEEN.join([*spoken, *filter(None, [reading.answer])]))
    return {"reading": reading, "hits": hits, "trace": (line,)}


def _answered(
    state: TurnState, services: Services, write: Write, spoken: str
) -> tuple[Reading, tuple[Hit, ...], TraceLine]:
    """The answer of the reader that is set, or, where a chat model gives none, of the extractive one, which says so."""
    hits = state.get("hits", ())
    model = services.model if services.settings.reader == "auto" else None
    if model is None:
        reading, line = _extracted(state, services)
        write(reading.answer)
        return reading, hits, line
    reader = Reader(model, services.settings, write, services.halt)
    try:
        return _read_by_model(state, reader)
    except (Unreadable, MemoirError) as fault:
        reading, line = _extracted(state, services)
        notice = _notice(services.settings.model, fault)
        line = replace(line, decided=f"extractive, since {_short(fault)}; {line.decided}")
        line = replace(line, figures={**line.figures, **_spent(reader)})
        write(None)  # what was said so far is taken back
        write(spoken + reading.answer)
        return replace(reading, notice=notice, unreachable=isinstance(fault, (Unreachable, UnknownModel))), hits, line


def _read_by_model(state: TurnState, reader: Reader) -> tuple[Reading, tuple[Hit, ...], TraceLine]:
    hits, settings = state.get("hits", ()), reader.settings
    kept = [hit for hit in hits if hit.kept]
    out = read_with(reader, state["ask"], state["message"].question.text, state.get("window", ()), kept)
    reading, shown = out.reading, {hit.memory.id for hit in out.found.hits}
    unread = "beyond what the chat model can read at once"
    hits = tuple(
        replace(hit, dropped="budget", why=unread) if hit.kept and hit.memory.id not in shown else hit for hit in hits
    )
    cited = {c.memory.id for c in reading.citations}
    fits = [hit.scores.get("fused", 1.0) for hit in out.found.hits if hit.memory.id in cited]
    figures = {
        "best note": 0.0 if reading.abstained else min(1.0, round(max(fits, default=0.0), 3)),
        "left out": len(kept) - len(shown),
        "citations dropped": out.dropped,
        "prompt tokens": out.prompt_tokens,
        **_spent(reader),
    }
    how = f"{settings.model}{_held_in(reader.model)}, {settings.method}, {settings.format}"
    room = f"prompt of {out.prompt_tokens:,} tokens ({counted(reader.model)}) of {out.context:,}"
    dropped = f", {out.dropped} citations dropped" if out.dropped else ""
    decided = f"{how}: {len(reading.notes)} notes, {_decided(reading)}{dropped}; {room}"
    return reading, hits, TraceLine("read", decided, figures)


def _held_in(model: BaseChatModel) -> str:
    return f" in {resolved(model.quantization)}" if isinstance(model, LocalChat) else ""


def _spent(reader: Reader) -> dict[str, float]:
    return {
        "tokens in": sum(reply.tokens_in for reply in reader.replies),
        "tokens out": sum(reply.tokens_out for reply in reader.replies),
    }


def _notice(model: str, fault: Exception) -> str:
    if isinstance(fault, Unreadable):
        why = f"{model} did not keep to the form that its reply was to have ({fault}), also when asked again."
    else:
        why = f"{str(fault)[0].upper()}{str(fault)[1:]}."
    return f"{why} The extractive reader answered instead."


def _short(fault: Exception) -> str:
    return str(fault) if isinstance(fault, ModelFailed) else f"the chat model's reply could not be used ({fault})"


def _decided(reading: Reading) -> str:
    return f"abstained: {reading.reason}" if reading.abstained else f"cites {len(reading.citations)}"


def _extracted(state: TurnState, services: Services) -> tuple[Reading, TraceLine]:
    ask, message = state["ask"], state["message"]
    reading = replace(_read(state, services), by="extractive")
    if reading.abstained:
        why = reading.answer if message.classes.asks_memory else GENERAL
        reading = replace(reading, answer=manner(ask.persona.manner).unknown.format(why=why))
    best = max((note.relevance for note in reading.notes), default=0.0)
    return reading, TraceLine("read", f"{len(reading.notes)} notes, {_decided(reading)}", {"best note": round(best, 3)})


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
    compared = elapsed.parse(asked.text)
    reading = _compared(compared, state, services, before) if compared else None
    return reading or answer.compose(
        parsed,
        notes,
        window=window,
        known=None if of_then else _known_by(services.bank.time_range(ask.persona.id), ask.as_of),
        hits=hits,
        asked_at=ask.as_of,
    )


def _compared(compared: Compared, state: TurnState, services: Services, before: Mapping[int, Turn]) -> Reading | None:
    """The answer to a question about two things and the time between them, from notes on each."""
    ask, encode = state["ask"], services.searcher.embedder.encode
    hits = [hit for hit in state.get("hits", ()) if hit.kept]
    sides = []
    for side, vector in zip(compared.sides, encode(compared.sides), strict=True):
        total, frequency = services.searcher.frequencies(ask.persona.id, question.terms_of(side), ask.as_of)
        parsed = question.parse(side, total, frequency)
        sides.append((parsed, extractive.take_notes(parsed, vector, hits, before, ask.persona.name, encode)))
    return answer.compare(compared, sides, hits, ask.as_of.tzinfo)


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
