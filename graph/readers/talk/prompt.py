"""The prompt with which a chat model replies as the persona, whatever it is told or asked.

What changes seldom comes first and what changes with each message last, so that a server computes the beginning of the
prompt once: the system message says who the persona is, what to do and what is known of the user; then come the card's
example dialogue and the turns of the chat, and at last the day, the earlier lines that may matter, and the message as
it was typed. Card, facts and lines are in JSON strings: they are data.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from graph.models.calls import Messages
from graph.models.json_replies import quoted
from graph.replies.card import THE_USER, example_turns, introduce
from graph.state import USER, Ask
from graph.understanding.markup import without, without_citations
from graph.understanding.sentences import shorten
from graph.understanding.times import times_in
from memory import read_table
from memory.bank.relations import name_user
from memory.dates.expressions import describe_span, describe_time
from memory.formatting import format_day
from memory.types import SEMANTIC, Memory

LINE_CHARACTERS = 1_000
"""Most characters of one line: of a text without the end of a sentence."""

TEXTS: Mapping[str, str] = read_table(__file__, "prompts.toml")

INSTRUCTION = "\n".join(TEXTS[name] for name in ("task", "reserved", "note", "known", "earlier"))
"""All that is the same in every prompt; nobody should read it in a reply."""

LEFT_OUT = "…"
"""Stands for a reply that nothing supports, and before a chat that the persona began: many chat templates want the user
to speak first, who said nothing."""

TEMPLATE_MARK = re.compile(r"<\|[\w ]{1,30}\|>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]")
_MARK = re.compile(rf"{TEMPLATE_MARK.pattern}|</?think>")
_YEAR = re.compile(r"\d{4}")


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A memory, and the words of it that are shown."""

    memory: Memory
    words: str


@dataclass(frozen=True, slots=True)
class Content:
    """What a reply is made of: the message, the user's name (empty if unknown), and the lines, numbered from 1.

    `known` is what holds whatever is asked, in the order in which it was learned; `earlier` are the lines found for
    this message, in order of time; `turns` are those of the chat that are shown. With `notes`, the model is to note
    what the lines say before it replies.
    """

    ask: Ask
    user: str
    known: tuple[PromptLine, ...] = ()
    earlier: tuple[PromptLine, ...] = ()
    turns: tuple[tuple[str, str], ...] = ()
    notes: bool = False

    @property
    def lines(self) -> tuple[PromptLine, ...]:
        """All numbered lines; line n is the item n - 1."""
        return (*self.known, *self.earlier)


def turns_of(ask: Ask) -> tuple[tuple[str, str], ...]:
    """The turns of the chat as (role, text).

    Replies stand without what nothing supports, or the model would build on its own inventions, and without their old
    citations, whose numbers mean nothing now. The last is whole: the user may ask about what is marked in it.
    """
    last = next((t for t in reversed(ask.dialogue) if t.role == "assistant"), None)
    return tuple(
        ("ai", without_citations(t.text if t is last else without(t.text, t.unsupported) or LEFT_OUT))
        if t.role == "assistant"
        else ("human", t.text)
        for t in ask.dialogue
    )


def messages(content: Content) -> Messages:
    """The messages of the prompt, their roles alternating after the first."""
    persona = content.ask.persona
    examples = list(example_turns(persona, content.user))
    while examples and examples[-1][0] == "human":  # it would be read as the beginning of the message
        examples.pop()
    before = [*_opened(examples), *_opened(content.turns)]
    spoken = [*before, ("human", last_message(content))]
    return [("system", system_message(content)), *alternating((role, without_marks(text)) for role, text in spoken)]


def system_message(content: Content) -> str:
    """Who the persona is, what to do, and what is known."""
    persona = content.ask.persona
    user, name = quoted(content.user) if content.user else THE_USER, quoted(persona.name)
    task = TEXTS["task"].format(user=user, name=name) + ("" if persona.proactive else TEXTS["reserved"])
    parts = [introduce(persona, content.user), f"You are talking with {user}.\n{task}"]
    if content.known:
        parts.append("\n".join([TEXTS["known"].format(user=user), *_listed(content.known, 1, content)]))
    return "\n\n".join(parts)


