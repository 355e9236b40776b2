"""Score a sentence of a memory as an answer: the words it shares with the question, its speaker, and its content.

The factors were set by hand on conversations of our own and on development portions, to two digits at most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graph.understanding.question import ASKING, Question
from graph.understanding.sentences import split
from graph.understanding.times import times_in
from memory.bank.learning_queue import SUMMARY
from memory.search.tokens import FUNCTION_WORDS, terms, words
from memory.types import SEMANTIC, Hit, Memory, Turn

ASKED, ELSEWHERE = 0.75, 0.6
"""Weight of a question's word that is not in the sentence, but in the question that the sentence answers, or elsewhere
in its memory."""

EXPECTED_BONUS = 0.08
FACT_BONUS = 0.15
"""Bonus of a current fact if facts are asked for: it says in short what dialogue says at length."""

NOTHING_NEW_PENALTY = 0.5
"""Factor of a passage with no words but the question's own: it can only answer a yes-or-no question."""

UNCOUNTED_PENALTY = 0.7
"""Factor of a passage without a number if a number is asked for."""

ASKING_PENALTY = 0.5
SPOKEN_OF = 0.8
NOT_OF_SUBJECT = 0.6
"""Factors of a passage whose speaker is not the person asked about: it is about them, or about somebody else."""

NAME_ONLY_PENALTY = 0.5
"""Factor of a passage that shares only names with the question: it is about the same person, no more."""

NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|once|twice)\b", re.I
)
_OF_SELF = re.compile(r"\b(?:i|my|me|mine)\b", re.I)
_OF_OTHER = re.compile(r"\b(?:you|your|yours)\b", re.I)
_PLACE = re.compile(r"\b(?:in|at|to|from|near|around)\s+(?:the\s+)?[A-Z0-9]")
_NAMED = re.compile(r"(?<=[a-z,;:]\s)[A-Z]\w+")
_EXPECTED = {"number": NUMBER, "duration": NUMBER, "place": _PLACE, "person": _NAMED}


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a hit, with the terms of its memory (`beside`) and of the question that it answers (`answers`)."""

    hit: Hit
    sentence: str
    beside: frozenset[str]
    answers: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        """The sentence's own terms, with those of its speaker's name."""
        return frozenset(terms(f"{self.hit.memory.speaker} {self.sentence}"))


def sentences_of(memory: Memory) -> list[str]:
    """The sentences of a memory; a summary counts as one, because it is quoted whole."""
    return [memory.text] if memory.attribute == SUMMARY else split(memory.text)


def passages_of(hit: Hit, before: Turn | None) -> list[Passage]:
    """The sentences of a hit; `before` is the turn before it, which it answers if that is a question."""
    answers = frozenset[str]()
    if before is not None and before.text.rstrip().endswith(("?", "？")) and before.speaker != hit.memory.speaker:
        answers = frozenset(terms(before.text))
    beside = frozenset(terms(hit.memory.text))
    return [Passage(hit, sentence, beside, answers) for sentence in sentences_of(hit.memory)]


def coverage(question: Question, passage: Passage, subjects: frozenset[str]) -> float:
    """The weighted share of the question's terms that the passage holds, 0..1.

    The name of the person asked about is left out: addressing somebody by name says nothing about them (`of_subject`).
    """
    weights = {t: w for t, w in question.weights.items() if t not in subjects} or question.weights
    total = sum(weights.values())
    if not total:
        return 0.0
    own = passage.terms

    def share_of(term: str) -> float:
        if term in own:
            return 1.0
        return ASKED if term in passage.answers else ELSEWHERE if term in passage.beside else 0.0

    return sum(weight * share_of(term) for term, weight in weights.items()) / total


def worth(question: Question, passage: Passage, score: float, subjects: frozenset[str], assistant: str) -> float:
    """The score of a passage by words and meaning, adjusted for its content and its speaker."""
    memory, sentence = passage.hit.memory, passage.sentence
    if sentence.endswith(("?", "？")):
        score *= ASKING_PENALTY
    if _says_what_is_expected(question, passage):
        score += EXPECTED_BONUS
    elif question.expects in ("number", "duration"):
        score *= UNCOUNTED_PENALTY
    if memory.store in SEMANTIC:
        score += FACT_BONUS * passage.hit.scores.get("class", 0.0)
    new = " ".join(word for word in words(sentence) if word not in FUNCTION_WORDS)
    if question.expects != "yes or no" and question.weights.keys() >= set(terms(new)):
        score *= NOTHING_NEW_PENALTY
    asked = question.weights.keys() - question.names - ASKING
    if asked and not asked & (passage.terms | passage.beside | passage.answers):
        score *= NAME_ONLY_PENALTY
    if memory.store == "dialogue":
        score *= of_subject(passage, subjects)
        if question.of_user and memory.speaker in (assistant, "assistant"):
            score *= SPOKEN_OF
    return score


def _says_what_is_expected(question: Question, passage: Passage) -> bool:
    sentence, memory = passage.sentence, passage.hit.memory
    if question.expects in ("time", "ago"):
        return memory.event is not None or bool(times_in(sentence, memory.said_at))
    pattern = _EXPECTED.get(question.expects)
    return pattern is not None and bool(pattern.search(sentence))


def of_subject(passage: Passage, subjects: frozenset[str]) -> float:
    """How likely a passage is about the person asked about: 1 if they say it themselves, less if somebody else does.

    `subjects` are the terms of those names in the question whose bearers speak in the hits; without any it is 1.
    """
    speaker = frozenset(terms(passage.hit.memory.speaker))
    if not subjects or not speaker or subjects & speaker:
        return 1.0
    # "Thanks, Mel! My grandma gave it to me" tells nothing of Mel; "Your pottery is lovely" does.
    of_other = _OF_OTHER.search(passage.sentence) or subjects & frozenset(terms(passage.sentence))
    return SPOKEN_OF if of_other and not _OF_SELF.search(passage.hit.memory.text) else NOT_OF_SUBJECT
