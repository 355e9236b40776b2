"""What one dialogue memory holds and what it is found by (LongMemEval, Wu et al. 2025, sections 5.2 and 5.3).

Nothing here is a language model's work: facts are the sentences in which somebody speaks of themselves, key phrases
are the words and pairs of words with the most weight (TF-IDF over the history), a summary is the sentences nearest to
the whole (centroid of the TF-IDF vectors; Radev et al. 2004).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from eval.experiment import Experiment, Granularity, Key
from graph.learning.plain_facts import facts
from graph.learning.summary import Weights
from graph.understanding.sentences import split
from memory.types import Learned, MemoryDraft, Quote, SessionDraft, TurnDraft

PHRASES = 5
"""Key phrases of one memory."""

SENTENCES = {"turn": 1, "round": 2, "session": 4, "summary": 4}
"""Sentences of a summary, by what it sums up."""

_OF_SELF = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|our)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Piece:
    """One turn as it will be stored, and the external ids of the turns that it holds."""

    turn: TurnDraft
    holds: tuple[str, ...]


class Values:
    """Makes sessions into what an experiment stores; the weights of words are those of the whole history."""

    def __init__(self, experiment: Experiment, sessions: Sequence[SessionDraft]) -> None:
        self.granularity: Granularity = experiment.granularity
        self.key: Key = experiment.key
        self.separate = experiment.keys == "separate"
        needs_words = self.granularity == "summary" or self.key in ("value+summary", "value+keyphrases")
        self._weights = Weights.of([t.text for s in sessions for t in s.turns]) if needs_words else None

    def of(self, session: SessionDraft) -> tuple[SessionDraft, dict[str, tuple[str, ...]]]:
        """The session as it is stored, and for each of its turns' external ids the turns that it holds."""
        pieces = self._pieces(session)
        turns, learned = [], list(session.learned) if self.granularity == "turn" else []
        for place, piece in enumerate(pieces):
            addition = self._addition(piece.turn, piece.turn.said_at or session.started_at)
            if addition == piece.turn.text:
                addition = ""
            merged = addition and not self.separate
            turns.append(replace(piece.turn, key=f"{addition}\n{piece.turn.text}") if merged else piece.turn)
            if addition and self.separate:
                learned.append(Learned(_apart(piece.turn, addition, session), (Quote(place, piece.turn.text),)))
        held = {piece.turn.external_id: piece.holds for piece in pieces}
        return replace(session, turns=tuple(turns), learned=tuple(learned)), held

    def _pieces(self, session: SessionDraft) -> list[Piece]:
        if self.granularity == "turn":
            return [Piece(turn, (turn.external_id,)) for turn in session.turns]
        groups = _rounds(session.turns) if self.granularity == "round" else [list(session.turns)]
        pieces = [_together(group) for group in groups if group]
        if self.granularity == "summary":
            pieces = [Piece(replace(p.turn, text=self._summary(p.turn.text) or p.turn.text), p.holds) for p in pieces]
        return pieces

    def _addition(self, turn: TurnDraft, said_at: datetime | None) -> str:
        if self.key == "value+facts":
            return _facts(turn, said_at)
        if self.key == "value+summary":
            return self._summary(turn.text)
        if self.key == "value+keyphrases":
            return self._phrases(turn.text)
        return ""

    def _summary(self, text: str) -> str:
        sentences = split(text)
        wanted = SENTENCES[self.granularity]
        if self._weights is None or len(sentences) <= wanted:
            return " ".join(sentences)
        return " ".join(sentences[n] for n in self._weights.nearest(sentences, wanted))

    def _phrases(self, text: str) -> str:
        return "; ".join(self._weights.phrases(text, PHRASES)) if self._weights else ""


def _rounds(turns: Iterable[TurnDraft]) -> list[list[TurnDraft]]:
    """What the user said and the replies to it; replies before the first word of the user are a round of their own."""
    rounds: list[list[TurnDraft]] = []
    for turn in turns:
        if turn.role == "user" or not rounds:
            rounds.append([])
        rounds[-1].append(turn)
    return rounds


def _together(turns: Sequence[TurnDraft]) -> Piece:
    text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    said = [turn.said_at for turn in turns if turn.said_at is not None]
    held = tuple(turn.external_id for turn in turns)
    # The last moment: a whole is not known before its last word.
    return Piece(replace(turns[0], text=text, said_at=max(said, default=None)), held)


def _apart(turn: TurnDraft, addition: str, session: SessionDraft) -> MemoryDraft:
    """A memory of the same words, found by the addition alone; it goes by the turn's own id."""
    said_at = turn.said_at or session.started_at
    return MemoryDraft(
        "dialogue", turn.text, key=addition, said_at=said_at, speaker=turn.speaker, external_id=turn.external_id
    )


def _facts(turn: TurnDraft, said_at: datetime | None) -> str:
    """What somebody says of themselves; an assistant's words are about the user and tell nothing of itself."""
    if turn.role == "assistant":
        return ""
    told = [s for s in split(turn.text) if _OF_SELF.search(s.replace("’", "'")) and not s.endswith("?")]
    plain = [f.text for f in facts(turn.text, turn.speaker, said_at)] if said_at else []
    return " ".join([*plain, *told])
