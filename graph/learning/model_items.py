"""Check the items of a chat model's reply against the turns that it read, and make memories of them.

An item is refused if the user did not say its words, or if its sentence tells of something else. What an assistant said
counts where the user confirmed it ("yes, exactly"), and nowhere else: a wrong reply must teach nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from graph.learning.feelings import emotion, scene
from graph.learning.plain_facts import facts
from graph.models.json_replies import StrictReply
from graph.understanding.sentences import split
from graph.understanding.times import stated_time
from memory.search.quotes import contains
from memory.search.tokens import FUNCTION_WORDS, terms, words
from memory.types import LearnedMemory, MemoryDraft, Quote, Turn

MAX_WORDS, MAX_TEXT = 160, 160
"""Most characters of an item's quotation and sentence."""

LEAST_QUOTED = 2
"""Fewest words of a quotation: "I" was said in every turn, and carries nothing."""

LEAST_SHARED = 1 / 3
"""Least share of an item's own words that were said, too: "Ann lives in Lisbon" of "I moved to Lisbon"."""

_CONFIRMS = re.compile(
    r"\W*(?:(?:oh|ah|well),? )?(?:yes|yeah|yep|yup|exactly|right|correct|true|indeed|absolutely|of course|that's it)\b",
    re.IGNORECASE,
)
"""How an answer begins that says again what the assistant said before it."""

_NAMED = re.compile(r"\b(?:[^\W\d_a-z][\w'-]*|\d[\d.,:]*)")
"""A name or a number."""


def at_most(length: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """A bound in the schema alone: what a model without a grammar writes beyond it is cut, not refused."""
    return Field(json_schema_extra={"maxLength": length})


class Item(StrictReply):
    """One thing to remember."""

    words: Annotated[str, at_most(MAX_WORDS)]
    store: Literal["profile", "relationship", "world", "event"]
    text: Annotated[str, at_most(MAX_TEXT)]


@dataclass(frozen=True, slots=True)
class Part:
    """Turns of a session with their places in it, and the user's name, empty if unknown."""

    turns: Sequence[tuple[int, Turn]]
    user: str = ""

    @property
    def own(self) -> list[Turn]:
        """The turns that teach something: all but the assistant's."""
        return [turn for _, turn in self.turns if turn.role != "assistant"]

    def confirmed(self, n: int) -> str:
        """What the assistant said before the n-th turn, if that turn confirms it."""
        _, before = self.turns[max(n - 1, 0)]
        return before.text if before.role == "assistant" and _CONFIRMS.match(self.turns[n][1].text) else ""

    @property
    def said(self) -> frozenset[str]:
        """The terms that were said, or confirmed, by others than the assistant; and how the user is called."""
        confirmed = (self.confirmed(n) for n in range(len(self.turns)))
        return content(" ".join([self.user, "user", *(f"{turn.speaker} {turn.text}" for turn in self.own), *confirmed]))

    def repeats_assistant(self, text: str) -> bool:
        """Whether a text has a name or a number that only the assistant said."""
        theirs = " ".join(turn.text for _, turn in self.turns if turn.role == "assistant")
        names = frozenset(_NAMED.findall(text)).intersection(_NAMED.findall(theirs))
        return any(not content(name) <= self.said for name in names)


def check(item: Item, part: Part) -> LearnedMemory:
    """The item as a memory of the first turn that has its words.

    If none has, or if it tells something else, it has no quotation, so that the bank refuses and counts it.
    """
    told = content(item.text)
    is_quote = len(words(item.words)) >= LEAST_QUOTED and content(item.words)
    # Of what small models write beside a true quotation, most is about nothing that was said.
    if is_quote and len(told & part.said) >= LEAST_SHARED * len(told) and not part.repeats_assistant(item.text):
        for n, (place, turn) in enumerate(part.turns):
            sentence = next((each for each in split(turn.text) if contains(each, item.words)), item.words)
            source = content(f"{sentence} {part.confirmed(n)}")
            if turn.role != "assistant" and contains(turn.text, item.words) and told & source:
                return LearnedMemory(_draft(item, sentence, turn), (Quote(place, item.words),))
    return LearnedMemory(MemoryDraft(item.store, item.text), ())


def _draft(item: Item, sentence: str, turn: Turn) -> MemoryDraft:
    """The item with what code can tell of it: its attribute, or when and where it happened and how that felt."""
    draft = MemoryDraft(item.store, item.text.strip()[: 2 * MAX_TEXT], said_at=turn.said_at, speaker=turn.speaker)
    if item.store != "event":
        return replace(draft, attribute=_attribute(item, sentence, turn))
    draft = replace(draft, emotion=emotion(sentence), scene=scene(sentence))
    when = stated_time(item.words, turn.said_at) or stated_time(sentence, turn.said_at) if turn.said_at else None
    return replace(draft, event=when.span, event_text=when.text) if when else draft


def _attribute(item: Item, sentence: str, turn: Turn) -> str:
    """What can be only one at a time, if the sentence states such a fact in a plain form and the item has its value."""
    stated = facts(sentence, turn.speaker, turn.said_at) if turn.said_at else ()
    values = ((fact.attribute, fact.relation.tail) for fact in stated if fact.store == item.store and fact.relation)
    return next((attribute for attribute, value in values if attribute and contains(item.text, value)), "")


def content(text: str) -> frozenset[str]:
    """The terms of a text without its function words."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in FUNCTION_WORDS)))
