"""Check the items of a chat model's reply against the turns that it read, and make memories of them.

The model decides what is worth remembering; an item is refused if the user did not say it, and dropped if it is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from pydantic import Field

from graph.learning.feelings import emotion, scene
from graph.models.json_replies import StrictReply
from graph.understanding import acts
from graph.understanding.sentences import split
from graph.understanding.times import stated_time
from memory.search.quotes import contains
from memory.search.tokens import FUNCTION_WORDS, terms, words
from memory.types import LearnedMemory, Memory, MemoryDraft, Quote, Turn

MAX_WORDS, MAX_TEXT = 160, 160
"""Most characters of an item's quotation and sentence, in the schema alone: beyond it they are cut, not refused."""

LEAST_QUOTED, LEAST_SHARED = 2, 1 / 3
"""Fewest words of a quotation ("I" was said in every turn), and least share of an item's terms that were said, too."""


class Item(StrictReply):
    """One thing to remember, or the number of a known fact that it changes or ends."""

    words: Annotated[str, Field(json_schema_extra={"maxLength": MAX_WORDS})]
    action: Literal["add", "update", "end"]
    known: int
    store: Literal["profile", "relationship", "world", "event"]
    text: Annotated[str, Field(json_schema_extra={"maxLength": MAX_TEXT})]


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Turns of a session with their places in it, the user's name, the facts that hold, and what the session taught."""

    turns: Sequence[tuple[int, Turn]]
    user: str = ""
    facts: Sequence[Memory] = ()
    taught: Sequence[Memory] = ()

    def changed(self, item: Item) -> Memory | None:
        """The known fact whose number an item names."""
        return self.facts[item.known - 1] if item.action != "add" and 0 < item.known <= len(self.facts) else None

    def supports(self, text: str, known: str = "") -> bool:
        """Whether a third of a text's terms were said by others than the assistant; the user's name counts as said.

        So do the words of the `known` fact that it changes.
        """
        own = (f"{turn.speaker} {turn.text}" for _, turn in self.turns if turn.role != "assistant")
        told, said = content(text), content(" ".join(["user", self.user, known, *own]))
        return len(told & said) >= LEAST_SHARED * len(told)

    def source(self, item: Item) -> tuple[Quote, Turn, str] | None:
        """What an item quotes, with its turn and sentence; None if the user did not say what the item tells."""
        fact = self.changed(item)
        is_said = self.supports(item.text, fact.text if fact else "")
        if len(words(item.words)) < LEAST_QUOTED or not content(item.words) or not is_said:
            return None
        for place, turn in self.turns:
            sentence = next((each for each in split(turn.text) if contains(each, item.words)), item.words)
            if turn.role != "assistant" and contains(turn.text, item.words) and content(item.text) & content(sentence):
                return Quote(place, item.words), turn, sentence
        return None


def memories_of(item: Item, part: Excerpt, learned: Sequence[LearnedMemory]) -> list[LearnedMemory]:
    """What an item teaches beside what is known and `learned`; without a quotation if the bank is to refuse it."""
    source = part.source(item)
    if source is None or acts.said(source[2]).only_asks:
        return [LearnedMemory(MemoryDraft(item.store, item.text), ())]
    quote, turn, sentence = source
    names = content(f"user {part.user} {turn.speaker}")
    told, spoken = content(item.text) - names, content(sentence) - names
    fact = part.changed(item)
    fact = fact if fact and (told | spoken) & content(fact.text) else None
    if item.action == "end":
        ended = MemoryDraft(item.store, item.text, said_at=turn.said_at)
        return [LearnedMemory(ended, (quote,), closes=fact.id, ends=True)] if fact else []
    known: list[Memory | MemoryDraft] = [each for each in part.taught if turn.id in each.turn_ids]
    known += [each.memory for each in learned if each.quotes]
    # One goes swimming more than once; and what changes a fact may say the same of it but for a "not".
    known += [each for each in part.facts if each is not fact] if item.store != "event" else ()
    if any(each.speaker == turn.speaker and told <= content(each.text) for each in known):
        return []
    return [LearnedMemory(_draft(item, turn, sentence), (quote,), closes=fact.id if fact else None)]


def _draft(item: Item, turn: Turn, sentence: str) -> MemoryDraft:
    """The item with what code can tell of an event: when and where it happened and how that felt."""
    draft = MemoryDraft(item.store, item.text.strip()[: 2 * MAX_TEXT], said_at=turn.said_at, speaker=turn.speaker)
    if item.store != "event":
        return draft
    draft = replace(draft, emotion=emotion(sentence), scene=scene(sentence))
    when = stated_time(item.words, turn.said_at) or stated_time(sentence, turn.said_at) if turn.said_at else None
    return replace(draft, event=when.span, event_text=when.text) if when else draft


def content(text: str) -> frozenset[str]:
    """The terms of a text without its function words."""
    return frozenset(terms(" ".join(word for word in words(text) if word not in FUNCTION_WORDS)))
