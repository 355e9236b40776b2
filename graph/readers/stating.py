"""Choose the note that holds, and say it as an answer: the value first, then who told it and when.

Of one thing something may have been told earlier and later: it is asked what holds now, or what held before it changed.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from graph.language.patterns import phrasings
from graph.readers.counting.intervals import ago
from graph.readers.notes import tells_of_kin
from graph.replies.facts import fact_of_user, state_fact, told_me
from graph.replies.second_person import second_person
from graph.state import SUFFICIENT, Note
from graph.understanding.question import ASKING, Question
from graph.understanding.sentences import as_sentence, capitalise
from graph.understanding.times import DAY, day_happened, when_happened
from memory.dates.expressions import describe_span
from memory.formatting import format_day
from memory.search.tokens import terms
from memory.types import TimeSpan

MAX_WORDS = 50
"""Most words of an answer (PerLTQA asks for at most 50)."""

SURE = 0.7
"""Probability of the answering words from which they are given alone, without their sentence."""

SURE_YES = 0.7
"""Probability from which yes or no is said without "I think". Of 591 such questions of chats held out, 413 are above it
and .83 of these right; of the others .60."""

FURTHER_WORDS = 25
"""Most words of a further note's quote."""

NAMING_OLD = 0.2
"""Probability from which a note holds that says what became of the old value ("moved from 4 May to 1 June")."""

_QUESTION, _ANSWERS, _UPDATES = phrasings("question"), phrasings("answers"), phrasings("updates")


def asks_of_past(text: str) -> bool:
    """Whether a question asks how it was, so that what replaced it does not answer."""
    return _UPDATES["past"].search(text) is not None


def answers(note: Note) -> bool:
    """Whether a note answers the question, of whom it asks."""
    return note.relevance >= SUFFICIENT and not note.of_other


def says_change(note: Note) -> bool:
    """Whether a note says that something is not as it was."""
    return _UPDATES["changes"].search(note.quote) is not None


def current_note(question: Question, notes: Sequence[Note]) -> Note:
    """The note that holds at the time a question asks about: the best of notes, or what was told later or before it.

    A later note holds if it says that something changed, or if the question asks for what is so now; each must be
    about the same as the best.
    """
    text = question.text
    best = next(note for note in notes if answers(note))
    dated = [note for note in notes if note.memory.said_at is not None and best.memory.said_at is not None]
    if _UPDATES["before"].search(text):
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
        return bool(_shared_terms(note, best)) or _UPDATES["thing"].search(note.quote) is not None
    return _UPDATES["now"].search(question.text) is not None and not _shared_terms(note, best).isdisjoint(
        question.weights
    )


def _shared_terms(note: Note, other: Note) -> frozenset[str]:
    """The words that name something in two notes."""
    return (frozenset(terms(note.quote)) & frozenset(terms(other.quote))) - ASKING


def _told(note: Note) -> datetime:
    assert note.memory.said_at is not None
    return note.memory.said_at


def state(question: Question, note: Note, asked_at: datetime) -> str:
    """A note as the answer: the value first, then who told it and when."""
    if question.expects not in ("time", "ago") and (fact := state_fact(note.memory, asked_at)):
        return f"Yes. {fact}" if question.expects == "yes or no" and _says_all(question, fact) else fact
    value, fact = _value(question, note, asked_at), fact_of_user(note.memory)
    if fact and (not value or question.expects == "yes or no"):
        denies = "n't " in fact
        agrees = note.says_yes != denies and (denies or _says_all(question, fact))  # "No. You like olives" would not
        return f"{value if agrees else ''} {fact} {_told_me(note, asked_at)}.".strip()
    if not note.by_user:
        start = f"{value} {frame_of(note, asked_at)}".strip()
        room = MAX_WORDS - len(start.split()) - 1
        is_short = len(note.memory.text.split()) <= room
        words = note.memory.text if is_short else clip(note, question, room)
        # A fact is worded by whoever learned it, and no quotation.
        return f"{start} {words.rstrip('.')}." if note.memory.relation else f"{start} “{words}”".strip()
    told = _told_me(note, asked_at)
    if value and question.expects != "yes or no":
        return f"{value} {told}."
    said_back = second_person(note.quote) if _ANSWERS["of_oneself"].match(note.quote) else ""
    if said_back:
        return f"{value} {as_sentence(said_back)} {told}.".strip()
    return f"{value} {told}: “{clip(note, question, MAX_WORDS - 8)}”".strip()


