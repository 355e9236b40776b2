"""Reading without a language model: the sentences that bear on the question are the notes, the best the answer.

Chain-of-Note (Yu et al. 2023) in its plainest form. Every candidate sentence gets a relevance from the words and
the meaning that it shares with the question; relative dates in it are resolved against the day it was said; an answer
quotes and cites it. Where no sentence carries the question, the reader says so and why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graph.readers.question import ASKING, Question
from graph.sentences import split
from graph.state import Note
from memory import lexical
from memory.embedder import Vectors
from memory.fusion import Scores
from memory.timespan import find
from memory.types import SEMANTIC, Hit, Turn

Encode = Callable[[Sequence[str]], Vectors]

SENTENCES_ENCODED = 12
"""Sentences whose meaning is compared with the question's; the encoder costs 4 ms a sentence."""

OPEN_RELEVANCE = 0.5
"""Relevance of whatever is from the time asked about, where only the time was asked ("What did I do in May?")."""

NAME_ONLY_PENALTY = 0.7
"""What a passage counts that shares with the question no word but names: it is about the same person, no more."""

NOTES = 8
"""Notes that are kept of one question."""

WORDS_WEIGHT = 0.55
"""Share of shared words against shared meaning in a note's relevance."""

ASKED, ELSEWHERE = 0.75, 0.6
"""What a word of the question counts that stands not in the sentence, but in the question that it answers, or in the
rest of its memory."""

MEANING_FLOOR, MEANING_CEILING = 0.15, 0.75
"""Cosines of MiniLM between unrelated and between near-equal sentences; in between lies the useful range."""

EXPECTED_BONUS = 0.08
FACT_BONUS = 0.15
"""What a fact that holds gains where facts are asked for: it says in short what talk says at length."""

NEWEST_BONUS = 0.05
"""What the newest passage gains over the oldest: of two that answer equally, the later is likelier still true."""

NOTHING_NEW_PENALTY = 0.5
"""What a passage counts that holds no word but the question's own: it cannot hold the answer, except to yes or no."""

UNCOUNTED_PENALTY = 0.7
"""What a passage without any number counts where a number was asked for."""

