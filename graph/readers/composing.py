"""Compose an answer that quotes and cites notes, or an abstention that says why."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice

from graph.readers.counting.intervals import Comparison, compare_days
from graph.readers.stating import FURTHER_WORDS, MAX_WORDS, SURE, answers, clip, current_note, frame_of, state
from graph.replies.facts import fact_to_user, state_fact
from graph.state import SUFFICIENT, Citation, Note, Reading, Reason
from graph.understanding.parts import tells
from graph.understanding.question import Question
from graph.understanding.times import day_happened
from memory.dates.expressions import TimeExpression
from memory.formatting import format_day
from memory.search.tokens import terms
from memory.types import SEMANTIC, TimeSpan

Quoted = tuple[Note, str, str]
"""A note, the words before its quote, and the quote."""

MIN_SIMILARITY, SHOWN = 0.25, 0.15
"""Cosine of a memory and the question, or else a note's probability, from which it is shown where none is sufficient.

Of the refused questions of chats held out that have an answer, .95 of the best notes are that likely."""

MAX_NEAREST = 3
"""Most notes that are shown there."""

NEAR = 0.8
"""Share of the best note's probability from which a further note is told beside it."""

LEAST_WORDS = 8
"""Fewest words to which a further note's quote may be cut."""


def compose(
    question: Question,
    notes: Sequence[Note],
    *,
    window: Sequence[TimeExpression],
    known: TimeSpan | None,
    asked_at: datetime,
) -> Reading:
    """Answer from the notes (best first) alone, or abstain.

    `window` are the times the question names, and `known` is the time from the persona's first memory to its last.
    """
    reason = why_unanswered(question, notes, window, known)
    if reason is not None:
        nearest = _nearest_lines(question, notes, asked_at) if reason == "found but does not say" else []
        reading = _quoting(nearest, notes) if nearest else Reading(_why_not(question, notes, reason, known))
        return replace(reading, notes=tuple(notes), abstained=True, reason=reason)
    if question.only_time:
        return quote_all(question, notes, asked_at)
    return _quoting(_statements(question, notes, asked_at), notes)


def quote_all(question: Question, notes: Sequence[Note], asked_at: datetime) -> Reading:
    """Each note as a line, as many as `MAX_WORDS` allow, the further ones cut."""
    room, kept = MAX_WORDS, list[Quoted]()
    for note in notes:
        frame = frame_of(note, asked_at)
        left = room - len(frame.split()) - 1  # its number
        if kept and left < LEAST_WORDS:
            break
        cut = clip(note, question, min(left, FURTHER_WORDS) if kept else max(left, LEAST_WORDS))
        kept.append((note, frame, cut))
        room = left - len(cut.split())
    return _quoting(kept, notes)


def _statements(question: Question, notes: Sequence[Note], asked_at: datetime) -> list[Quoted]:
    """The best answer in a sentence, and beside it, of what others said, the next."""
    best = current_note(question, notes)
    stated = [(best, state(question, best, asked_at), "")]
    if question.expects in ("yes or no", "time", "ago") or best.by_user or best.by_persona:
        return stated
    alike = (n for n in notes if answers(n) and n.sure >= SURE and n.relevance >= NEAR * best.relevance)
    other = next((note for note in alike if not is_same_claim(note, best)), None)
    return [*stated, _quote(other, question, asked_at)] if other else stated


def _quote(note: Note, question: Question, asked_at: datetime) -> Quoted:
    return note, frame_of(note, asked_at), clip(note, question, FURTHER_WORDS)


def is_same_claim(note: Note, other: Note) -> bool:
    """Whether two notes are of one turn, or say the same."""
    own, others = frozenset(terms(note.words)), frozenset(terms(other.words))
    if note.memory.turn_ids and note.memory.turn_ids == other.memory.turn_ids:
        return True
    return bool(own and others) and (own <= others or others <= own)


def _nearest_lines(question: Question, notes: Sequence[Note], asked_at: datetime) -> list[Quoted]:
    """The few notes that are most likely, to show where none is surely the answer.

    None if it asks about someone who is not remembered; what only asks tells nothing.
    """
    if question.unknown_names:
        return []
    # A fact and the turn that states it say the same.
    distinct: dict[object, Note] = {}
    for note in notes:
        is_told = note.memory.store in SEMANTIC or tells(note.quote)
        is_near = note.relevance >= SHOWN or note.scores.get("dense", 0.0) >= MIN_SIMILARITY
        if is_told and is_near:
            distinct.setdefault(note.memory.turn_ids or note.memory.id, note)
    return [_as_line(note, question, asked_at) for note in islice(distinct.values(), MAX_NEAREST)]


