"""The reader by a chat model: notes on each memory, then an answer from the notes (Chain-of-Note, Yu et al. 2023).

Methods and formats are those that LongMemEval compares (Wu et al. 2025, figure 6). What the model says is checked, not
believed: a reply must be of its form, a citation must name a memory that was shown, a quote must stand in it. What
cannot be used is asked for once more, and then given up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from graph.models.calls import Completion, Messages, ModelFailed, stream_reply
from graph.models.local import LocalChat
from graph.models.quantization import resolve_quantization
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens, counting_method
from graph.readers.citing import cite
from graph.readers.interface import ReaderFailed, ReaderInput, ReaderOutput, Say
from graph.readers.intervals import AMONG
from graph.readers.prompts import Found, prompt, repair
from graph.readers.reply_formats import Noted, Notes, Read, Shape, Unreadable, read_json, read_words
from graph.readers.streaming import Speaking
from graph.replies.manners import manner
from graph.settings import PipelineSettings
from graph.state import Ask, Note, Reading, Reason, TraceLine
from graph.understanding.times import moment_of, times_in
from memory.dates.expressions import TimeExpression
from memory.errors import MemoirError
from memory.quotes import holds
from memory.types import Hit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

REPLY_ROOM = 1024
"""Tokens of the context that are left to the reply: notes on eight memories and an answer take half of it."""

REPAIR_ROOM = 128
"""Tokens that are left to what is said of a reply that could not be used."""

UNREAD = "beyond what the chat model can read at once"

WHY: Mapping[Reason, str] = {
    "nothing found": "I remember nothing about that.",
    "found but does not say": "I remember things near it, but none of them says.",
    "premise contradicted": "what I remember says otherwise.",
    "outside the known time": "what I remember does not reach that time.",
}


@dataclass(frozen=True, slots=True)
class ModelReader:
    """A chat model that reads.

    `say` is called with each piece of an answer in words. `replies` gathers all that the model replied, of use or not,
    for what it cost.
    """

    model: BaseChatModel
    settings: PipelineSettings
    say: Say
    replies: list[Completion] = field(default_factory=list)

    async def ask_for_json(self, talk: Messages, shape: type[Shape]) -> Shape:
        """A reply of a form, asked for a second time if the first is not of it.

        Raises:
            Unreadable: the second is not, either.
            ModelFailed: there is none.
        """
        schema = shape.model_json_schema()
        self.replies.append(await stream_reply(self.model, talk, schema=schema))
        try:
            return read_json(self.replies[-1].text, shape)
        except Unreadable as fault:
            self.replies.append(await stream_reply(self.model, repair(talk, str(fault)), schema=schema))
            return read_json(self.replies[-1].text, shape)

    async def ask_for_words(self, talk: Messages, found: Found) -> str:
        """A reply in words, streamed as it comes."""
        speaking = Speaking(found, self.say)
        self.replies.append(await stream_reply(self.model, talk, on_piece=speaking.hear))
        speaking.end()
        return self.replies[-1].text


async def read(given: ReaderInput, say: Say) -> ReaderOutput:
    """Let the chat model read as many hits as it can read at once, and answer from them.

    Raises:
        ReaderFailed: it did not reply, what it replied is of no use, or it cannot read as much as the question alone.
    """
    settings, model = given.services.settings, given.services.model
    if model is None:
        raise ValueError("the chain-of-note reader needs a chat model")
    reader = ModelReader(model, settings, say)
    try:
        found, size, context = await asyncio.to_thread(_fitting_prompt, given, model)
        reading, dropped = await METHODS[settings.method](reader, found)
    except (Unreadable, MemoirError) as fault:
        raise ReaderFailed(**_spent(reader)) from fault
    reading = replace(reading, by=settings.model)
    shown = {hit.memory.id for hit in found.hits}
    hits = tuple(
        replace(hit, dropped="budget", why=UNREAD) if hit.kept and hit.memory.id not in shown else hit
        for hit in given.hits
    )
    cited = {c.memory.id for c in reading.citations}
    fits = [hit.scores.get("fused", 1.0) for hit in found.hits if hit.memory.id in cited]
    spent = _spent(reader)
    figures = {
        "best note": 0.0 if reading.abstained else min(1.0, round(max(fits, default=0.0), 3)),
        "left out": len(given.kept) - len(shown),
        "citations dropped": dropped,
        "prompt tokens": size,
        "tokens in": spent["tokens_in"],
        "tokens out": spent["tokens_out"],
    }
    how = f"{settings.model}{_quantized(model)}, {settings.method}, {settings.format}"
    room = f"prompt of {size:,} tokens ({counting_method(model)}) of {context:,}"
    refused = f", {dropped} citations dropped" if dropped else ""
    decided = f"{how}: {len(reading.notes)} notes, {reading.outcome}{refused}; {room}"
    return ReaderOutput(reading, hits, TraceLine("read", decided, figures))


def _spent(reader: ModelReader) -> dict[str, int]:
    return {
        "tokens_in": sum(reply.tokens_in for reply in reader.replies),
        "tokens_out": sum(reply.tokens_out for reply in reader.replies),
    }


def _quantized(model: BaseChatModel) -> str:
    return f" in {resolve_quantization(model.quantization)}" if isinstance(model, LocalChat) else ""


def _fitting_prompt(given: ReaderInput, model: BaseChatModel) -> tuple[Found, int, int]:
    """What the prompt shows, its tokens, and those of the model's context; blocks while a server is asked for these.

    Raises:
        ModelFailed: not even the question fits.
    """
    settings = given.services.settings
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - REPLY_ROOM - REPAIR_ROOM
    task = "notes" if settings.method == "con-separate" else settings.method
    kept, question = given.kept, given.message.question.text

    def written(shown: int) -> tuple[Found, int]:
        found = _found(given.ask, question, given.window, kept[:shown], room)
        return found, count_tokens(model, prompt(task, settings.format, found))

    return *fitting(written, len(kept), room), context


def fitting(written: Callable[[int], tuple[Found, int]], hits: int, room: int) -> tuple[Found, int]:
    """What shows as many hits, from the best, as fit into the room, with its tokens.

    Raises:
        ModelFailed: not even the question fits.
    """
    made = {hits: written(hits)}  # most often all of them fit
    fits, over = (hits, hits + 1) if made[hits][1] <= room else (-1, hits)
    while over - fits > 1:
        tried = (fits + over) // 2
        made[tried] = written(tried)
        fits, over = (tried, over) if made[tried][1] <= room else (fits, tried)
    if fits < 0:
        raise ModelFailed(
            f"the question has {made[0][1]:,} tokens and the chat model can read {room:,} beside its reply. Ask in "
            "fewer words, or take a model with a longer context"
        )
    return made[fits]


def _found(ask: Ask, question: str, window: Sequence[TimeExpression], best: Sequence[Hit], room: int) -> Found:
    ordered = tuple(sorted(best, key=_when))
    numbers = {hit.memory.id: n for n, hit in enumerate(ordered, 1)}
    return Found(ask, question, tuple(window), ordered, tuple(numbers[h.memory.id] for h in best[:AMONG]), room)


def _when(hit: Hit) -> tuple[float, int]:
    moment = moment_of(hit.memory)
    return (moment.timestamp() if moment else float("-inf"), hit.memory.id)


# --- the methods

Checked = tuple[Reading, int]
"""A reading, and how many of its citations were dropped."""


async def _con(reader: ModelReader, found: Found) -> Checked:
    read = await reader.ask_for_json(prompt("con", reader.settings.format, found), Read)
    notes, refused = _notes(read.notes, found)
    reading, dropped = _reading(found, notes, read.answer, read.reason, [(c.memory, c.quote) for c in read.citations])
    reader.say(reading.answer)
    return reading, refused + dropped


async def _con_separate(reader: ModelReader, found: Found) -> Checked:
    noted = await reader.ask_for_json(prompt("notes", reader.settings.format, found), Notes)
    notes, refused = _notes(noted.notes, found)
    held = {note.memory.id for note in notes}
    shown = [n.model_dump() for n in noted.notes if (m := found.memory(n.memory)) and m.id in held]
    talk = prompt("from notes", reader.settings.format, found, shown)
    while shown and count_tokens(reader.model, talk) > found.room:
        shown.pop()
        talk = prompt("from notes", reader.settings.format, found, shown)
    reading, dropped = await _in_words(reader, talk, found, notes)
    return reading, refused + dropped


async def _direct(reader: ModelReader, found: Found) -> Checked:
    return await _in_words(reader, prompt("direct", reader.settings.format, found), found, ())


async def _in_words(reader: ModelReader, talk: Messages, found: Found, notes: tuple[Note, ...]) -> Checked:
    reading, dropped = _reading(found, notes, *read_words(await reader.ask_for_words(talk, found)), ())
    if reading.abstained:  # held back until its words were known
        reader.say(reading.answer)
    return reading, dropped


METHODS: Mapping[str, Callable[[ModelReader, Found], Awaitable[Checked]]] = {
    "con": _con,
    "con-separate": _con_separate,
    "direct": _direct,
}


def _notes(noted: Sequence[Noted], found: Found) -> tuple[tuple[Note, ...], int]:
    """The notes whose words stand in the memory that they name, one a memory, and how many do not."""
    scores = {hit.memory.id: hit.scores for hit in found.hits}
    kept: dict[int, Note] = {}
    for note in noted:
        memory = found.memory(note.memory)
        if memory is not None and holds(memory.text, note.quote):
            dates = times_in(note.quote, memory.said_at)
            relevance = min(1.0, max(0.0, scores[memory.id].get("fused", 1.0)))
            kept.setdefault(memory.id, Note(memory, note.quote, relevance, dates, says=note.note))
    refused = sum((m := found.memory(n.memory)) is None or not holds(m.text, n.quote) for n in noted)
    return tuple(kept.values()), refused


def _reading(
    found: Found,
    notes: tuple[Note, ...],
    answer: str,
    reason: Reason | None,
    quotes: Sequence[tuple[int, str]],
) -> tuple[Reading, int]:
    if reason is not None or not answer.strip():
        reason = reason or "found but does not say"
        spoken = answer.strip() or manner(found.ask.persona.manner).unknown.format(why=WHY[reason])
        # What contradicts the premise is worth its sources; what is merely near is none.
        checked = cite(spoken, (), found if reason == "premise contradicted" else replace(found, hits=()))
        return Reading(checked.answer, notes, checked.citations, abstained=True, reason=reason), checked.dropped
    by_memory = {note.memory.id: note.quote for note in notes}
    noted = {n: by_memory[h.memory.id] for n, h in enumerate(found.hits, 1) if h.memory.id in by_memory}
    checked = cite(answer, quotes, found, noted)
    return Reading(checked.answer, notes, checked.citations), checked.dropped
