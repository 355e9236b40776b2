"""Choose between what was told earlier and later of one thing: what holds now, or what held before it changed.

A network like the reader's looks at a later line with an earlier one before it, and says whether the later one tells
what became of what the earlier one told. Trained by `graph.training.reader`.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime

from graph.language.patterns import any_word
from graph.readers.line_reader import Line, LineReader
from graph.state import USER, Note

SUFFICIENT = 0.5
"""Probability from which a note answers the question; see the shift in `graph.training.reader_calibration`."""

_OF_PAST = any_word("did|was|were|had|used to|didn['’]?t|wasn['’]?t|weren['’]?t")
_OF_BEFORE = any_word("before|previously|originally|initially|formerly|at first|used to|supposed to")


def asks_of_past(text: str) -> bool:
    """Whether a question asks how it was, so that what replaced it does not answer."""
    return _OF_PAST.search(text) is not None


def answers(note: Note) -> bool:
    """Whether a note answers the question, of whom and when it asks."""
    return note.relevance >= SUFFICIENT and not (note.of_other or note.of_other_time)


def put_valid_first(question: str, asked_on: date, notes: Sequence[Note], reader: LineReader) -> tuple[Note, ...]:
    """The notes; first comes what replaced the best answer or, where that is asked for, what the best one replaced.

    What replaces an answer is one, too.
    """
    best = next((note for note in notes if answers(note) and note.memory.said_at is not None), None)
    of_before = _OF_BEFORE.search(question) is not None
    if best is None or (asks_of_past(question) and not of_before):
        return tuple(notes)
    dated = [note for note in notes if note.memory.said_at is not None]
    others = [note for note in dated if (_told(note) < _told(best) if of_before else _told(note) > _told(best))]
    if not others:
        return tuple(notes)
    pairs = [(note, best) if of_before else (best, note) for note in others]
    read = reader.read(question, asked_on, [_line(*pair) for pair in pairs])
    found, first = max(zip(read, others, strict=True), key=lambda pair: pair[0].answers)
    if found.answers < SUFFICIENT:
        return tuple(notes)
    raised = replace(first, relevance=max(first.relevance, best.relevance))
    return (raised, *(note for note in notes if note is not first))


def _line(earlier: Note, later: Note) -> Line:
    """A later note as a line, with the earlier one before it."""
    return Line(later.quote, USER if later.by_user else later.memory.speaker, _told(later).date(), earlier.quote)


def _told(note: Note) -> datetime:
    assert note.memory.said_at is not None
    return note.memory.said_at
