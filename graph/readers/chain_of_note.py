"""The reader by a chat model: notes on each memory, then an answer from the notes (Chain-of-Note, Yu et al. 2023).

Methods and formats are those that LongMemEval compares (Wu et al. 2025, figure 6). Replies are checked: a reply must
have its form, a citation must name a memory that was shown, and a quote must occur in that memory. A reply that cannot
be used is requested once more.
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
from graph.readers.prompts import PromptContent, prompt, repair
from graph.readers.reply_formats import (
    NoteReply,
    NotesReply,
    ReadingReply,
    Shape,
    UnusableReply,
    parse_json,
    parse_words,
)
from graph.readers.streaming import AnswerStream
from graph.replies.manners import manner
from graph.settings import PipelineSettings
from graph.state import Ask, Note, Reading, Reason, TraceLine
from graph.understanding.times import moment_of, times_in
from memory.errors import MemoirError
from memory.search.quotes import contains

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel  # noqa: TC004 (a second to import)

    from memory.dates.expressions import TimeExpression
    from memory.types import Hit

REPLY_ROOM = 1024
"""Tokens of the context that are reserved for the reply: notes on eight memories and an answer take half of it."""

REPAIR_ROOM = 128
"""Tokens that are reserved for the problem report when a reply is requested again."""

UNREAD = "beyond what the chat model can read at once"

WHY: Mapping[Reason, str] = {
    "nothing found": "I remember nothing about that.",
    "found but does not say": "I remember something related, but not the answer.",
    "premise contradicted": "what I remember says otherwise.",
    "outside the known time": "I remember nothing from that time.",
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
        """Return a reply of this shape; ask a second time if the first does not have it.

        Raises:
            UnusableReply: the second does not have it, either.
            ModelFailed: there is no reply.
        """
        schema = shape.model_json_schema()
        self.replies.append(await stream_reply(self.model, talk, schema=schema))
        try:
            return parse_json(self.replies[-1].text, shape)
        except UnusableReply as fault:
            self.replies.append(await stream_reply(self.model, repair(talk, str(fault)), schema=schema))
            return parse_json(self.replies[-1].text, shape)

    async def ask_for_words(self, talk: Messages, content: PromptContent) -> str:
        """Return a reply in words, and stream it as it comes."""
        answer = AnswerStream(content, self.say)
        self.replies.append(await stream_reply(self.model, talk, on_piece=answer.feed))
        answer.end()
        return self.replies[-1].text


async def read(reader_input: ReaderInput, say: Say) -> ReaderOutput:
    """Let the chat model read as many hits as fit into its context, and answer from them.

    Raises:
        ReaderFailed: it did not reply, its reply is unusable, or not even the question fits.
    """
    settings, model = reader_input.services.settings, reader_input.services.model
    if model is None:
        raise ValueError("the chain-of-note reader needs a chat model")
    reader = ModelReader(model, settings, say)
    try:
        content, size, context = await asyncio.to_thread(_fitting_prompt, reader_input, model)
        reading, dropped = await METHODS[settings.method](reader, content)
    except (UnusableReply, MemoirError) as fault:
        raise ReaderFailed(**_spent(reader)) from fault
    reading = replace(reading, by=settings.model)
    shown = {hit.memory.id for hit in content.hits}
    hits = tuple(
        replace(hit, dropped="budget", why=UNREAD) if hit.kept and hit.memory.id not in shown else hit
        for hit in reader_input.hits
    )
    cited = {c.memory.id for c in reading.citations}
    fits = [hit.scores.get("fused", 1.0) for hit in content.hits if hit.memory.id in cited]
    spent = _spent(reader)
    figures = {
        "best note": 0.0 if reading.abstained else min(1.0, round(max(fits, default=0.0), 3)),
        "left out": len(reader_input.kept) - len(shown),
        "citations dropped": dropped,
        "prompt tokens": size,
        "tokens in": spent["tokens_in"],
        "tokens out": spent["tokens_out"],
    }
    weights = f" in {resolve_quantization(model.quantization)}" if isinstance(model, LocalChat) else ""
    how = f"{settings.model}{weights}, {settings.method}, {settings.format}"
    room = f"prompt of {size:,} tokens ({counting_method(model)}) of {context:,}"
    refused = f", {dropped} citations dropped" if dropped else ""
    decided = f"{how}: {len(reading.notes)} notes, {reading.outcome}{refused}; {room}"
    return ReaderOutput(reading, hits, TraceLine("read", decided, figures))


def _spent(reader: ModelReader) -> dict[str, int]:
    return {
        "tokens_in": sum(reply.tokens_in for reply in reader.replies),
        "tokens_out": sum(reply.tokens_out for reply in reader.replies),
    }


def _fitting_prompt(reader_input: ReaderInput, model: BaseChatModel) -> tuple[PromptContent, int, int]:
    """The prompt's content, its size and that of the model's context in tokens; blocks while a server is asked.

    Raises:
        ModelFailed: not even the question fits.
    """
    settings = reader_input.services.settings
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - REPLY_ROOM - REPAIR_ROOM
    task = "notes" if settings.method == "con-separate" else settings.method
    kept, question = reader_input.kept, reader_input.message.question.text

    def written(shown: int) -> tuple[PromptContent, int]:
        content = _content(reader_input.ask, question, reader_input.window, kept[:shown], room)
        return content, count_tokens(model, prompt(task, settings.format, content))

    return *fitting(written, len(kept), room), context


def fitting(written: Callable[[int], tuple[PromptContent, int]], hits: int, room: int) -> tuple[PromptContent, int]:
    """The content with as many hits, best first, as fit into the room, and its size in tokens.

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
            f"the question has {made[0][1]:,} tokens and the chat model can read {room:,} beside its reply. "
            "Shorten the question, or choose a model with a longer context"
        )
    return made[fits]