def _as_line(note: Note, question: Question, asked_at: datetime) -> Quoted:
    """A note as a line of its own: what was said is quoted, a fact learned from it is not."""
    if note.memory.relation is not None:
        of_user = note.by_user and note.memory.valid_to is None
        fact = state_fact(note.memory, asked_at) or (fact_to_user(note.memory) if of_user else "")
        return note, fact or f"As far as I know, {note.memory.text.rstrip('.')}.", ""
    return _quote(note, question, asked_at)


def compare(
    compared: Comparison, sides: Sequence[tuple[Question, Sequence[Note]]], asked_at: datetime
) -> Reading | None:
    """Answer a question about two things and the time between them; None if one of them is not remembered.

    `sides` are, for each thing, the question about it and the reader's notes, best first; days are those of the zone
    of `asked_at`.
    """
    if any(why_unanswered(question, notes) for question, notes in sides):
        return None
    best = [notes[0] for _, notes in sides]
    days = [day for note in best if (day := day_happened(note.memory, note.occurrence, asked_at.tzinfo)) is not None]
    if len(set(days)) < 2:  # told on one day, which need not be the day that either happened
        return None
    statement = compare_days(compared, days)
    room = (MAX_WORDS - len(statement.split())) // 2
    quoted: list[Quoted] = []
    for note, (question, _) in zip(best, sides, strict=True):
        frame = frame_of(note, asked_at)
        quoted.append((note, frame, clip(note, question, max(room - len(frame.split()) - 1, LEAST_WORDS))))
    return _quoting(quoted, best, statement)


def derive(statement: str, question: Question, note: Note, asked_at: datetime) -> Reading:
    """A statement that was counted from a note, and the note below it."""
    return _quoting([_quote(note, question, asked_at)], [note], statement)


def _quoting(quoted: Sequence[Quoted], notes: Sequence[Note], first: str = "") -> Reading:
    """The reading of `first`, if any, and one line for each quote with its number."""
    lines = [
        f"{frame}“{quote}” [{number}]" if quote else f"{frame} [{number}]"
        for number, (_, frame, quote) in enumerate(quoted, start=1)
    ]
    citations = citations_of([note for note, _, _ in quoted])
    return Reading("\n".join(filter(None, [first, *lines])), tuple(notes), citations)


def citations_of(notes: Sequence[Note]) -> tuple[Citation, ...]:
    """The citations of notes, numbered from 1, with their scores."""
    return tuple(Citation(n, note.memory, note.quote, note.scores) for n, note in enumerate(notes, 1))


def why_unanswered(
    question: Question, notes: Sequence[Note], window: Sequence[TimeExpression] = (), known: TimeSpan | None = None
) -> Reason | None:
    """Why notes, best first, do not answer a question; None if they do. The arguments are as for `compose`."""
    if window and known is not None and not any(w.span.overlaps(known) for w in window):
        return "outside the known time"
    if not notes:
        return "nothing found"
    if question.only_time or answers(notes[0]):
        return None
    if any(note.of_other and note.relevance >= SUFFICIENT for note in notes):
        return "premise contradicted"
    return "found but does not say"


def _why_not(question: Question, notes: Sequence[Note], reason: Reason, known: TimeSpan | None) -> str:
    if reason == "outside the known time" and known is not None:
        return f"My memories run from {format_day(known.start)} to {format_day(known.end)}."
    if reason == "premise contradicted":
        best = max((note for note in notes if note.of_other), key=lambda note: note.relevance)
        quote = clip(best, question, MAX_WORDS // 2)
        origin = "is about someone else" if best.by_user else f"was said by {best.memory.speaker}"
        return f"The closest thing I remember {origin}: “{quote}”"
    if question.unknown_names:
        return "I remember nothing about " + " or ".join(f"“{n}”" for n in question.unknown_names) + "."
    return "I only know what I have been told, and nobody has told me about that."
