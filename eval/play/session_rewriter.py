"""Rewrite sessions to the granularity and the keys of an experiment (LongMemEval, Wu et al. 2025, sections 5.2, 5.3).

No language model is used: facts are the sentences in which people speak of themselves, key phrases are the words and
pairs of words of the greatest weight (TF-IDF over the history so far), and a summary is the sentences nearest to the
centroid of the TF-IDF vectors (Radev et al. 2004).
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from eval.play.ids import UNDATED
from eval.runs.experiment import WHOLE_SESSIONS, Experiment
from graph.learning.facts import facts
from graph.learning.summary import TermCounts, TermWeights, gist
from graph.understanding.sentences import split
from memory.types import LearnedMemory, MemoryDraft, Quote, SessionDraft, TurnDraft

PHRASES = 5
"""Key phrases of one memory."""

SENTENCES = {"turn": 1, "round": 2, "round-summary": 2, "session": 4, "summary": 4, "facts": 2}
"""Sentences of a summary, by the granularity of what it sums up."""

ADDED = "value+"
"""Begins the keys that are added to the words of a memory; the others stand in for them, where there are any."""

_OF_SELF = re.compile(r"\b(?:i|i'm|i've|i'd|i'll|my|mine|we|our)\b", re.IGNORECASE)


class SessionRewriter:
    """Makes sessions into what an experiment stores.

    Words are weighed by the sessions before one and by itself: nothing that is stored depends on what came later.
    """

    def __init__(self, experiment: Experiment, sessions: Sequence[SessionDraft]) -> None:
        self.experiment, self.granularity, self.key = experiment, experiment.granularity, experiment.key
        self.by_user = experiment.indexed == "user"
        self.is_summed_up = self.granularity in ("summary", "round-summary")
        needs_words = self.is_summed_up or self.key.removeprefix(ADDED) in ("summary", "keyphrases")
        told = sorted((s.started_at or UNDATED, t.text) for s in sessions for t in s.turns) if needs_words else ()
        self._starts = [start for start, _ in told]
        self._counts = TermCounts([text for _, text in told]) if needs_words else None

    def rewrite(self, session: SessionDraft) -> tuple[SessionDraft, dict[str, tuple[str, ...]]]:
        """Return the session as it is stored, and which turns each of its stored turns holds, by external ids."""
        weights = None
        if self._counts is not None:
            before = bisect_left(self._starts, session.started_at or UNDATED)
            weights = self._counts.weights(before, [turn.text for turn in session.turns])
        stored = list(self._stored_turns(session, weights))
        keeps_turns = self.granularity == "turn" and not self.by_user
        turns, learned = [], list(session.learned) if keeps_turns else []
        for place, (turn, _) in enumerate(stored):
            said_at, words = turn.said_at or session.started_at, turn.key or turn.text
            addition, key = self._addition(replace(turn, text=words), said_at, weights), turn.key
            if addition and addition != words:
                if not self.key.startswith(ADDED):
                    key = addition
                elif self.experiment.keys == "merged":
                    key = f"{addition}\n{words}"
                else:
                    keyed = MemoryDraft("dialogue", turn.text, key=addition, said_at=said_at, speaker=turn.speaker)
                    keyed = replace(keyed, external_id=turn.external_id)
                    learned.append(LearnedMemory(keyed, (Quote(place, turn.text),)))
            turns.append(replace(turn, key=key))
        holds = {turn.external_id: ids for turn, ids in stored}
        return replace(session, turns=tuple(turns), learned=tuple(learned)), holds

    def _stored_turns(
        self, session: SessionDraft, weights: TermWeights | None
    ) -> Iterator[tuple[TurnDraft, tuple[str, ...]]]:
        """The turns as they will be stored, each with the external ids of the turns that it holds."""
        if self.granularity == "turn":
            yield from ((turn, (turn.external_id,)) for turn in session.turns if self._is_indexed(turn))
            return
        groups = [list(session.turns)] if self.granularity in WHOLE_SESSIONS else _rounds(session.turns)
        for group in filter(None, groups):
            turn, own = _joined(group), filter(self._is_indexed, group)
            if self.granularity == "facts":
                told = " ".join(filter(None, (_facts(each, each.said_at or session.started_at) for each in own)))
                turn = replace(turn, text=told)
            else:
                told = " ".join(each.text for each in own)
                turn = replace(turn, key=told) if self.by_user else turn
            if not told and (self.by_user or self.granularity == "facts"):
                continue
            if self.is_summed_up:
                text, key = self._summary(turn.text, weights) or turn.text, self._summary(turn.key, weights)
                turn = replace(turn, text=text, key=key)
            yield turn, tuple(each.external_id for each in group)

    def _is_indexed(self, turn: TurnDraft) -> bool:
        return not self.by_user or turn.role == "user"

    def _addition(self, turn: TurnDraft, said_at: datetime | None, weights: TermWeights | None) -> str:
        kind = self.key.removeprefix(ADDED)
        if kind == "facts":
            return _facts(turn, said_at)
        if kind == "summary":
            return self._summary(turn.text, weights)
        if kind == "keyphrases" and weights:
            return "; ".join(weights.phrases(turn.text, PHRASES))
        return ""

    def _summary(self, text: str, weights: TermWeights | None) -> str:
        return gist(split(text), SENTENCES[self.granularity], weights)


def _rounds(turns: Iterable[TurnDraft]) -> list[list[TurnDraft]]:
    """Group turns into rounds: what the user said, and the replies to it. Replies before that form a round."""
    rounds: list[list[TurnDraft]] = []
    for turn in turns:
        if turn.role == "user" or not rounds:
            rounds.append([])
        rounds[-1].append(turn)
    return rounds


def _joined(turns: Sequence[TurnDraft]) -> TurnDraft:
    text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    times = [turn.said_at for turn in turns if turn.said_at is not None]
    # Dated by its last turn: a round or session is not known before its end.
    return replace(turns[0], text=text, said_at=max(times, default=None))


def is_of_self(sentence: str) -> bool:
    """Whether people speak of themselves in a sentence, and do not ask."""
    return _OF_SELF.search(sentence.replace("’", "'")) is not None and not sentence.endswith("?")


def _facts(turn: TurnDraft, said_at: datetime | None) -> str:
    """Find what a speaker says of themselves; an assistant speaks of the user, so its turns give none."""
    if turn.role == "assistant":
        return ""
    about_self = filter(is_of_self, split(turn.text))
    plain = [f.text for f in facts(turn.text, turn.speaker, said_at)] if said_at else []
    return " ".join([*plain, *about_self])