ASKING_PENALTY = 0.5
SPOKEN_OF = 0.8
NOT_OF_SUBJECT = 0.6
"""What a passage counts that is said not by the one asked about, but to or of them, or of somebody else."""

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|once|twice)\b", re.I
)
_OF_SELF = re.compile(r"\b(?:i|my|me|mine)\b", re.I)
_OF_OTHER = re.compile(r"\b(?:you|your|yours)\b", re.I)
_PLACE = re.compile(r"\b(?:in|at|to|from|near|around)\s+(?:the\s+)?[A-Z0-9]")
_NAMED = re.compile(r"(?<=[a-z,;:]\s)[A-Z]\w+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a hit with what stands around it."""

    hit: Hit
    sentence: str
    beside: frozenset[str]
    answers: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        """The sentence's own terms, with those of who said it."""
        return frozenset(lexical.terms(f"{self.hit.memory.speaker} {self.sentence}"))


def take_notes(
    question: Question,
    vector: Vectors,
    hits: Sequence[Hit],
    before: Mapping[int, Turn],
    assistant: str,
    encode: Encode,
) -> tuple[Note, ...]:
    """The passages that bear most on the question, best first, one a memory.

    Args:
        question: What is asked.
        vector: The question's unit embedding, shape (d,).
        hits: What may be read, best first.
        before: By memory id, the turn said just before it in its session.
        assistant: The persona's name; what it said itself tells less of the user than the user's own words.
        encode: The encoder; called at most once.
    """
    if question.open:
        return tuple(with_dates(_first_note(hit)) for hit in _of_user_first(hits, assistant)[:NOTES])
    passages = [p for hit in hits for p in _passages(hit, before.get(hit.memory.id))]
    if not passages:
        return ()
    speakers = frozenset(t for p in passages for t in lexical.terms(p.hit.memory.speaker))
    subjects = speakers & question.names
    shared = np.array([coverage(question, p, subjects) for p in passages])
    meaning = _meaning(vector, passages, shared, encode)
    base = WORDS_WEIGHT * shared + (1 - WORDS_WEIGHT) * meaning + NEWEST_BONUS * _newness(passages)
    scored = sorted(
        (
            (_adjusted(question, p, float(score), subjects, assistant), n)
            for n, (p, score) in enumerate(zip(passages, base, strict=True))
        ),
        key=lambda pair: (-pair[0], pair[1]),
    )
    best: dict[int, Note] = {}
    for relevance, n in scored:
        memory = passages[n].hit.memory
        if memory.id not in best and len(best) < NOTES:
            best[memory.id] = Note(memory, passages[n].sentence, min(relevance, 1.0))
    return tuple(with_dates(note) for note in best.values())


def _of_user_first(hits: Sequence[Hit], assistant: str) -> list[Hit]:
    """Events before talk, and the assistant's own talk last; otherwise as ranked."""
    return sorted(hits, key=lambda hit: (hit.memory.store != "event", hit.memory.speaker in (assistant, "assistant")))


def _first_note(hit: Hit) -> Note:
    told = [s for s in split(hit.memory.text) if not s.endswith(("?", "？"))]
    return Note(hit.memory, told[0] if told else hit.memory.text, OPEN_RELEVANCE if told else 0.0)


def coverage(question: Question, passage: Passage, subjects: frozenset[str]) -> float:
    """The weighted share of the question's terms that the passage holds, 0..1.

    The name of whom it asks about is left out: that somebody is spoken to by name says nothing of them (`of_subject`).
    """
    weights = {t: w for t, w in question.weights.items() if t not in subjects} or question.weights
    total = sum(weights.values())
    if not total:
        return 0.0
    own = passage.terms
    held = sum(
        weight
        * (1.0 if term in own else ASKED if term in passage.answers else ELSEWHERE if term in passage.beside else 0.0)
        for term, weight in weights.items()
    )
    return held / total


def with_dates(note: Note) -> Note:
    """The note with the dates that its passage names, resolved against the day it was said."""
    anchor = note.memory.said_at
    return note if anchor is None else replace(note, dates=find(note.quote, anchor))


def _passages(hit: Hit, before: Turn | None) -> list[Passage]:
    sentences = split(hit.memory.text)
    everything = frozenset(lexical.terms(hit.memory.text))
    asked = before is not None and before.text.rstrip().endswith(("?", "？")) and before.speaker != hit.memory.speaker
    answers = frozenset(lexical.terms(before.text)) if asked and before is not None else frozenset[str]()
    return [Passage(hit, s, everything, answers) for s in sentences]


def _meaning(vector: Vectors, passages: Sequence[Passage], shared: Scores, encode: Encode) -> Scores:
    """Likeness of each passage to the question, 0..1; a memory of one sentence has its own vector already."""
    cosine = np.array([p.hit.scores.get("dense", 0.0) for p in passages])
    whole = np.array([len(p.sentence) >= len(p.hit.memory.text.strip()) for p in passages])
    parts = [int(n) for n in np.argsort(-(shared + cosine), kind="stable") if not whole[n]][:SENTENCES_ENCODED]
    if parts:
        cosine[parts] = encode([passages[n].sentence for n in parts]) @ vector
    return np.clip((cosine - MEANING_FLOOR) / (MEANING_CEILING - MEANING_FLOOR), 0.0, 1.0)


def _newness(passages: Sequence[Passage]) -> Scores:
    """0 for the oldest to 1 for the newest passage, by the order in which they were said."""
    times = [p.hit.memory.said_at.timestamp() if p.hit.memory.said_at else 0.0 for p in passages]
    distinct, place = np.unique(times, return_inverse=True)
    return np.asarray(place / max(len(distinct) - 1, 1), dtype=np.float64)


def _adjusted(question: Question, passage: Passage, score: float, subjects: frozenset[str], assistant: str) -> float:
    memory, sentence = passage.hit.memory, passage.sentence
    if sentence.endswith(("?", "？")):
        score *= ASKING_PENALTY
    if _says_what_is_expected(question, passage):
        score += EXPECTED_BONUS
    elif question.expects in ("number", "duration"):
        score *= UNCOUNTED_PENALTY
    if memory.store in SEMANTIC:
        score += FACT_BONUS * passage.hit.scores.get("class", 0.0)
    if question.expects != "yes or no" and not _says_more(question, passage):
        score *= NOTHING_NEW_PENALTY
    if _shares_names_only(question, passage):
        score *= NAME_ONLY_PENALTY
    if memory.store == "dialogue":
        score *= of_subject(passage, subjects)
        if question.of_user and memory.speaker in (assistant, "assistant"):
            score *= SPOKEN_OF
    return score


def _says_more(question: Question, passage: Passage) -> bool:
    new = [w for w in lexical.words(passage.sentence) if w not in lexical.FUNCTION_WORDS]
    return any(term not in question.weights for term in lexical.terms(" ".join(new)))


def _shares_names_only(question: Question, passage: Passage) -> bool:
    asked = question.weights.keys() - question.names - ASKING
    return bool(asked) and not asked & (passage.terms | passage.beside | passage.answers)


def _says_what_is_expected(question: Question, passage: Passage) -> bool:
    sentence, memory = passage.sentence, passage.hit.memory
    if question.expects == "time":
        return memory.event is not None or (memory.said_at is not None and bool(find(sentence, memory.said_at)))
    if question.expects in ("number", "duration"):
        return bool(_NUMBER.search(sentence))
    if question.expects == "place":
        return bool(_PLACE.search(sentence))
    if question.expects == "person":
        return bool(_NAMED.search(sentence))
    return False


def of_subject(passage: Passage, subjects: frozenset[str]) -> float:
    """How far what is said may be about whom the question is about: 1 if they say it, less if somebody else does.

    `subjects` are the terms of the names, in the question, of people who speak in the hits; without any it is open.
    """
    speaker = frozenset(lexical.terms(passage.hit.memory.speaker))
    if not subjects or not speaker or subjects & speaker:
        return 1.0
    # "Thanks, Mel! My grandma gave it to me" tells nothing of Mel; "Your pottery is lovely" does.
    of_other = _OF_OTHER.search(passage.sentence) or subjects & frozenset(lexical.terms(passage.sentence))
    return SPOKEN_OF if of_other and not _OF_SELF.search(passage.hit.memory.text) else NOT_OF_SUBJECT
