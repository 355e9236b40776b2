"""Check the items of a chat model's reply against the turns that it read, and make memories of them.

An item is refused if the user did not say its words, or if its sentence tells of something else. What an assistant said
counts where the user confirmed it ("yes, exactly"), and nowhere else: a wrong reply must teach nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import Field

from graph.learning.feelings import emotion, scene
from graph.models.json_replies import StrictReply
from graph.understanding.form import requests, states
from graph.understanding.sentences import split
from graph.understanding.times import stated_time
from memory.bank.relations import YOU
from memory.search.quotes import contains
from memory.search.tokens import FUNCTION_WORDS, terms, words
from memory.types import LearnedMemory, Memory, MemoryDraft, Quote, Turn

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

_SUBJECT = re.compile(r"\W*(?:the )?([\w-]+)('s [\w-]+)?")
"""Whom a sentence in lower case is about, by its first words: "wen", "the user", "wen's dog"."""

_NAMING = frozenset(terms("called named name"))
_DENIES = re.compile(
    r"\b(?:not|no|never|none|used to|any ?more|former|ex|stopped|quit|gave up|left|lost|sold|over|died|dead|passed away"
    r"|divorced|broke up|broken|split|ended|finished|retired|cancelled)\b|n['’]t\b",
    re.IGNORECASE,
)
DENIED, HOLDS = "is not so", "is so"
"""Marks among the terms of a sentence: two that differ in them do not say the same."""


_JOKES = re.compile(r"\b(?:kidding|joking|jk|april fools?)\b", re.IGNORECASE)


def at_most(length: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """A bound in the schema alone: what a model without a grammar writes beyond it is cut, not refused."""
    return Field(json_schema_extra={"maxLength": length})


class Item(StrictReply):
    """One thing to remember, or the number of a known fact that it changes or ends."""

    words: Annotated[str, at_most(MAX_WORDS)]
    action: Literal["add", "update", "end"]
    known: int
    store: Literal["profile", "relationship", "world", "event"]
    text: Annotated[str, at_most(MAX_TEXT)]


@dataclass(frozen=True, slots=True)
class Source:
    """The turn that an item quotes, its place in the session, and the sentence with the words."""

    place: int
    turn: Turn
    sentence: str


@dataclass(frozen=True, slots=True)
class Part:
    """Turns of a session with their places in it, and what is known: see `graph.learning.from_model.prompt`.

    `user` is the user's name, `facts` are those that hold, and `taught` is what the session taught before.
    """

    turns: Sequence[tuple[int, Turn]]
    user: str = ""
    facts: Sequence[Memory] = ()
    taught: Sequence[Memory] = ()

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

    def source(self, item: Item) -> Source | None:
        """What an item quotes; None if nobody but the assistant said it, or if the item tells something else."""
        told = content(item.text)
        # Of what small models write beside a true quotation, most is about nothing that was said.
        if len(told & self.said) < LEAST_SHARED * len(told) or self.repeats_assistant(item.text):
            return None
        if len(words(item.words)) < LEAST_QUOTED or not content(item.words):
            return None
        for n, (place, turn) in enumerate(self.turns):
            sentence = next((each for each in split(turn.text) if contains(each, item.words)), item.words)
            is_told = told & content(f"{sentence} {self.confirmed(n)}")
            if turn.role != "assistant" and contains(turn.text, item.words) and is_told:
                return Source(place, turn, sentence)
        return None

    def meaning(self, text: str) -> frozenset[str]:
        """The terms of a text without the user's name and words of naming, and whether it denies something."""
        return content(text) - content(f"{self.user} user") - _NAMING | {DENIED if _DENIES.search(text) else HOLDS}

    def subject(self, text: str) -> str:
        """Whom a text is about; "user" for the user by any name."""
        name, owned = match.groups("") if (match := _SUBJECT.match(text.casefold().replace("’", "'"))) else ("", "")
        return ("user" if name in (YOU.casefold(), *self.user.casefold().split()) else name) + owned


