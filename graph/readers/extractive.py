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

from graph.readers.question import Question
from graph.sentences import split
from graph.state import Note
from memory import lexical
from memory.embedder import Vectors
from memory.fusion import Scores
from memory.timespan import find
from memory.types import Hit, Turn

Encode = Callable[[Sequence[str]], Vectors]

SENTENCES_ENCODED = 12
"""Sentences whose meaning is compared with the question's; the encoder costs 4 ms a sentence."""

NOTES = 8
"""Notes that are kept of one question."""

WORDS_WEIGHT = 0.55
"""Share of shared words against shared meaning in a note's relevance."""

ELSEWHERE = 0.6
"""What a word of the question counts that stands not in the sentence but beside it: in the rest of the memory, or
in the question that the sentence answers."""

MEANING_FLOOR, MEANING_CEILING = 0.15, 0.75
"""Cosines of MiniLM between unrelated and between near-equal sentences; in between lies the useful range."""

EXPECTED_BONUS = 0.08
ASKING_PENALTY = 0.5
SPOKEN_OF = 0.8
NOT_OF_SUBJECT = 0.6
"""What a passage counts that is said not by the one asked about, but to or of them, or of somebody else."""

_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|once|twice)\b", re.I
)
_PLACE = re.compile(r"\b(?:in|at|to|from|near|around)\s+(?:the\s+)?[A-Z]")
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
    question: Question, vector: Vectors, hits: Sequence[Hit], before: Mapping[int, Turn], encode: Encode
) -> tuple[Note, ...]:
    """The passages that bear most on the question, best first, one a memory.

    Args:
        question: What is asked.
        vector: The question's unit embedding, shape (d,).
        hits: What may be read, best first.
        before: By memory id, the turn said just before it in its session.
        encode: The encoder; called at most once.
    """
    passages = [p for hit in hits for p in _passages(hit, before.get(hit.memory.id))]
    if not passages:
        return ()
    shared = np.array([coverage(question, p) for p in passages])
    meaning = _meaning(vector, passages, shared, encode)
    base = WORDS_WEIGHT * shared + (1 - WORDS_WEIGHT) * meaning
    speakers = frozenset(t for p in passages for t in lexical.terms(p.hit.memory.speaker))
    scored = sorted(
        (
            (_adjusted(question, p, float(score), speakers), n)
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


def coverage(question: Question, passage: Passage) -> float:
    """The weighted share of the question's terms that the passage holds, 0..1."""
    if not question.total:
        return 0.0
    own = passage.terms
    held = sum(
        weight * (1.0 if term in own else ELSEWHERE if term in passage.beside or term in passage.answers else 0.0)
        for term, weight in question.weights.items()
    )
    return held / question.total


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


def _adjusted(question: Question, passage: Passage, score: float, speakers: frozenset[str]) -> float:
    memory, sentence = passage.hit.memory, passage.sentence
    if sentence.endswith(("?", "？")):
        score *= ASKING_PENALTY
    if _says_what_is_expected(question, passage):
        score += EXPECTED_BONUS
    if memory.store == "dialogue":
        score *= of_subject(question, passage, speakers)
    return score


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


def of_subject(question: Question, passage: Passage, speakers: frozenset[str]) -> float:
    """How far what is said may be about whom the question is about: 1 if they say it, less if others do.

    `speakers` are the terms of the names of all who speak in the hits; a question that names none of them is open.
    """
    subjects = speakers & question.names
    speaker = frozenset(lexical.terms(passage.hit.memory.speaker))
    if not subjects or not speaker or subjects & speaker:
        return 1.0
    return SPOKEN_OF if subjects & (passage.beside | passage.answers) else NOT_OF_SUBJECT
