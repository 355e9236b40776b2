"""What do they say?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from graph.learning.corrections import revise
from graph.models import ModelFailed, UnknownModel, Unreachable
from graph.models.local import LocalChat
from graph.models.quantization import resolved
from graph.models.tokens import counted
from graph.nodes.classify import likeliest
from graph.readers import extractive as quoting
from graph.readers.chain_of_note import Reader, read_with
from graph.readers.reply_formats import Unreadable
from graph.replies.acknowledgements import acknowledge, greet, revised
from graph.replies.manners import manner
from graph.replies.reminders import remind
from graph.state import Reading, Revision, Services, TraceLine, TurnState
from memory.errors import MemoirError
from memory.types import Hit

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
    revision = revise(ask, hits, services.bank) if ask.remember else None
    if revision is not None:
        return _revised(revision, state, runtime.stream_writer)
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
        reading, hits, line = _reminded(state, services)
        if spoken and reading.answer:
            runtime.stream_writer(BETWEEN)
        runtime.stream_writer(reading.answer)
    reading = replace(reading, answer=BETWEEN.join([*spoken, *filter(None, [reading.answer])]))
    return {"reading": reading, "hits": hits, "trace": (line,)}


def _revised(revision: Revision, state: TurnState, write: Write) -> TurnState:
    """Say what was corrected or taken back; persist does it."""
    reading = Reading(revised(revision, state["ask"].persona.manner))
    write(reading.answer)
    what = "corrected" if revision.text else "took back" if revision.taken_back else "took back none of"
    line = TraceLine("read", f"{what} {', '.join(f'memory {memory.id}' for memory in revision.old)}")
    return {"reading": reading, "revision": revision, "hits": _unasked(state.get("hits", ())), "trace": (line,)}


def _unasked(hits: Sequence[Hit], brought_up: int | None = None) -> tuple[Hit, ...]:
    """The hits of what asks nothing: none is read but the memory that was brought up, by its id."""
    return tuple(
        replace(hit, dropped="unasked", why="nothing was asked") if hit.kept and hit.memory.id != brought_up else hit
        for hit in hits
    )


def _reminded(state: TurnState, services: Services) -> tuple[Reading, tuple[Hit, ...], TraceLine]:
    """What is said where nothing was asked: the one memory that it brings up, if any, else a greeting to small talk."""
    ask, message, hits = state["ask"], state["message"], state.get("hits", ())
    kept = [hit for hit in hits if hit.kept]
    reminder, why = remind(ask, message, kept, services.bank, services.classifier)
    line = TraceLine("read", f"nothing was asked ({likeliest(message.classes)}); {why}")
    if reminder is not None:
        hits = _unasked(hits, reminder.citation.memory.id)
        return Reading(reminder.said, citations=(reminder.citation,)), hits, line
    return Reading("" if message.statements else greet(ask.persona.manner)), _unasked(hits), line


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
    kept = [hit for hit in state.get("hits", ()) if hit.kept]
    reading = quoting.read(ask, message, state.get("window", ()), kept, services.bank, services.searcher)
    reading = replace(reading, by="extractive")
    if reading.abstained:
        why = reading.answer if message.classes.asks_memory else GENERAL
        reading = replace(reading, answer=manner(ask.persona.manner).unknown.format(why=why))
    best = max((note.relevance for note in reading.notes), default=0.0)
    return reading, TraceLine("read", f"{len(reading.notes)} notes, {_decided(reading)}", {"best note": round(best, 3)})
