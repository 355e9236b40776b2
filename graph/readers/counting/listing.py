"""Answer questions for several things with the distinct ones that the notes name, in order of time.

An item is the words of a line that answer. Lines that say the same are one item with all their citations.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from graph.language.patterns import phrasings
from graph.readers.composing import enumerate_notes, is_same_claim
from graph.readers.stating import clip
from graph.readers.updates import answers
from graph.replies.second_person import second_person
from graph.state import SUFFICIENT, Note, Reading
from graph.understanding.question import Question
from graph.understanding.sentences import capitalise
from graph.understanding.times import moment_of

LISTED = 6
"""Most items of a list."""

ITEM_WORDS = 12
"""Most words of an item."""

LEAST_SURE = 0.5
"""Probability of the answering words from which they are the item, and not their sentence."""

_ANSWERS = phrasings("answers")

LATEST = datetime.max.replace(tzinfo=UTC)


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
    """Whether the best of notes names a number of things."""
    numbers = _ANSWERS["number"].search(_ANSWERS["duration"].sub("", notes[0].words)) if notes else None
    return numbers is not None and answers(notes[0])


def compose(question: Question, notes: Sequence[Note], *, counted: bool = False) -> Reading | None:
    """The list, in order of time, after its length if they are `counted`; None if fewer than two things answer."""
    items: list[list[Note]] = []
    # A fact is worded by whoever learned it, and clearer than the line that told it.
    for note in sorted(facts_alike(notes) or filter(answers, notes), key=lambda note: note.memory.relation is None):
        twin = next((group for group in items if _tell_the_same(note, group[0])), None)
        if twin is not None:
            twin.append(note)
        else:
            items.append([note])
    if len(items) < 2:
        return None
    listed = sorted(items[:LISTED], key=lambda group: moment_of(group[0].memory) or LATEST)
    reading = enumerate_notes([(_words(group[0], question), group) for group in listed], notes)
    return replace(
        reading, answer=f"I know of {len(listed)}: {reading.answer}" if counted else capitalise(reading.answer)
    )


def _tell_the_same(note: Note, other: Note) -> bool:
    fact, other_fact = note.memory.relation, other.memory.relation
    return fact.tail == other_fact.tail if fact and other_fact else is_same_claim(note, other)


def _words(note: Note, question: Question) -> str:
    if note.memory.relation is not None:
        return note.memory.relation.tail
    words = clip(note.words if note.sure >= LEAST_SURE else note.quote, question, ITEM_WORDS).strip(" .,;:!")
    return (second_person(words) if note.by_user else "") or words
