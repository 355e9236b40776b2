"""Reading by a chat model: notes on each memory first, then an answer from the notes (Chain-of-Note, Yu et al. 2023).

Methods and formats are those that LongMemEval compares (Wu et al. 2025, figure 6). What the model says is checked, not
believed: a reply must be of its form, a citation must name a memory that was shown, a quote must stand in it. What
cannot be used is asked for once more, and then given up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Event
from typing import TYPE_CHECKING

from graph.models import Completion, ModelFailed, converse
from graph.models.calls import Talk
from graph.models.tokens import UNKNOWN_CONTEXT, context_of, count
from graph.readers.citing import cite
from graph.readers.intervals import AMONG
from graph.readers.prompts import Found, prompt, repair
from graph.readers.reply_formats import Noted, Notes, Read, Shape, Unreadable, read_json, read_words
from graph.readers.streaming import Speaking
from graph.replies.manners import manner
from graph.settings import PipelineSettings
from graph.state import Ask, Note, Reading, Reason
from memory.dates.expressions import TimeExpression, find_times
from memory.quotes import holds
from memory.types import Hit

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

REPLY_ROOM = 1024
"""Tokens of the context that are left to the reply: notes on eight memories and an answer take half of it."""

REPAIR_ROOM = 128
"""Tokens that are left to what is said of a reply that could not be used."""

WHY: Mapping[Reason, str] = {
    "nothing found": "I remember nothing about that.",
    "found but does not say": "I remember things near it, but none of them says.",
    "premise contradicted": "what I remember says otherwise.",
    "outside the known time": "what I remember does not reach that time.",
}


@dataclass(frozen=True, slots=True)
class Reader:
    """A chat model that reads.

    `say` is told each piece of an answer in words, and the empty text while there is none; `halt` is set once nobody
    waits any more. `replies` gathers all that the model replied, of use or not, for what it cost.
    """

    model: BaseChatModel
    settings: PipelineSettings
    say: Callable[[str], None]
    halt: Event
    replies: list[Completion] = field(default_factory=list)

    def fill(self, talk: Talk, shape: type[Shape]) -> Shape:
        """A reply of a form, asked for a second time if the first is not of it.

        Raises:
            Unreadable: the second is not, either.
            ModelFailed: there is none.
        """
        try:
            return read_json(self._heard(talk, shape), shape)
        except Unreadable as fault:
            return read_json(self._heard(repair(talk, str(fault)), shape), shape)

    def words(self, talk: Talk, found: Found) -> str:
        """A reply in words, told as it comes."""
        speaking = Speaking(found, self.say)
        self.replies.append(converse(self.model, talk, heard=speaking.hear, halt=self.halt))
        speaking.end()
        return self.replies[-1].text

    def _heard(self, talk: Talk, shape: type[Shape]) -> str:
        schema = shape.model_json_schema()
        reply = converse(self.model, talk, schema=schema, heard=lambda piece: self.say(""), halt=self.halt)
        self.replies.append(reply)
        return reply.text


@dataclass(frozen=True, slots=True)
class Outcome:
    """A reading, and how it came about: what the prompt showed, its tokens and the context's, citations dropped."""

    reading: Reading
    found: Found
    prompt_tokens: int
    context: int
    dropped: int


def read_with(
    reader: Reader, ask: Ask, question: str, window: Sequence[TimeExpression], hits: Sequence[Hit]
) -> Outcome:
    """Let a chat model read the hits, best first, and answer from them.

    Raises:
        Unreadable: what it replied is of no use, also at the second time.
        ModelFailed: it did not reply, or cannot read as much as the question alone.
    """
    settings = reader.settings
    context = context_of(reader.model) or UNKNOWN_CONTEXT
    room = context - REPLY_ROOM - REPAIR_ROOM
    first = "notes" if settings.method == "con-separate" else settings.method

    def written(shown: int) -> tuple[Found, int]:
        found = _found(ask, question, window, hits[:shown], room)
        return found, count(reader.model, prompt(first, settings.format, found))

    found, size = fitting(written, len(hits), room)
    reading, dropped = METHODS[settings.method](reader, found)
    return Outcome(replace(reading, by=settings.model), found, size, context, dropped)


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
    memory = hit.memory
    moment = memory.event.start if memory.event else memory.said_at
    return (moment.timestamp() if moment else float("-inf"), memory.id)


# --- the methods

Checked = tuple[Reading, int]
"""A reading, and how many of its citations were dropped."""


def _con(reader: Reader, found: Found) -> Checked:
    read = reader.fill(prompt("con", reader.settings.format, found), Read)
    notes, refused = _notes(read.notes, found)
    reading, dropped = _reading(found, notes, read.answer, read.reason, [(c.memory, c.quote) for c in read.citations])
    reader.say(reading.answer)
    return reading, refused + dropped


def _con_separate(reader: Reader, found: Found) -> Checked:
    noted = reader.fill(prompt("notes", reader.settings.format, found), Notes)
    notes, refused = _notes(noted.notes, found)
    held = {note.memory.id for note in notes}
    shown = [n.model_dump() for n in noted.notes if (m := found.memory(n.memory)) and m.id in held]
    talk = prompt("from notes", reader.settings.format, found, shown)
    while shown and count(reader.model, talk) > found.room:
        shown.pop()
        talk = prompt("from notes", reader.settings.format, found, shown)
    reading, dropped = _in_words(reader, talk, found, notes)
    return reading, refused + dropped


def _direct(reader: Reader, found: Found) -> Checked:
    return _in_words(reader, prompt("direct", reader.settings.format, found), found, ())


def _in_words(reader: Reader, talk: Talk, found: Found, notes: tuple[Note, ...]) -> Checked:
    reading, dropped = _reading(found, notes, *read_words(reader.words(talk, found)), ())
    if reading.abstained:  # held back until its words were known
        reader.say(reading.answer)
    return reading, dropped


METHODS: Mapping[str, Callable[[Reader, Found], Checked]] = {
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
            dates = find_times(note.quote, memory.said_at) if memory.said_at else ()
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