def memories_of(item: Item, part: Part, learned: Sequence[LearnedMemory]) -> Iterator[LearnedMemory]:
    """What an item teaches beside what is known and `learned`; without a quotation if the bank is to refuse it."""
    source = part.source(item)
    fact = _known_fact(item, source, part) if source else None
    if source is None or not _states(source) or (item.action == "end" and fact is None):
        yield LearnedMemory(MemoryDraft(item.store, item.text), ())
        return
    quotes, closes = (Quote(source.place, item.words),), fact.id if fact else None
    if item.action != "end" and not _is_known(item, source, part, learned):
        yield LearnedMemory(_draft(item, source), quotes, closes=closes)
    elif fact is not None:
        ended = MemoryDraft(fact.store, fact.text, said_at=source.turn.said_at)
        yield LearnedMemory(ended, quotes, closes=closes, ends=True)


def _states(source: Source) -> bool:
    """Whether the words stand in a sentence that states something, and not as a joke."""
    return states(source.sentence) and not requests(source.sentence) and not _JOKES.search(source.turn.text)


def _known_fact(item: Item, source: Source, part: Part) -> Memory | None:
    """The known fact that an item changes or ends.

    None if its number is that of no fact, or of one about someone or something else, or that was only said again; or if
    the user retracted what the item says, so that the old fact holds.
    """
    if item.action == "add" or not 0 < item.known <= len(part.facts):
        return None
    fact = part.facts[item.known - 1]
    known, told = part.meaning(fact.text), part.meaning(item.text)
    retracted = (memory for memory in part.taught if memory.retracted_at and source.turn.id in memory.turn_ids)
    if told <= known if item.action == "update" else known <= part.meaning(source.sentence):
        return None
    if any(told <= part.meaning(memory.text) for memory in retracted):
        return None
    if fact.store == "relationship" and fact.relation:
        return fact if contains(item.text, fact.relation.tail) else None
    about = part.subject(fact.relation.head if fact.relation else fact.text)
    # "Ana's birthday is on 5 May" is about "Birthday: 4 May".
    owned = f"{about}'s {fact.text.split()[0].strip(':').casefold()}" if fact.relation else about
    is_same = part.subject(item.text) in (about, owned)
    return fact if is_same and told & known - {DENIED, HOLDS} else None


def _is_known(item: Item, source: Source, part: Part, learned: Sequence[LearnedMemory]) -> bool:
    """Whether a fact that holds says what an item says, or something that was learned from the same turn.

    What the user retracted counts, too: it must not come back in other words.
    """
    known: list[Memory | MemoryDraft] = [m for m in part.taught if source.turn.id in m.turn_ids]
    known += [m.memory for m in learned if source.place in [quote.turn for quote in m.quotes]]
    if item.store != "event":  # one goes swimming more than once
        known += [fact for fact in part.facts if fact.speaker == source.turn.speaker]
        known += [m.memory for m in learned if m.quotes and m.memory.store != "event"]
    told = part.meaning(item.text) - content(source.turn.speaker)
    return any(len(told - part.meaning(each.text)) <= _says_liking(each, item) for each in known)


def _says_liking(memory: Memory | MemoryDraft, item: Item) -> bool:
    """Whether an item may use one other word than a fact of the rules: "Ana adores boats" beside "Likes boats"."""
    relation = memory.relation
    return relation is not None and relation.name in ("likes", "dislikes") and contains(item.text, relation.tail)


def _draft(item: Item, source: Source) -> MemoryDraft:
    """The item with what code can tell of an event: when and where it happened and how that felt."""
    turn, sentence = source.turn, source.sentence
    draft = MemoryDraft(item.store, item.text.strip()[: 2 * MAX_TEXT], said_at=turn.said_at, speaker=turn.speaker)
    if item.store != "event":
        return draft
    draft = replace(draft, emotion=emotion(sentence), scene=scene(sentence))
    when = stated_time(item.words, turn.said_at) or stated_time(sentence, turn.said_at) if turn.said_at else None
    return replace(draft, event=when.span, event_text=when.text) if when else draft


def content(text: str) -> frozenset[str]:
    """The terms of a text without its function words."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in FUNCTION_WORDS)))
