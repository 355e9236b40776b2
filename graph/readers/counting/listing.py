"""Answer questions for a list or a count with the distinct things that the notes name, in order of time.

An item is the words of a line that answer. Lines that say the same are one item with all their citations. A count is
the number of items that were found, which may be fewer than there were.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Literal

from graph.language.patterns import SLOTS, phrasings
from graph.readers.composing import enumerate_notes, is_same_claim
from graph.readers.stating import SURE, clip
from graph.readers.updates import answers
from graph.replies.second_person import second_person
from graph.state import SUFFICIENT, Note, Reading
from graph.understanding.question import Question
from graph.understanding.sentences import capitalise
from graph.understanding.times import moment_of

LONGEST = 400
"""Most characters of a question that is parsed; a pasted page does not ask for a list."""

LISTED = 6
"""Most items of a list or a count."""

ITEM_WORDS = 12
"""Most words of an item."""

LEAST_SURE = 0.5
"""Probability of the answering words from which they are the item, and not their sentence."""

_ANSWERS = phrasings("answers")
EARLIEST = datetime.min.replace(tzinfo=UTC)

_WORD = re.compile(r"[^\W_]+(?:['’/-][^\W_]+)*")
_VERBS = frozenset(SLOTS["AUXILIARY"].split("|")) | {"may", "might"}
_AFTER = _VERBS | frozenset("of in on at to from for with by about that which who there".split())
_NO_NOUNS = _AFTER | frozenset("i my the he she his her they their we our you your it its and or".split())
_TIMES = frozenset("days weeks months years hours minutes seconds seasons dates".split())
"""Nouns of time: "which days", "how many weeks" ask for a time, not for a list."""

_PAIR = re.compile(r"\w,? (?:and|n|&) \w")
"""Words that name two things."""

Listed = Literal["list", "count"]

_NO_PLURALS = ("ss", "us", "is", "'s", "’s")


def parse(text: str, *, many: bool = False) -> Listed | None:
    """Whether a question asks for a list or a count; None if it asks for one thing, or an amount.

    With `many`, it is likely to ask for several things where its words do not decide.
    """
    if len(text) > LONGEST:
        return None
    words = [word.lower() for word in _WORD.findall(text)]
    for place, (word, following) in enumerate(pairwise(words)):
        if word == "how" and following == "many":
            noun, _ = _noun(words[place + 2 :])
            # "How many days a week", "how many weeks until the wedding"
            return None if {noun, *words[place + 2 : place + 3]} & _TIMES else "count"
        if word in ("what", "which", "who") and following in ("are", "were"):
            return "list"
        if word in ("what", "which"):
            noun, rest = _noun(words[place + 1 :])
            is_plural = len(noun) > 3 and noun.endswith("s") and not noun.endswith(_NO_PLURALS)
            # "Which firm pays my wages?", "What bus goes to the harbour?": without a further verb it was no noun.
            if is_plural and noun not in _TIMES and _AFTER.issuperset(rest[:1]) and not _VERBS.isdisjoint(rest):
                return "list"
    return "list" if words[:1] == ["list"] or (many and "how" not in words) else None


def facts_alike(notes: Sequence[Note]) -> list[Note]:
    """The facts of the kind that the best of notes is or tells, if several hold ("allergic to nuts", "to cats")."""
    # A line tells the facts that were learned from its turn.
    told = [n for n in notes[1:] if n.memory.turn_ids and n.memory.turn_ids == notes[0].memory.turn_ids]
    best = next((note for note in (*notes[:1], *told) if note.memory.relation is not None), None)
    relation = best.memory.relation if best is not None else None
    if best is None or relation is None or best.memory.valid_to is not None or not answers(best):
        return []
    alike = [
        note
        for note in notes
        if (other := note.memory.relation) is not None
        and (other.head, other.name) == (relation.head, relation.name)
        and note.memory.valid_to is None
        and note.relevance >= SUFFICIENT / 2  # the best of its kind answers, so less evidence will do
    ]
    tells_all = all(note.words in notes[0].words for note in alike)
    return [] if tells_all or len(alike) == 1 else sorted(alike, key=lambda note: note.memory.id)


def tells_number(notes: Sequence[Note]) -> bool:
    """Whether the best of notes names the number that a count asks for."""
    numbers = _ANSWERS["number"].search(_ANSWERS["duration"].sub("", notes[0].words)) if notes else None
    return numbers is not None and answers(notes[0])


def compose(listed: Listed, question: Question, notes: Sequence[Note]) -> Reading | None:
    """The list or the count, in order of time; None if fewer than two things answer."""
    answering = facts_alike(notes) or [note for note in notes if answers(note)]
    if not answering:
        return None
    is_count = listed == "count"
    items = _items(answering, counted=is_count)[:LISTED]
    if len(items) < 2:
        return None
    items.sort(key=lambda group: (moment_of(group[0].memory) is None, moment_of(group[0].memory) or EARLIEST))
    reading = enumerate_notes([(_words(group[0], question), group) for group in items], notes)
    text = f"I know of {len(items)}: {reading.answer}" if is_count else capitalise(reading.answer)
    return replace(reading, answer=text)


def _items(answering: Sequence[Note], *, counted: bool) -> list[list[Note]]:
    """The notes grouped by what they say.

    The facts of a line that names two things join the line, where they need not be counted; there, it joins the first.
    """

    def place(note: Note) -> tuple[bool, bool]:
        is_pair = not counted and note.sure >= SURE and _PAIR.search(note.words) is not None
        return not is_pair, note.memory.relation is None

    items: list[list[Note]] = []
    for note in sorted(answering, key=place):
        twin = next((group for group in items if _tell_the_same(note, group[0])), None)
        if twin is not None:
            twin.append(note)
        else:
            items.append([note])
    return items


def _tell_the_same(note: Note, other: Note) -> bool:
    fact, other_fact = note.memory.relation, other.memory.relation
    return fact.tail == other_fact.tail if fact and other_fact else is_same_claim(note, other)


def _words(note: Note, question: Question) -> str:
    if note.memory.relation is not None:
        return note.memory.relation.tail
    words = clip(note.words if note.sure >= LEAST_SURE else note.quote, question, ITEM_WORDS).strip(" .,;:!")
    return (second_person(words) if note.by_user else "") or words


def _noun(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The last word before a verb, a preposition or a pronoun, and what comes from that one on."""
    for place, word in enumerate(words):
        if word in _NO_NOUNS:
            return words[place - 1] if place else "", words[place:]
    return words[-1] if words else "", ()