def _says_all(question: Question, fact: str) -> bool:
    """Whether a fact says word for word what is asked: "Is Siobhan my best friend?"."""
    return frozenset(terms(fact)) >= question.weights.keys() - ASKING


def _value(question: Question, note: Note, asked_at: datetime) -> str:
    """The answer in as few words as possible, as a sentence; empty if the words that answer are not sure.

    What the persona said of itself is always quoted: of its lines the reader knows less well which words answer.
    """
    if question.expects == "yes or no":
        says = "Yes" if note.says_yes else "No"
        return f"{says}." if max(note.yes, 1 - note.yes) >= SURE_YES else f"{says}, I think."
    if question.expects in ("time", "ago"):
        return _when(question, note, asked_at)
    words = second_person(note.words) if note.by_user else note.words
    if not words or note.sure < SURE or note.by_persona:
        return ""
    return as_sentence(words)


def frame_of(note: Note, asked_at: datetime) -> str:
    """The speaker and the day, or when it happened."""
    if note.by_user or note.by_persona:
        return f"{_told_me(note, asked_at)}: "
    day = format_day(note.memory.said_at)
    if note.memory.speaker:
        return f"{note.memory.speaker}, on {day}: " if day else f"{note.memory.speaker}: "
    if note.when:
        return f"{capitalise(describe_span(note.when))}: "
    return f"As of {day}: " if day else ""


def _when(question: Question, note: Note, asked_at: datetime) -> str:
    """When it happened, or how long ago; the day it was told if it names no time."""
    dates = [time for time in note.dates if time.text in note.words or note.words in time.text] or note.dates
    occurrence = when_happened(note.memory, dates)
    if says_change(note) and len(dates) == 1 and dates[0].text.endswith(f"to {note.words}"):
        # "It moved from 4 May to 1 June" names no stretch of time.
        end = dates[0].span.end
        occurrence = replace(dates[0], span=TimeSpan(end - DAY, end), sure=True)
    day = day_happened(note.memory, occurrence, asked_at.tzinfo)
    is_day = occurrence is None or occurrence.span.end - occurrence.span.start >= DAY
    hour = _ANSWERS["hour"].search(note.words) or _ANSWERS["hour"].search(note.quote) if is_day else None
    if hour is not None and _QUESTION["for_hour"].search(question.text):
        on = f", {describe_span(occurrence.span)}" if occurrence is not None and occurrence.sure else ""
        return f"{capitalise(hour[0])}{on}."
    if question.expects == "ago":
        return f"{ago(day, asked_at.date())}." if day is not None else ""
    if occurrence is None:
        return ""
    when = describe_span(occurrence.span)
    # "Friday at 4": an hour that a line tells of its only day belongs to the answer.
    at = f", {hour[0]}" if hour is not None and day is not None and len(note.dates) == 1 else ""
    return f"{capitalise(when)}{at}." if occurrence.sure else f"Perhaps {when}."


def clip(note: Note, question: Question, room: int) -> str:
    """The `room` words of a note's quote that contain the words that answer, and most of the question's terms.

    Cuts are marked.
    """
    words = list(re.finditer(r"\S+", note.quote))
    if len(words) <= room:
        return note.quote
    start = note.quote.find(note.words) if note.words else len(note.quote)
    weights = question.weights
    worth = [
        max((weights.get(term, 0.0) for term in terms(word[0])), default=0.0)
        + (1 + sum(weights.values())) * (start < word.end() and word.start() < start + len(note.words))
        for word in words
    ]
    first = max(range(len(words) - room + 1), key=lambda n: sum(worth[n : n + room]))
    cut = " ".join(word[0] for word in words[first : first + room])
    return f"{'…' if first else ''}{cut}{'…' if first + room < len(words) else ''}"


def _told_me(note: Note, asked_at: datetime) -> str:
    return told_me(note.memory.said_at, asked_at, note.memory.told_to, by_persona=note.by_persona)
