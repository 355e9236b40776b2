"""The reader by a chat model: notes on each memory, then an answer from the notes (Chain-of-Note, Yu et al. 2023).

Methods and formats are those that LongMemEval compares (Wu et al. 2025, figure 6). Replies are checked: a reply must
have its form, a citation must name a memory that was shown, and a quote must occur in that memory. A reply that cannot
be used is requested once more.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING

from graph.models.calls import Completion, Messages, ModelFailed, stream_reply
from graph.models.json_replies import UnusableReply, ask_for_json
from graph.models.local_model import LocalModel
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens, counting_method
from graph.readers.citing import AnswerStream, cite
from graph.readers.interface import ReaderFailed, ReaderInput, ReaderOutput, Say
from graph.readers.intervals import AMONG
from graph.readers.prompts import PromptContent, prompt
from graph.readers.reply_formats import NoteReply, NotesReply, ReadingReply, parse_words
from graph.replies.manners import manner
from graph.settings import PipelineSettings
from graph.state import Note, Reading, Reason, TraceLine, drop
from graph.understanding.times import moment_of, times_in
from memory.errors import MemoirError
from memory.search.quotes import contains

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel  # noqa: TC004 (a second to import)

    from memory.types import Hit

REPLY_ROOM = 1024
"""Tokens of the context that are reserved for the reply: notes on eight memories and an answer take half of it."""

REPAIR_ROOM = 128
"""Tokens that are reserved for the problem report when a reply is requested again."""

UNREAD = "beyond what the chat model can read at once"

WHY: Mapping[Reason, str] = {
    "nothing found": "I remember nothing about that.",
    "found but does not say": "I remember something related, but not the answer.",
    "premise contradicted": "What I remember says otherwise.",
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

    @property
    def tokens(self) -> dict[str, int]:
        """What the replies cost."""
        return {
            "tokens in": sum(reply.tokens_in for reply in self.replies),
            "tokens out": sum(reply.tokens_out for reply in self.replies),
        }


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
        raise ReaderFailed(reader.tokens) from fault
    reading = replace(reading, by=settings.model)
    shown = {hit.memory.id for hit in content.hits}
    hits = drop(reader_input.hits, lambda hit: hit.memory.id not in shown, "budget", UNREAD)
    cited = {c.memory.id for c in reading.citations}
    fits = [hit.scores.get("fused", 1.0) for hit in content.hits if hit.memory.id in cited]
    figures = {
        "best note": 0.0 if reading.abstained else min(1.0, round(max(fits, default=0.0), 3)),
        "left out": len(reader_input.kept) - len(shown),
        "citations dropped": dropped,
        "prompt tokens": size,
        **reader.tokens,
    }
    weights = f" in {model.precision}" if isinstance(model, LocalModel) else ""
    how = f"{settings.model}{weights}, {settings.method}, {settings.format}"
    room = f"prompt of {size:,} tokens ({counting_method(model)}) of {context:,}"
    refused = f", {dropped} citations dropped" if dropped else ""
    decided = f"{how}: {len(reading.notes)} notes, {reading.outcome}{refused}; {room}"
    return ReaderOutput(reading, hits, TraceLine("read", decided, figures))


def _fitting_prompt(reader_input: ReaderInput, model: BaseChatModel) -> tuple[PromptContent, int, int]:
    """The prompt's content, its size and that of the model's context in tokens; blocks while a server is asked.

    Raises:
        ModelFailed: not even the question fits.
    """
    settings = reader_input.services.settings
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - REPLY_ROOM - REPAIR_ROOM
    task = "notes" if settings.method == "con-separate" else settings.method
    kept = reader_input.kept

    @cache
    def written(shown: int) -> tuple[PromptContent, int]:
        content = _content(reader_input, kept[:shown], room)
        return content, count_tokens(model, prompt(task, settings.format, content))

    fits = len(kept)  # most often all of them
    if written(fits)[1] > room:
        fits = bisect_right(range(fits), room, key=lambda shown: written(shown)[1]) - 1
    if fits < 0:
        raise ModelFailed(
            f"the question has {written(0)[1]:,} tokens and the chat model can read {room:,} beside its reply. "
            "Shorten the question, or choose a model with a longer context"
        )
    return *written(fits), context


def _content(reader_input: ReaderInput, best: Sequence[Hit], room: int) -> PromptContent:
    ordered = tuple(sorted(best, key=_when))
    numbers = {hit.memory.id: n for n, hit in enumerate(ordered, 1)}
    ranked = tuple(numbers[hit.memory.id] for hit in best[:AMONG])
    return PromptContent(
        reader_input.ask, reader_input.message.question.text, reader_input.window, ordered, ranked, room
    )


def _when(hit: Hit) -> tuple[float, int]:
    moment = moment_of(hit.memory)
    return (moment.timestamp() if moment else float("-inf"), hit.memory.id)


CheckedReading = tuple[Reading, int]
"""A reading, and how many of its citations were dropped."""


async def _con(reader: ModelReader, content: PromptContent) -> CheckedReading:
    talk = prompt("con", reader.settings.format, content)
    reply = await ask_for_json(reader.model, talk, ReadingReply, reader.replies)
    notes, refused = _notes(reply.notes, content)
    quotes = [(citation.memory, citation.quote) for citation in reply.citations]
    reading, dropped = _reading(content, notes, reply.answer, reply.reason, quotes)
    reader.say(reading.answer)
    return reading, refused + dropped


async def _con_separate(reader: ModelReader, content: PromptContent) -> CheckedReading:
    talk = prompt("notes", reader.settings.format, content)
    reply = await ask_for_json(reader.model, talk, NotesReply, reader.replies)
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
    answer = AnswerStream(content, reader.say)
    reader.replies.append(await stream_reply(reader.model, talk, on_piece=answer.feed))
    answer.end()
    reading, dropped = _reading(content, notes, *parse_words(reader.replies[-1].text), ())
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
    refused = 0
    for note in replied:
        memory = content.memory(note.memory)
        if memory is None or not contains(memory.text, note.quote):
            refused += 1
            continue
        dates = times_in(note.quote, memory.said_at)
        relevance = min(1.0, max(0.0, scores[memory.id].get("fused", 1.0)))
        kept.setdefault(memory.id, Note(memory, note.quote, relevance, dates, says=note.note))
    return tuple(kept.values()), refused


def _reading(
    content: PromptContent,
    notes: tuple[Note, ...],
    answer: str,
    reason: Reason | None,
    quotes: Sequence[tuple[int, str]],
) -> CheckedReading:
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
