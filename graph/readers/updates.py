"""Choose between what was told earlier and later of one thing: what holds now, or what held before it changed."""

from collections.abc import Sequence
from datetime import datetime

from graph.language.patterns import phrasings
from graph.readers.notes import tells_of_kin
from graph.state import SUFFICIENT, Note
from graph.understanding.question import ASKING, Question
from memory.search.tokens import terms

NAMING_OLD = 0.2
"""Probability from which a note holds that says what became of the old value ("moved from 4 May to 1 June")."""

_FORMS = phrasings("updates")


def asks_of_past(text: str) -> bool:
    """Whether a question asks how it was, so that what replaced it does not answer."""
    return _FORMS["past"].search(text) is not None


def answers(note: Note) -> bool:
    """Whether a note answers the question, of whom it asks."""
    return note.relevance >= SUFFICIENT and not note.of_other


def says_change(note: Note) -> bool:
    """Whether a note says that something is not as it was."""
    return _FORMS["changes"].search(note.quote) is not None


def current_note(question: Question, notes: Sequence[Note]) -> Note:
    """The note that holds at the time a question asks about: the best of notes, or what was told later or before it.

    A later note holds if it says that something changed, or if the question asks for what is so now; each must be
    about the same as the best.
    """
    text = question.text
    best = next(note for note in notes if answers(note))
    dated = [note for note in notes if note.memory.said_at is not None and best.memory.said_at is not None]
    if _FORMS["before"].search(text):
        earlier = [note for note in dated if answers(note) and _told(note) < _told(best) and _shared_terms(note, best)]
        return earlier[0] if earlier and says_change(best) else best
    if asks_of_past(text):
        return best
    later = [note for note in dated if _told(note) > _told(best) and _replaces(note, best, question)]
    return max(later, key=_told, default=best)


def _replaces(note: Note, best: Note, question: Question) -> bool:
    """Whether a later note tells what became of what the best tells."""
    old = frozenset(terms(best.words))
    if says_change(note) and old and old <= frozenset(terms(note.quote)) and note.relevance >= NAMING_OLD:
        return True
    if note.relevance < SUFFICIENT or note.of_other or tells_of_kin(note.quote) != tells_of_kin(best.quote):
        return False
    if says_change(note):
        return bool(_shared_terms(note, best)) or _FORMS["thing"].search(note.quote) is not None
    return _FORMS["now"].search(question.text) is not None and not _shared_terms(note, best).isdisjoint(
        question.weights
    )


def _shared_terms(note: Note, other: Note) -> frozenset[str]:
    """The words that name something in two notes."""
    return (frozenset(terms(note.quote)) & frozenset(terms(other.quote))) - ASKING


def _told(note: Note) -> datetime:
    assert note.memory.said_at is not None
    return note.memory.said_at
