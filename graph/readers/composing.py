"""Compose an answer that quotes and cites notes, or an abstention that says why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from itertools import islice
from typing import TYPE_CHECKING

from graph.readers.facts import state_fact
from graph.readers.intervals import Comparison, ago, compare_days
from graph.state import USER, Citation, Note, Reading, Reason
from graph.understanding.sentences import capitalise, split
from graph.understanding.times import day_happened, describe_day
from memory.dates.expressions import TimeExpression, describe_span
from memory.search.tokens import terms
from memory.types import SEMANTIC, Hit, TimeSpan

if TYPE_CHECKING:
    from graph.understanding.question import Question

Quoted = tuple[Note, str, str]
"""A note, the words before its quote, and the quote."""

MAX_WORDS = 50
"""Most words of an answer (PerLTQA asks for at most 50)."""

SUFFICIENT = 0.45
"""Relevance from which a note answers the question; set on our own benchmark for the best F1 of abstaining."""

OF_OTHER_SUFFICIENT = 0.36
"""Relevance from which a note about somebody else, or another time, contradicts the question's premise: it would answer
it but for the person or the time."""

MIN_SIMILARITY = 0.25
"""Cosine of a memory and the question from which it is shown where no note is sufficient."""

MAX_NEAREST = 3
"""Most notes that are shown there."""

MAX_QUOTES = 4
"""Most notes that are quoted."""

NEAR, NEAR_EXACT = 0.6, 0.7
"""Share of the best note's relevance that a further note must reach; the second where a time or a number is asked for,
because two different ones are seldom both right."""

FURTHER_WORDS = 25
"""Most words of a further note's quote."""

LEAST_WORDS = 8
"""Fewest words to which a further note's quote may be cut."""


def compose(
    question: Question,
    notes: Sequence[Note],
    *,
    window: Sequence[TimeExpression],
    known: TimeSpan | None,
    hits: Sequence[Hit],
    asked_at: datetime,
) -> Reading:
    """Answer from the notes (best first) alone, or abstain.

    `window` are the times the question names, `known` is the time from the persona's first memory to its last, and the
    hits give the citations their scores.
    """
    reason = why_unanswered(question, notes, window, known)
    if reason is not None:
        nearest = _nearest(question, notes, hits) if reason == "found but does not say" else []
        reading = _citing(nearest, notes, hits) if nearest else Reading(_why_not(question, notes, reason, known))
        return replace(reading, notes=tuple(notes), abstained=True, reason=reason)
    share = NEAR_EXACT if question.expects in ("time", "ago", "number", "duration") else NEAR
    return _citing(_quoted(question, notes_near_best(notes, share)[:MAX_QUOTES], asked_at), notes, hits)


def _nearest(question: Question, notes: Sequence[Note], hits: Sequence[Hit]) -> list[Quoted]:
    """The few notes nearest in meaning, to show where none is surely the answer.

    None if it asks about someone who is not remembered.
    """
    if question.unknown_names or question.vague:
        return []
    meaning = {hit.memory.id: hit.scores.get("dense", 0.0) for hit in hits}
    ranked = sorted(notes, key=lambda note: -meaning.get(note.memory.id, 0.0))
    near = [note for note in ranked if meaning.get(note.memory.id, 0.0) >= MIN_SIMILARITY]
    # A fact and the turn that states it say the same.
    distinct: dict[object, Note] = {}
    for note in near:
        distinct.setdefault(note.memory.turn_ids or note.memory.id, note)
    return [
        (note, _frame(note, "", dated=True), clip(note.quote, question, FURTHER_WORDS))
        for note in islice(distinct.values(), MAX_NEAREST)
    ]


def compare(
    compared: Comparison, sides: Sequence[tuple[Question, Sequence[Note]]], hits: Sequence[Hit], zone: tzinfo | None
) -> Reading | None:
    """Answer a question about two things and the time between them; None if one of them is not remembered.

    `sides` are, for each thing, the question about it and the reader's notes, best first; days are those of `zone`.
    """
    if any(why_unanswered(question, notes) for question, notes in sides):
        return None
    best = [notes[0] for _, notes in sides]
    days = [day for note in best if (day := day_happened(note.memory, note.occurrence, zone)) is not None]
    if len(set(days)) < 2:  # told on one day, which need not be the day that either happened
        return None
    statement = compare_days(compared, days)
    room = (MAX_WORDS - len(statement.split())) // 2
    quoted: list[Quoted] = []
    for note, (question, _) in zip(best, sides, strict=True):
        frame = _frame(note, "", dated=True)
        quoted.append((note, frame, clip(note.quote, question, max(room - len(frame.split()) - 1, LEAST_WORDS))))
    return _citing(quoted, best, hits, statement)


def _citing(quoted: Sequence[Quoted], notes: Sequence[Note], hits: Sequence[Hit], first: str = "") -> Reading:
    """The reading of `first`, if any, and one line for each quote with its number."""
    lines = [
        f"{frame}“{quote}” [{number}]" if quote else f"{frame} [{number}]"
        for number, (_, frame, quote) in enumerate(quoted, start=1)
    ]
    citations = cited([note for note, _, _ in quoted], hits)
    return Reading("\n".join(filter(None, [first, *lines])), tuple(notes), citations)


def cited(notes: Sequence[Note], hits: Sequence[Hit]) -> tuple[Citation, ...]:
    """The citations of notes, numbered from 1, with the scores of their hits."""
    scores = {hit.memory.id: hit.scores for hit in hits}
    return tuple(
        Citation(n, note.memory, note.quote, scores.get(note.memory.id, {})) for n, note in enumerate(notes, 1)
    )


