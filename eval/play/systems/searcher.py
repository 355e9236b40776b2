"""A searcher that lets another memory system search, and finds its turns in the bank, where the reader reads them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from eval.metrics.answers import contains, f1
from eval.play.ids import UNDATED
from eval.play.searchers import ExperimentSearcher
from eval.play.systems.contract import Chat, Found, MemorySystem, Session, Turn
from eval.runs.experiment import Experiment
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import SearchSettings, Subject
from memory.search.searcher import View
from memory.search.tokens import words
from memory.types import Hit, Memory, MemoryDraft, SessionDraft

DEPTH = 100
"""Texts that a system is asked for: enough to see 50 turns, and some that were said later or belong to no turn."""

LEAST_F1 = 0.5
"""Least F1 of the words of a text and a turn from which the one may come from the other."""


def to_sessions(drafts: Iterable[SessionDraft], facts: Iterable[MemoryDraft]) -> list[Session]:
    """What a system is told, in the order of time, first what has none; what nobody said is a session of one turn."""
    sessions = []
    for draft in drafts:
        turns = (Turn(t.external_id, t.speaker, t.text, t.said_at or draft.started_at) for t in draft.turns)
        sessions.append(Session(draft.external_id, draft.started_at, tuple(turns)))
    for fact in facts:
        moment = fact.said_at or (fact.event.start if fact.event else None)
        sessions.append(Session(fact.external_id, moment, (Turn(fact.external_id, fact.speaker, fact.text, moment),)))
    return sorted(sessions, key=lambda session: session.started_at or UNDATED)


class SystemSearcher(ExperimentSearcher):
    """Searches with a system, whose order and scores its hits keep; "dense" is their cosine, which the reader uses."""

    def __init__(
        self, bank: Bank, embedder: Embedder, experiment: Experiment, system: MemorySystem, chat: Chat
    ) -> None:
        super().__init__(bank, embedder, experiment)
        self.system, self.chat = system, chat
        self._told_in: dict[str, list[Memory]] = {}

    def bank_changed(self) -> None:
        """Read the bank again at the next question."""
        self._told_in.clear()

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """What the system finds of what was known; the best `k` are read, the others are ranked."""
        if not views or self.experiment.given == "nothing":
            return ()
        views = self.views([self.query]) if self.query else views
        known = {
            turn: memories
            for turn, memories in self._by_turn(persona_id).items()
            if memories[0].said_at is None or memories[0].said_at <= as_of
        }
        scores: dict[int, tuple[Memory, float]] = {}
        for found in self.system.search(views[0].text, as_of, DEPTH):
            for memory in self._told(found, known):
                scores.setdefault(memory.id, (memory, found.score))
        most = (settings or SearchSettings()).k
        hits = [Hit(memory, score, {}) for memory, score in scores.values()]
        near = self.embedder.encode_document([hit.memory.key for hit in hits[:most]]) @ views[0].vector
        read = [replace(h, scores={"dense": round(float(c), 4)}) for h, c in zip(hits[:most], near, strict=True)]
        return (*read, *(replace(h, dropped="rank", why=f"not among the {most} best") for h in hits[most:]))

    def answer(self, question: str, as_of: datetime) -> str | None:
        """The system's own answer, where the experiment asks for it and there is one."""
        is_wanted = self.experiment.answered_by == "system" and self.experiment.pipeline.reader != "none"
        answer: Callable[[str, datetime], str | None] | None = getattr(self.system, "answer", None)
        return answer(question, as_of) if is_wanted and answer else None

    def _told(self, found: Found, known: Mapping[str, Sequence[Memory]]) -> list[Memory]:
        """The memories that a text comes from, by the ids of its turns or else by its words."""
        self.chat.costs.found += 1
        turns: Sequence[str] = found.turns
        if not turns:
            match = matched(found.text, {turn: " ".join(m.text for m in memories) for turn, memories in known.items()})
            turns = (match,) if match else ()
        self.chat.costs.matched += any(turn in self._told_in for turn in turns)
        return [memory for turn in turns for memory in known.get(turn, ())]

    def _by_turn(self, persona_id: int) -> Mapping[str, Sequence[Memory]]:
        """What the bank holds, by the ids that the system was given; a long turn is several memories."""
        if not self._told_in:
            memories = {memory.id: memory for memory in self.bank.memories(persona_id)}
            said = sorted(number for number, memory in memories.items() if memory.store == "dialogue")
            origins = self.bank.origins(persona_id, said)
            for number, memory in sorted(memories.items()):
                name = origins[number][0].external_id if number in origins else memory.external_id
                if name:
                    self._told_in.setdefault(name, []).append(memory)
        return self._told_in


def matched(text: str, turns: Mapping[str, str]) -> str | None:
    """The id of the turn that a text comes from, of turns by id; None if of none.

    That is the first turn whose words the text has all in a row, or that has all of the text's; else the turn with the
    greatest F1 of words, if it is at least a half.
    """
    own = words(text)
    if not own:
        return None
    split = {turn: words(told) for turn, told in turns.items()}
    for turn, told in split.items():
        if told and (contains(told, own) or contains(own, told)):
            return turn
    best = max(split, key=lambda turn: f1(own, split[turn]), default=None)
    return best if best is not None and f1(own, split[best]) >= LEAST_F1 else None