def _content(
    ask: Ask, question: str, window: Sequence[TimeExpression], best: Sequence[Hit], room: int
) -> PromptContent:
    ordered = tuple(sorted(best, key=_when))
    numbers = {hit.memory.id: n for n, hit in enumerate(ordered, 1)}
    return PromptContent(ask, question, tuple(window), ordered, tuple(numbers[h.memory.id] for h in best[:AMONG]), room)


def _when(hit: Hit) -> tuple[float, int]:
    moment = moment_of(hit.memory)
    return (moment.timestamp() if moment else float("-inf"), hit.memory.id)


CheckedReading = tuple[Reading, int]
"""A reading, and how many of its citations were dropped."""


async def _con(reader: ModelReader, content: PromptContent) -> CheckedReading:
    reply = await reader.ask_for_json(prompt("con", reader.settings.format, content), ReadingReply)
    notes, refused = _notes(reply.notes, content)
    reading, dropped = _reading(
        content, notes, reply.answer, reply.reason, [(c.memory, c.quote) for c in reply.citations]
    )
    reader.say(reading.answer)
    return reading, refused + dropped


async def _con_separate(reader: ModelReader, content: PromptContent) -> CheckedReading:
    reply = await reader.ask_for_json(prompt("notes", reader.settings.format, content), NotesReply)
    notes, refused = _notes(reply.notes, content)
    accepted = {note.memory.id for note in notes}
    shown = [n.model_dump() for n in reply.notes if (m := content.memory(n.memory)) and m.id in accepted]
    talk = prompt("from notes", reader.settings.format, content, shown)
    while shown and count_tokens(reader.model, talk) > content.room:
        shown.pop()
        talk = prompt("from notes", reader.settings.format, content, shown)
    reading, dropped = await _in_words(reader, talk, content, notes)
    return reading, refused + dropped


async def _direct(reader: ModelReader, content: PromptContent) -> CheckedReading:
    return await _in_words(reader, prompt("direct", reader.settings.format, content), content, ())


async def _in_words(
    reader: ModelReader, talk: Messages, content: PromptContent, notes: tuple[Note, ...]
) -> CheckedReading:
    reading, dropped = _reading(content, notes, *parse_words(await reader.ask_for_words(talk, content)), ())
    if reading.abstained:  # not streamed before its wording was known
        reader.say(reading.answer)
    return reading, dropped


METHODS: Mapping[str, Callable[[ModelReader, PromptContent], Awaitable[CheckedReading]]] = {
    "con": _con,
    "con-separate": _con_separate,
    "direct": _direct,
}


def _notes(replied: Sequence[NoteReply], content: PromptContent) -> tuple[tuple[Note, ...], int]:
    """The notes whose quotes occur in the memory that they name, one a memory, and how many were refused."""
    scores = {hit.memory.id: hit.scores for hit in content.hits}
    kept: dict[int, Note] = {}
    for note in replied:
        memory = content.memory(note.memory)
        if memory is not None and contains(memory.text, note.quote):
            dates = times_in(note.quote, memory.said_at)
            relevance = min(1.0, max(0.0, scores[memory.id].get("fused", 1.0)))
            kept.setdefault(memory.id, Note(memory, note.quote, relevance, dates, says=note.note))
    refused = sum((m := content.memory(n.memory)) is None or not contains(m.text, n.quote) for n in replied)
    return tuple(kept.values()), refused


def _reading(
    content: PromptContent,
    notes: tuple[Note, ...],
    answer: str,
    reason: Reason | None,
    quotes: Sequence[tuple[int, str]],
) -> tuple[Reading, int]:
    if reason is not None or not answer.strip():
        reason = reason or "found but does not say"
        spoken = answer.strip() or manner(content.ask.persona.manner).unknown.format(why=WHY[reason])
        # A contradiction of the premise needs its sources; memories that are merely related are none.
        checked = cite(spoken, (), content if reason == "premise contradicted" else replace(content, hits=()))
        return Reading(checked.answer, notes, checked.citations, abstained=True, reason=reason), checked.dropped
    by_memory = {note.memory.id: note.quote for note in notes}
    noted = {n: by_memory[h.memory.id] for n, h in enumerate(content.hits, 1) if h.memory.id in by_memory}
    checked = cite(answer, quotes, content, noted)
    return Reading(checked.answer, notes, checked.citations), checked.dropped