def last_message(content: Content) -> str:
    """The day, the earlier lines, and the message as it was typed."""
    ask, first = content.ask, len(content.known) + 1
    parts = [f"It is {_day(ask.as_of)}, {ask.as_of:%H:%M}."]
    if content.earlier:
        parts.append("\n".join([TEXTS["earlier"], *_listed(content.earlier, first, content)]))
    if content.notes:
        parts.append(TEXTS["note"])
    head = f"{content.user}'s message:" if content.user else "The user's message:"
    return "\n\n".join([*parts, f"{head}\n{ask.with_choices or ask.text}"])


def _listed(lines: Sequence[PromptLine], first: int, content: Content) -> Iterator[str]:
    """The lines with their numbers, from `first`, under a head wherever the day or the speaker changes."""
    said = (
        (_head(line.memory, content), f"[{number}] {_said(line, content)}") for number, line in enumerate(lines, first)
    )
    for head, group in groupby(said, key=itemgetter(0)):
        yield from [*([f"{head}:"] if head else []), *(line for _, line in group)]


def _head(memory: Memory, content: Content) -> str:
    """The day and the speaker of a memory; when it happened, if nobody said it."""
    as_of = content.ask.as_of
    said_at = memory.said_at.astimezone(as_of.tzinfo) if memory.said_at else None
    when = _day(said_at) if said_at else describe_span(memory.event) if memory.event else ""
    speaker = (content.user or THE_USER) if memory.speaker == USER else memory.speaker
    whom = f" to {quoted(memory.told_to)}" if memory.told_to else ""
    return ", ".join(filter(None, [when, f"{quoted(speaker)}{whom}" if speaker else ""]))


def _said(line: PromptLine, content: Content) -> str:
    """The words of a line, with the days that it names in other words, and its end if it holds no more."""
    memory, text = line.memory, " ".join(line.words.split())
    if memory.store in SEMANTIC and memory.speaker == USER:
        text = name_user(text, content.user or THE_USER)
    ended = memory.valid_to is not None and memory.valid_to <= content.ask.as_of
    until = f" (until {format_day(memory.valid_to)})" if ended else ""
    return f"{quoted(shorten(text, LINE_CHARACTERS))}{_days(line)}{until}"


def _days(line: PromptLine) -> str:
    """What the words of a line mean that name a day as seen from the one on which it was said ("next Wednesday")."""
    memory = line.memory
    named = {time.text: describe_time(time) for time in times_in(line.words, memory.said_at) if time.sure}
    if memory.event is not None and memory.event_text in named:
        named[memory.event_text] = describe_span(memory.event)
    meant = [f"{quoted(text)} is {meaning}" for text, meaning in named.items() if not _YEAR.search(text)]
    if not named and memory.event is not None and memory.store == "event" and memory.said_at:
        meant = [describe_span(memory.event)]
    return f" ({'; '.join(meant)})" if meant else ""


def _day(moment: datetime) -> str:
    return f"{moment:%A}, {format_day(moment)}"


def _opened(turns: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """The turns of a dialogue, the user's first."""
    return [("human", LEFT_OUT), *turns] if turns and turns[0][0] == "ai" else turns


def without_marks(text: str) -> str:
    """A turn in which nothing is a mark of a chat template: an invisible space stands within each. All else stays."""
    return _MARK.sub(lambda mark: f"{mark[0][0]}\u200b{mark[0][1:]}", text)


def alternating(turns: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The turns, with those of one role that follow each other joined: many chat templates refuse anything else."""
    for role, group in groupby(turns, key=itemgetter(0)):
        yield role, "\n".join(text for _, text in group)
