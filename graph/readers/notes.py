"""Take notes without a chat model: the sentences that are most relevant to the question.

Chain-of-Note (Yu et al. 2023) in its plainest form. Every candidate sentence gets a relevance from the words and
the meaning that it shares with the question; relative dates in it are resolved against the day it was said; an answer
quotes and cites it. If no sentence answers the question, the reader says so and why.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graph.readers.passages import NOT_OF_SUBJECT, Passage, coverage, of_subject, passages_of, sentences_of, worth
from graph.state import Note
from graph.understanding.times import times_in
from memory.embedding.embedder import Vectors
from memory.search.tokens import terms

if TYPE_CHECKING:
    from graph.understanding.question import Question
    from memory.search.fusion import Scores
    from memory.types import Hit, Memory, Turn

Encode = Callable[[Sequence[str]], Vectors]

SENTENCES_ENCODED = 12
"""Most sentences that are encoded and compared with the question; the encoder costs 4 ms a sentence."""

OPEN_RELEVANCE = 0.5
"""Relevance of all notes from the time asked about, if only a time is asked about ("What did I do in May?")."""

NOTES = 8
"""Most notes on one question."""

WORDS_WEIGHT = 0.55
"""Weight of shared words against shared meaning in a note's relevance."""

MEANING_FLOOR, MEANING_CEILING = 0.15, 0.75
"""Cosines of MiniLM between unrelated and between near-equal sentences; in between lies the useful range."""

NOT_OF_TIME = 0.6
"""Factor of a passage from another time than the question asks about."""

NEWEST_BONUS = 0.05
"""Bonus of the newest passage over the oldest: of two equal answers, the later is more likely still true."""


def take_notes(
    question: Question,
    vector: Vectors,
    hits: Sequence[Hit],
    before: Mapping[int, Turn],
    assistant: str,
    encode: Encode,
    of_other_time: Collection[int] = (),
) -> tuple[Note, ...]:
    """The passages that are most relevant to the question, best first, one for each memory.

    Args:
        question: The parsed question.
        vector: Its unit embedding, shape (d,).
        hits: The hits that may be read, best first.
        before: By memory id, the turn before it in its session.
        assistant: The persona's name; its own turns say less about the user than the user's turns.
        encode: The encoder; called at most once.
        of_other_time: Ids of the memories from another time than the question asks about.
    """
    if question.open:
        then = [hit for hit in hits if hit.memory.id not in of_other_time]
        # Events first, and the assistant's own turns last; otherwise as ranked.
        then.sort(key=lambda hit: (hit.memory.store != "event", hit.memory.speaker in (assistant, "assistant")))
        return tuple(_first_note(hit.memory) for hit in then[:NOTES])
    passages = [p for hit in hits for p in passages_of(hit, before.get(hit.memory.id))]
    if not passages:
        return ()
    speakers = frozenset(t for p in passages for t in terms(p.hit.memory.speaker))
    subjects = speakers & question.names
    shared = np.array([coverage(question, p, subjects) for p in passages])
    meaning = _meaning(vector, passages, shared, encode)
    base = WORDS_WEIGHT * shared + (1 - WORDS_WEIGHT) * meaning + NEWEST_BONUS * _newness(passages)
    elsewhen = [p.hit.memory.id in of_other_time for p in passages]
    relevance = [
        worth(question, p, float(score), subjects, assistant) * (NOT_OF_TIME if other else 1.0)
        for p, score, other in zip(passages, base, elsewhen, strict=True)
    ]
    best: dict[int, Note] = {}
    for n in sorted(range(len(passages)), key=lambda n: -relevance[n]):
        memory, sentence = passages[n].hit.memory, passages[n].sentence
        if memory.id not in best and len(best) < NOTES:
            of_other = of_subject(passages[n], subjects) == NOT_OF_SUBJECT
            best[memory.id] = _note(memory, sentence, min(relevance[n], 1.0), of_other, elsewhen[n])
    return tuple(best.values())


def _first_note(memory: Memory) -> Note:
    stating = next((s for s in sentences_of(memory) if not s.endswith(("?", "？"))), "")
    return _note(memory, stating or memory.text, OPEN_RELEVANCE if stating else 0.0)


def _note(memory: Memory, quote: str, relevance: float, of_other: bool = False, of_other_time: bool = False) -> Note:
    """A note with the times that its passage names."""
    return Note(memory, quote, relevance, times_in(quote, memory.said_at), of_other, of_other_time)


def _meaning(vector: Vectors, passages: Sequence[Passage], shared: Scores, encode: Encode) -> Scores:
    """Similarity of each passage to the question, 0..1; a memory of one sentence has its own vector already."""
    cosine = np.array([p.hit.scores.get("dense", 0.0) for p in passages])
    is_whole = np.array([len(p.sentence) >= len(p.hit.memory.text.strip()) for p in passages])
    parts = [int(n) for n in np.argsort(-(shared + cosine), kind="stable") if not is_whole[n]][:SENTENCES_ENCODED]
    if parts:
        cosine[parts] = encode([passages[n].sentence for n in parts]) @ vector
    return np.clip((cosine - MEANING_FLOOR) / (MEANING_CEILING - MEANING_FLOOR), 0.0, 1.0)


def _newness(passages: Sequence[Passage]) -> Scores:
    """0 for the oldest to 1 for the newest passage, by the order in which they were said."""
    times = [p.hit.memory.said_at.timestamp() if p.hit.memory.said_at else 0.0 for p in passages]
    distinct, place = np.unique(times, return_inverse=True)
    return np.asarray(place / max(len(distinct) - 1, 1), dtype=np.float64)
