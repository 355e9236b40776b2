"""The reader's prompts: who the persona is and the rules first, then the data, and the task last.

A small model follows best what it reads last, and a server computes the unchanged beginning of a prompt only once. Text
that people wrote, the persona's card included, is in JSON strings with "<" escaped: it can end neither its quotation
nor, in a local model's template, its turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from jinja2 import Environment

from graph.models.calls import Messages
from graph.models.json_replies import quoted
from graph.readers.counting.intervals import asks_interval, length, memory_time, pair_intervals
from graph.replies.card import THE_USER, introduce
from graph.settings import Format
from graph.state import USER, Ask, Reason
from graph.understanding.markup import without_citations
from graph.understanding.sentences import shorten
from graph.understanding.times import day_happened, times_in
from memory import read_table
from memory.dates.expressions import TimeExpression, describe_span, describe_time
from memory.formatting import format_day
from memory.types import Hit, Memory

TURNS, TURN_CHARACTERS = 6, 500
"""Turns of the chat before the question that go with it, and the most characters of each."""

MAX_QUOTE = 240
"""Most characters of a note, and of a quote."""

_TEMPLATE_MARKS = str.maketrans({"<": "‹", "[": "(", "]": ")"})
"""Characters that begin the marks of a chat template or a citation."""

REASONS: tuple[Reason, ...] = get_args(Reason)

_TEXTS = read_table(__file__)
TASKS: Mapping[str, str] = _TEXTS["tasks"]
WHY: Mapping[Reason, str] = _TEXTS["why"]

_TEMPLATES = Environment(trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters["quoted"] = quoted
_DESCRIBED = _TEMPLATES.from_string(_TEXTS["described"])

IN_WORDS = ("direct", "from notes")
"""The tasks whose reply is in words; the others are in JSON."""


@dataclass(frozen=True, slots=True)
class PromptContent:
    """The content of a prompt: `hits` in the order of time, and in `best` their numbers in the order of rank.

    `room` is the most tokens that the prompt may have. `user` is the user's name, empty if not known. `max_words` is
    the most words of an answer; 0 sets no limit.
    """

    ask: Ask
    question: str
    window: tuple[TimeExpression, ...]
    hits: tuple[Hit, ...]
    best: tuple[int, ...]
    room: int
    user: str = ""
    max_words: int = 0

    @property
    def asker(self) -> str:
        """What the prompt calls the user."""
        return self.user or THE_USER

    @property
    def longest(self) -> int:
        """Most characters of one memory or of the card: about a quarter of the room, so that others fit, too."""
        return max(self.room // 2, 1)

    def memory(self, number: int) -> Memory | None:
        """The memory of a number; None for a number that is not in the prompt."""
        return self.hits[number - 1].memory if 0 < number <= len(self.hits) else None


@cache
def instruction(task: str, max_words: int = 0) -> str:
    """The instruction of a task; it does not depend on what is asked and found."""
    values = {"notes": _TEXTS["notes"], "reasons": ", ".join(REASONS), "max_words": max_words}
    parts = {part: _TEMPLATES.from_string(_TEXTS[part]).render(values) for part in ("answer", "unknown")}
    return _TEMPLATES.from_string(TASKS[task]).render(values | parts)


INSTRUCTIONS = " ".join([_TEXTS["rules"], *map(instruction, TASKS)])
"""All that is the same in every prompt; nobody should read it in an answer."""


def rules(content: PromptContent) -> str:
    """The system message: who the persona is, and the rules of all tasks."""
    return f"{introduce(content.ask.persona, content.user, content.longest)}\n\n{_TEXTS['rules']}"


def prompt(
    task: str, form: Format, content: PromptContent, notes: Sequence[Mapping[str, Any]] | None = None
) -> Messages:
    """The messages of a task: who and how, then the data and the task.

    Where the reply is in words, the user's message is the question alone: small models repeat whatever stands around
    it. With `notes`, which were taken before, memories come without their text: the answer must come from the notes.
    """
    data = _data(content, notes)
    described = quoted(data) if form == "json" else _DESCRIBED.render(data).strip("\n")
    told = instruction(task, content.max_words)
    if task in IN_WORDS:
        asked = content.question.translate(_TEMPLATE_MARKS)
        return [("system", f"{rules(content)}\n\n{described}\n\n{told}"), ("human", asked)]
    if form == "nl":
        described += f"\n\n{quoted(content.asker)} asks: {quoted(content.question)}"
    return [("system", rules(content)), ("human", f"{described}\n\n{told}")]


def _data(content: PromptContent, notes: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    ask = content.ask
    compared = asks_interval(content.question)
    near = set(content.best) if notes is None else {int(note["memory"]) for note in notes}
    numbered = [(n, hit.memory) for n, hit in enumerate(content.hits, 1) if notes is None or n in near]
    data = {
        "today": f"{ask.as_of:%A, {ask.as_of.day} %B %Y, %H:%M}",
        "memories": [_memory(n, memory, content, worded=notes is None) for n, memory in numbered],
        "intervals": pair_intervals([pair for pair in numbered if pair[0] in near], ask.as_of) if compared else [],
        "dialogue": [
            {
                "speaker": ask.persona.name if turn.role == "assistant" else content.asker,
                "text": shorten(without_citations(turn.text), TURN_CHARACTERS),  # their numbers are not of this prompt
            }
            for turn in ask.dialogue[-TURNS:]
        ],
        "notes": [
            {**note, **{part: shorten(note[part], MAX_QUOTE) for part in ("quote", "note")}} for note in notes or ()
        ],
        "times": {w.text: describe_time(w) for w in content.window},
        "asked_by": content.asker,
        "question": content.question,
    }
    return {name: value for name, value in data.items() if value or name in ("memories", "question")}


def _memory(number: int, memory: Memory, content: PromptContent, *, worded: bool) -> dict[str, Any]:
    zone, today = content.ask.as_of.tzinfo, content.ask.as_of.date()
    said_at = memory.said_at.astimezone(zone) if memory.said_at else None
    when = memory_time(memory)
    of_day = day_happened(memory, when, zone)
    text = shorten(memory.text, content.longest)
    ended, stale = memory.valid_to, memory.stale_since
    asks_time = asks_interval(content.question)
    values = {
        "number": number,
        "speaker": content.asker if memory.speaker == USER else memory.speaker,
        "said_on": format_day(said_at) if said_at else "",
        "text": text if worded else "",
        "dates": {d.text: describe_time(d) for d in times_in(text, memory.said_at)},
        "happened": describe_span(when.span) if when and asks_time else "",
        "ago": length(of_day, today) if of_day and of_day < today and asks_time else "",
        "ended": f"{ended:%Y-%m-%d}" if ended and ended <= content.ask.as_of else "",
        "doubtful_since": f"{stale:%Y-%m-%d}" if stale and stale <= content.ask.as_of else "",
    }
    return {name: value for name, value in values.items() if value}
