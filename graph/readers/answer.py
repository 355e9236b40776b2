"""From notes to an answer that quotes and cites, or to an abstention that says why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from graph.readers.question import Question
from graph.sentences import split
from graph.state import Citation, Note, Reading, Reason
from memory import lexical
from memory.timespan import TimeExpression, describe
from memory.types import Hit, TimeSpan

MAX_WORDS = 50
"""Words of an answer (PerLTQA asks for at most 50)."""

CARRIES = 0.49
"""Relevance from which a note is taken to carry the question; between the two errors, an answer that is not there does
more harm than an "I don't know"."""

OF_OTHER_CARRIES = 0.36
"""Relevance from which a note of somebody else, or of another time, is what was meant: it carries the question in all
but the person or the time."""

SEVERAL = 4
"""Notes quoted for a question that asks for a list; one where it does not."""

NEAR_BEST = 0.8
"""Share of the best note's relevance that a further note of a list must reach."""


ALSO = 0.9
"""Share of the best note's relevance from which a second one is quoted beside it: they can hardly be told apart."""


def compose(
    question: Question,
    notes: Sequence[Note],
    *,
    many: bool,
    window: Sequence[TimeExpression],
    known: TimeSpan | None,
    hits: Sequence[Hit],
) -> Reading:
    """Answer from the notes alone, or abstain.

    Args:
        question: What is asked.
        notes: The reader's notes, best first.
        many: Whether a list or a count is asked for.
        window: The times the question names.
        known: From the first to the last thing the persona was told.
        hits: What was found, for the scores of what is cited.
    """
    reason = _missing(question, notes, window, known)
    if reason is not None:
        return Reading(_why_not(question, notes, reason, known), tuple(notes), abstained=True, reason=reason)
    chosen = _chosen(question, notes, many or question.open)
    scores = {hit.memory.id: hit.scores for hit in hits}
    citations: list[Citation] = []
    lines: list[str] = []
    room = MAX_WORDS
    for note in chosen:
        line = _line(question, note, len(citations) + 1, room if not citations else min(room, MAX_WORDS // 2))
        words = len(line.split())
        if citations and words > room:
            break
        room -= words
        lines.append(line)
        citations.append(Citation(len(citations) + 1, note.memory, note.quote, scores.get(note.memory.id, {})))
    return Reading("\n".join(lines), tuple(notes), tuple(citations))


def _missing(
    question: Question,
    notes: Sequence[Note],
    window: Sequence[TimeExpression],
    known: TimeSpan | None,
) -> Reason | None:
    if window and known is not None and not any(w.span.meets(known) for w in window):
        return "outside the known time"
    if not notes:
        return "nothing found"
    best = notes[0]
    if not question.unheard and (best.of_other or best.of_other_time) and best.relevance >= OF_OTHER_CARRIES:
        return "premise contradicted"
    if question.unheard or question.vague or best.relevance < CARRIES:
        return "found but does not say"
    return None


def _why_not(question: Question, notes: Sequence[Note], reason: Reason, known: TimeSpan | None) -> str:
    if reason == "outside the known time" and known is not None:
        return f"what I remember runs from {describe_day(known.start)} to {describe_day(known.end)}."
    if reason == "nothing found":
        return "I remember nothing about that."
    if reason == "premise contradicted":
        best, quote = notes[0], clip(notes[0].quote, question, MAX_WORDS // 2)
        whose = f"{best.memory.speaker}'s" if best.of_other else f"of {_then(best)}"
        return f"what I remember of that is {whose}: “{quote}”"
    if question.unheard:
        return "I remember nothing about " + " or ".join(f"“{n}”" for n in question.unheard) + "."
    return "I remember things near it, but none of them says."


def _chosen(question: Question, notes: Sequence[Note], many: bool) -> list[Note]:
    best = notes[0]
    if not many and question.expects in ("time", "number", "duration"):
        return [best]  # two dates are no answer to "when"
    if not many:
        return [n for n in notes[:2] if n.relevance >= ALSO * best.relevance]
    near = [n for n in notes[1:] if n.relevance >= max(CARRIES, NEAR_BEST * best.relevance)]
    return [best, *near][:SEVERAL]


def _line(question: Question, note: Note, number: int, room: int) -> str:
    when = _when(note) if question.expects == "time" else ""
    teller, said = note.memory.speaker, describe_day(note.memory.said_at)
    if teller:
        frame = f"{when}{teller}, on {said}: " if said else f"{when}{teller}: "
    elif note.when:
        frame = when or f"{describe(note.when)}: "
    else:
        frame = f"As of {said}: " if said else ""
    room = max(8, room - len(frame.split()) - 1)
    return f"{frame}“{clip(_grown(note, room), question, room)}” [{number}]"


def _then(note: Note) -> str:
    return describe(note.when) if note.when is not None else describe_day(note.memory.said_at)


def _when(note: Note) -> str:
    if note.when is not None:
        return f"{describe(note.when)}. "
    return f"Perhaps {describe(note.perhaps)}. " if note.perhaps is not None else ""


def _grown(note: Note, room: int) -> str:
    """The passage with the sentences after and before it in its memory, as far as they fit whole."""
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


def describe_day(moment: datetime | None) -> str:
    """The day of a moment, for people; empty for none."""
    return f"{moment.day} {moment:%B %Y}" if moment else ""


def clip(quote: str, question: Question, room: int) -> str:
    """At most `room` words of a quote, from where it says most of what was asked; cuts are marked."""
    words = quote.split()
    if len(words) <= room:
        return quote
    asked = question.weights
    worth = [max((asked.get(t, 0.0) for t in lexical.terms(w)), default=0.0) for w in words]
    best = max(range(len(words) - room + 1), key=lambda i: (sum(worth[i : i + room]), -i))
    cut = " ".join(words[best : best + room])
    return f"{'…' if best else ''}{cut}{'…' if best + room < len(words) else ''}"
