"""Searchers that find what an experiment gives the reader, by Memoir's own search or by another memory system.

What the memory finds may be adjusted before the best are taken: memories fade, or those of another time are dropped. Or
the reader gets nothing, everything, the latest, the evidence, all but it, or the candidates of a benchmark. That bounds
what retrieval contributes: "nothing" is the reader alone, "oracle" is retrieval that never fails.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from eval.metrics.answers import contains, f1
from eval.play.ids import UNDATED
from eval.play.systems.contract import Found, MemorySystem, MeteredChat, Session, Turn
from eval.runs.experiment import Experiment
from graph.understanding.times import is_of_time
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.search.tokens import words
from memory.types import Hit, Memory, MemoryDraft, SessionDraft, Store

WHOLE = ("everything", "recent")
"""What leaves no memory out."""

DAY = timedelta(days=1)

DEPTH = 100
"""Texts that a system is asked for: enough to see 50 turns, and some that were said later or belong to no turn."""

LEAST_F1 = 0.5
"""Least F1 of the words of a text and a turn from which the one may come from the other."""


class ExperimentSearcher(Searcher):
    """Finds what an experiment gives the reader; another `experiment` may be set before each question.

    Set for each are which memories it names (`is_named`), its evidence, the candidates in a setting of the benchmark or
    what another run read, and the `query` to search for in its place, if that is not empty. Where another memory
    `system` is tested, that finds them.
    """

    def __init__(
        self, bank: Bank, embedder: Embedder, experiment: Experiment, system: "SystemMemory | None" = None
    ) -> None:
        super().__init__(bank, embedder)
        self.experiment, self.system = experiment, system
        self.is_named: Callable[[Memory], bool] = lambda memory: False
        self.query = ""

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """What the memory finds, adjusted or without the evidence ("wrong"), or a fixed selection of what was known."""
        given, settings, subject = self.experiment.given, settings or SearchSettings(), subject or Subject()
        if given == "nothing" or not views:
            return ()
        views = self.views([self.query]) if self.query else views
        if self.system:
            return self.system.find(views[0], as_of, settings.k)
        if given not in ("memory", "wrong"):
            return self._select(persona_id, views, as_of)
        if self.experiment.words == "spaces":
            return _best(self._by_spaces(persona_id, as_of), settings.k)
        is_adjusted = given == "memory" and (self.experiment.strength_days or self.experiment.outside == "dropped")
        ranked = replace(settings, k=max(settings.k, settings.depth)) if is_adjusted else settings
        hits = super().search(persona_id, views, as_of, ranked, subject)
        if given == "wrong":
            return tuple(hit for hit in hits if not self.is_named(hit.memory))
        return _best([self._adjust(hit, as_of, subject) for hit in hits], settings.k) if is_adjusted else hits

    def _adjust(self, hit: Hit, as_of: datetime, subject: Subject) -> Hit:
        """Let a hit fade, or drop it if it is outside the times that a question surely asks about.

        A score is multiplied by R = exp(-t / S), t days after the memory was said, as MemoryBank forgets (Zhong et al.
        2024). MemoryBank starts at a strength of S = 1 and adds 1 whenever a memory is recalled. Here nothing is
        recalled before the question that is asked, so that one strength holds for all, and answers do not depend on the
        order of the questions. What has no time does not fade. MemoryBank forgets by chance with a probability of
        1 - R; a factor needs no chance. Times are as in LongMemEval, section 5.4.
        """
        said_at, strength_days = hit.memory.said_at, self.experiment.strength_days
        if strength_days:
            retention = math.exp(-((as_of - said_at) / DAY) / strength_days) if said_at else 1.0
            scores = {**hit.scores, "retention": round(retention, 4)}
            hit = replace(hit, score=hit.score * retention, scores=scores)
        spans = subject.sure_spans if self.experiment.outside == "dropped" else ()
        if spans and not any(is_of_time(hit.memory, span) for span in spans):
            hit = replace(hit, dropped="time", why="outside the time asked about")
        return hit

    def _select(self, persona_id: int, views: Sequence[View], as_of: datetime) -> tuple[Hit, ...]:
        """Memories that were known by `as_of`, in order of time, scored by the cosine to the question.

        "recent" scores them by their place in time, so that a chat model reads as many of the latest as it can.
        """
        given = self.experiment.given
        known = self._known(persona_id, as_of)
        wanted = known if given in WHOLE else [m for m in known if self.is_named(m)]
        if given == "recent":
            return tuple(Hit(m, place / len(wanted), {}) for place, m in enumerate(wanted, start=1))
        vectors = self.embedder.encode_document([m.key for m in wanted])
        near = (vectors @ views[0].vector).tolist()
        return tuple(Hit(m, float(s), {"dense": round(float(s), 4)}) for m, s in zip(wanted, near, strict=True))

    def _known(self, persona_id: int, as_of: datetime) -> list[Memory]:
        """The memories that were known by a moment, in order of time."""
        known = [m for m in self.bank.memories(persona_id) if m.said_at is None or m.said_at <= as_of]
        return sorted(known, key=lambda m: (m.said_at.timestamp() if m.said_at else 0.0, m.id))

    def _by_spaces(self, persona_id: int, as_of: datetime) -> tuple[Hit, ...]:
        """All memories that were known, scored by BM25 over what stands between spaces.

        Like `run_retrieval.py` of LongMemEval's authors: rank-bm25's Okapi with its defaults. Of equal ones the last in
        time comes first, as there.
        """
        from rank_bm25 import BM25Okapi

        known = self._known(persona_id, as_of)[::-1]
        if not known:
            return ()
        scores = BM25Okapi([m.key.split(" ") for m in known]).get_scores(self.query.split(" "))
        return tuple(Hit(m, float(s), {"lexical": float(s)}) for m, s in zip(known, scores, strict=True))


def _best(hits: Sequence[Hit], k: int) -> tuple[Hit, ...]:
    """The best k of each store that are not dropped, then the others."""
    places: Counter[Store] = Counter()
    taken = []
    for hit in sorted(hits, key=lambda hit: -hit.score):
        places[hit.memory.store] += hit.kept
        over = hit.kept and places[hit.memory.store] > k
        taken.append(replace(hit, dropped="rank", why=f"not among the {k} best of its kind") if over else hit)
    return tuple(sorted(taken, key=lambda hit: not hit.kept))


# --- other memory systems


@dataclass
class SystemMemory:
    """Another memory system beside a bank, which only says what it found; it may ask `chat`, which counts the costs."""

    system: MemorySystem
    bank: Bank
    embedder: Embedder
    chat: MeteredChat
    _told_in: dict[str, list[Memory]] = field(default_factory=dict)
    """What the bank holds, by the ids that the system was given; a long turn is several memories."""

    def remember(self, drafts: Iterable[SessionDraft], facts: Iterable[MemoryDraft]) -> None:
        """Tell the system, in the order of time, first what has none; what nobody said is a session of one turn."""
        sessions = []
        for draft in drafts:
            turns = (Turn(t.external_id, t.speaker, t.text, t.said_at or draft.started_at) for t in draft.turns)
            sessions.append(Session(draft.external_id, draft.started_at, tuple(turns)))
        for fact in facts:
            moment = fact.said_at or (fact.event.start if fact.event else None)
            turn = Turn(fact.external_id, fact.speaker, fact.text, moment)
            sessions.append(Session(fact.external_id, moment, (turn,)))
        for session in sorted(sessions, key=lambda session: session.started_at or UNDATED):
            self.system.remember(session)

    def read_bank(self, persona_id: int) -> None:
        """Read what the bank holds."""
        memories = {memory.id: memory for memory in self.bank.memories(persona_id)}
        said = sorted(number for number, memory in memories.items() if memory.store == "dialogue")
        origins = self.bank.origins(persona_id, said)
        self._told_in.clear()
        for number, memory in sorted(memories.items()):
            if name := origins[number][0].external_id if number in origins else memory.external_id:
                self._told_in.setdefault(name, []).append(memory)

    def find(self, question: View, as_of: datetime, k: int) -> tuple[Hit, ...]:
        """What the system finds of what was known, in its order and with its scores; the best k are read.

        Their score "dense" is their cosine to the question, which the reader uses.
        """
        known = {
            turn: memories
            for turn, memories in self._told_in.items()
            if memories[0].said_at is None or memories[0].said_at <= as_of
        }
        scores: dict[int, tuple[Memory, float]] = {}
        for found in self.system.search(question.text, as_of, DEPTH):
            for memory in self._told(found, known):
                scores.setdefault(memory.id, (memory, found.score))
        hits = [Hit(memory, score, {}) for memory, score in scores.values()]
        near = self.embedder.encode_document([hit.memory.key for hit in hits[:k]]) @ question.vector
        read = [replace(h, scores={"dense": round(float(c), 4)}) for h, c in zip(hits[:k], near, strict=True)]
        return (*read, *(replace(h, dropped="rank", why=f"not among the {k} best") for h in hits[k:]))

    def answer(self, question: str, as_of: datetime) -> str | None:
        """The system's own answer, if it gives any."""
        answer: Callable[[str, datetime], str | None] | None = getattr(self.system, "answer", None)
        return answer(question, as_of) if answer else None

    def _told(self, found: Found, known: Mapping[str, Sequence[Memory]]) -> list[Memory]:
        """The memories that a text comes from, by the ids of its turns or else by its words."""
        self.chat.costs.found += 1
        turns: Sequence[str] = found.turns
        if not turns:
            match = matched(found.text, {turn: " ".join(m.text for m in memories) for turn, memories in known.items()})
            turns = (match,) if match else ()
        self.chat.costs.matched += any(turn in self._told_in for turn in turns)
        return [memory for turn in turns for memory in known.get(turn, ())]


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
