"""The reader by a chat model: notes on each memory, then an answer from the notes (Chain-of-Note, Yu et al. 2023).

Methods and formats are those that LongMemEval compares (Wu et al. 2025, figure 6). Replies are checked: a reply must
have its form, a citation must name a memory that was shown, and a quote must occur in that memory. A reply that cannot
be used is requested once more.
"""

import asyncio
from bisect import bisect_right
from dataclasses import replace
from functools import cache

from langchain_core.language_models import BaseChatModel

from graph.models.calls import Completion, ModelFailed, stream_reply
from graph.models.json_replies import ask_for_json
from graph.models.local_model import LocalModel, runs_on_cpu
from graph.models.tokens import UNKNOWN_CONTEXT, context_length, count_tokens, counting_method
from graph.readers.chain_of_note.prompts import PromptContent, prompt
from graph.readers.chain_of_note.reply_formats import (
    CheckedReading,
    NotesReply,
    ReadingReply,
    checked_notes,
    checked_reading,
    parse_words,
    whole_sentences,
)
from graph.readers.counting.intervals import AMONG
from graph.settings import PipelineSettings
from graph.state import Note, ReaderInput, ReaderOutput, TraceLine, drop
from graph.understanding.times import moment_of
from memory.bank.queries.told import name_told
from memory.formatting import without_folders
from memory.types import Hit

ANSWER_TOKENS, NOTES_TOKENS = 200, 800
"""Most tokens of an answer, and of notes on a dozen memories."""

CPU_PROMPT_TOKENS, CPU_MEMORIES = 700, 5
"""Tokens of a prompt for a model that runs on this CPU, and how many memories it has even if they take more. The CPU
reads some 500 tokens a second with the smallest model, and 50 with one of 8 billion weights."""

REPAIR_ROOM = 128
"""Tokens that are reserved for the problem report when a reply is requested again."""

UNREAD = "beyond what the chat model can read at once"


async def read(reader_input: ReaderInput, replies: list[Completion]) -> ReaderOutput:
    """Let the chat model read as many hits as fit into its context, and answer from them.

    All that it replies, of use or not, is added to `replies`.

    Raises:
        UnusableReply, RejectedAnswer: its reply is unusable, or repeats its instructions.
        MemoirError: it did not reply, or not even the question fits.
    """
    settings, model = reader_input.services.settings, reader_input.services.model
    if model is None:
        raise ValueError("the chain-of-note reader needs a chat model")
    content, size, context = await asyncio.to_thread(_fitting_prompt, reader_input, settings, model)
    reading, dropped = await _ask(model, settings, content, replies)
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
        "fallback": 0,
        **sum(replies, Completion("")).cost,
    }
    weights = f" in {model.weights.precision}" if isinstance(model, LocalModel) else ""
    how = f"{without_folders(settings.model)}{weights}, {settings.method}, {settings.format}"
    room = f"prompt of {size:,} tokens ({counting_method(model)}) of {context:,}"
    refused = f", {dropped} citations dropped" if dropped else ""
    decided = f"{how}: {len(reading.notes)} notes, {reading.outcome}{refused}; {room}"
    return ReaderOutput(reading, hits, TraceLine("read", decided, figures))


def _fitting_prompt(
    reader_input: ReaderInput, settings: PipelineSettings, model: BaseChatModel
) -> tuple[PromptContent, int, int]:
    """The prompt's content, its size and that of the model's context in tokens; blocks while a server is asked.

    Raises:
        ModelFailed: not even the question fits.
    """
    context = context_length(model) or UNKNOWN_CONTEXT
    room = context - ANSWER_TOKENS - (NOTES_TOKENS if settings.method != "direct" else 0) - REPAIR_ROOM
    task = "notes" if settings.method == "con-separate" else settings.method
    kept = reader_input.kept

    ask = reader_input.ask
    user = name_told(reader_input.services.bank, ask.persona.id, ask.as_of)

    @cache
    def written(shown: int) -> tuple[PromptContent, int]:
        ordered = sorted(kept[:shown], key=_when)
        numbers = {hit.memory.id: number for number, hit in enumerate(ordered, 1)}
        best = tuple(numbers[hit.memory.id] for hit in kept[: min(shown, AMONG)])
        question, window = reader_input.message.question.text, reader_input.window
        content = PromptContent(ask, question, window, tuple(ordered), best, room, user, settings.max_words)
        return content, count_tokens(model, prompt(task, settings.format, content))

    fits = len(kept)  # most often all of them
    if written(fits)[1] > room:
        fits = bisect_right(range(fits), room, key=lambda shown: written(shown)[1]) - 1
    if fits < 0:
        raise ModelFailed(
            f"the question has {written(0)[1]:,} tokens and the chat model can read {room:,} beside its reply. "
            "Shorten the question, or choose a model with a longer context"
        )
    if runs_on_cpu(model):
        while fits > CPU_MEMORIES and written(fits)[1] > CPU_PROMPT_TOKENS:
            fits -= 1
    return *written(fits), context


def _when(hit: Hit) -> tuple[float, int]:
    moment = moment_of(hit.memory)
    return (moment.timestamp() if moment else float("-inf"), hit.memory.id)


async def _ask(
    model: BaseChatModel, settings: PipelineSettings, content: PromptContent, replies: list[Completion]
) -> CheckedReading:
    """The reading of the model's reply by the method that is set."""
    form, refused = settings.format, 0
    notes: tuple[Note, ...] = ()
    if settings.method == "con":
        most = ANSWER_TOKENS + NOTES_TOKENS
        read = await ask_for_json(model, prompt("con", form, content), ReadingReply, replies, max_tokens=most)
        notes, refused = checked_notes(read.notes, content)
        quotes = [(citation.memory, citation.quote) for citation in read.citations]
        reading, dropped = checked_reading(content, notes, read.answer, read.reason, quotes)
        return reading, refused + dropped
    if settings.method == "con-separate":
        noted = await ask_for_json(model, prompt("notes", form, content), NotesReply, replies, max_tokens=NOTES_TOKENS)
        notes, refused = checked_notes(noted.notes, content)
        accepted = {note.memory.id for note in notes}
        shown = [n.model_dump() for n in noted.notes if (m := content.memory(n.memory)) and m.id in accepted]
        while shown and count_tokens(model, prompt("from notes", form, content, shown)) > content.room:
            shown.pop()
        talk = prompt("from notes", form, content, shown)
    else:
        talk = prompt("direct", form, content)
    reply = await stream_reply(model, talk, max_tokens=ANSWER_TOKENS)
    replies.append(reply)
    spoken, reason = parse_words(reply.text)
    reading, dropped = checked_reading(content, notes, whole_sentences(spoken) if reply.cut else spoken, reason, ())
    return reading, refused + dropped