def why_unanswered(
    question: Question, notes: Sequence[Note], window: Sequence[TimeExpression] = (), known: TimeSpan | None = None
) -> Reason | None:
    """Why notes, best first, do not answer a question; None if they do. The arguments are as for `compose`."""
    if window and known is not None and not any(w.span.overlaps(known) for w in window):
        return "outside the known time"
    if not notes:
        return "nothing found"
    best = notes[0]
    if not question.unknown_names and (best.of_other or best.of_other_time) and best.relevance >= OF_OTHER_SUFFICIENT:
        return "premise contradicted"
    if question.unknown_names or question.vague or best.relevance < SUFFICIENT:
        return "found but does not say"
    return None


def _why_not(question: Question, notes: Sequence[Note], reason: Reason, known: TimeSpan | None) -> str:
    if reason == "outside the known time" and known is not None:
        return f"my memories run from {describe_day(known.start)} to {describe_day(known.end)}."
    if reason == "nothing found":
        return "I remember nothing about that."
    if reason == "premise contradicted":
        best, quote = notes[0], clip(notes[0].quote, question, MAX_WORDS // 2)
        speaker = "you" if best.memory.speaker == USER else best.memory.speaker
        when = describe_span(best.when) if best.when is not None else describe_day(best.memory.said_at)
        origin = f"was said by {speaker}" if best.of_other else f"is from {when}"
        return f"the closest thing I remember {origin}: “{quote}”"
    if question.unknown_names:
        return "I remember nothing about " + " or ".join(f"“{n}”" for n in question.unknown_names) + "."
    return "I remember something related, but not the answer."


def notes_near_best(notes: Sequence[Note], share: float) -> list[Note]:
    """The best note and those within a share of its relevance that are of the same person and the same time.

    A current fact is followed by facts only: dialogue may be from before it held.
    """
    best = notes[0]
    further = [
        note
        for note in notes[1:]
        if note.relevance >= share * best.relevance
        and not (note.of_other or note.of_other_time)
        and (best.memory.store not in SEMANTIC or note.memory.store in SEMANTIC)
    ]
    return [best, *further]


def _quoted(question: Question, notes: Sequence[Note], asked_at: datetime) -> list[Quoted]:
    """Notes with the words before each quote and the quote, `MAX_WORDS` words together.

    The passages come first; the remaining room goes to the sentences around them, starting with the best note.
    """
    room = MAX_WORDS
    quoted: list[Quoted] = []
    for note in notes:
        timed = question.expects in ("time", "ago") or question.open
        fact = "" if timed else state_fact(note.memory)
        if fact:
            quoted.append((note, fact, ""))
            continue
        frame = _frame(note, _when(question, note, asked_at), dated=timed or not quoted)
        left = room - len(frame.split()) - 1  # its number
        if quoted and left < LEAST_WORDS:
            break
        quote = clip(note.quote, question, min(left, FURTHER_WORDS) if quoted else max(left, LEAST_WORDS))
        quoted.append((note, frame, quote))
        room = left - len(quote.split())
    extended = with_surroundings([(note, quote) for note, _, quote in quoted], room)
    return [(note, frame, quote) for (note, frame, _), quote in zip(quoted, extended, strict=True)]


def _frame(note: Note, when: str, *, dated: bool) -> str:
    """The speaker and, if `dated`, the day; `when` it happened comes first."""
    speaker, day = note.memory.speaker, describe_day(note.memory.said_at)
    if speaker:
        return f"{when}{speaker}, on {day}: " if day and dated else f"{when}{speaker}: "
    if note.when:
        return when or f"{capitalise(describe_span(note.when))}: "
    return f"As of {day}: " if day else ""


def _when(question: Question, note: Note, asked_at: datetime) -> str:
    """When it happened, or how long ago, if that is asked for."""
    if question.expects == "ago":
        day = day_happened(note.memory, note.occurrence, asked_at.tzinfo)
        return f"{ago(day, asked_at.date())}. " if day is not None else ""
    if question.expects != "time" or note.occurrence is None:
        return ""
    when = describe_span(note.occurrence.span)
    return f"{capitalise(when)}. " if note.occurrence.sure else f"Perhaps {when}. "


def with_surroundings(quoted: Iterable[tuple[Note, str]], room: int) -> Iterator[str]:
    """The quotes, each whole passage with as many of the sentences around it as fit; `room` is in words."""
    for note, quote in quoted:
        words = len(quote.split())
        extended = _with_sentences_around(note, words + room) if quote == note.quote else quote
        room -= len(extended.split()) - words
        yield extended


def _with_sentences_around(note: Note, room: int) -> str:
    sentences = split(note.memory.text)
    if note.quote not in sentences:
        return note.quote
    first = last = sentences.index(note.quote)
    words = len(note.quote.split())
    while True:
        after = len(sentences[last + 1].split()) if last + 1 < len(sentences) else room
        before = len(sentences[first - 1].split()) if first else room
        if words + after <= room:
            last, words = last + 1, words + after
        elif words + before <= room:
            first, words = first - 1, words + before
        else:
            return " ".join(sentences[first : last + 1])


def clip(quote: str, question: Question, room: int) -> str:
    """The `room` words of a quote that contain most of the question's terms; cuts are marked."""
    words = quote.split()
    if len(words) <= room:
        return quote
    asked = question.weights
    worth = [max((asked.get(t, 0.0) for t in terms(w)), default=0.0) for w in words]
    best = max(range(len(words) - room + 1), key=lambda i: (sum(worth[i : i + room]), -i))
    cut = " ".join(words[best : best + room])
    return f"{'…' if best else ''}{cut}{'…' if best + room < len(words) else ''}"
