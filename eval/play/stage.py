"""Where a history is played: a fresh bank, filled through the same `remember` as a chat, and asked as of a date."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from eval.experiment import Experiment
from eval.play.memory_keys import Values
from eval.play.opaque_ids import Veil, check_shown, check_stored, in_order
from eval.play.pooled import Part
from eval.play.reader_input import EvidenceSearcher
from eval.play.simulation.simulate import choose
from eval.types import Found, Gold, History, Place, Prediction, Probe, Shown
from graph.assistant import Answer, Assistant
from graph.learning.learner import consolidate
from graph.models import ModelFailed
from graph.settings import PipelineSettings
from graph.state import Ask, Services
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.dates.expressions import TimeExpression
from memory.embedding.embedder import Embedder
from memory.forgetting.forget import forget_session
from memory.search.indexer import embed_all
from memory.search.searcher import Searcher
from memory.types import SEMANTIC, STORES, Hit, Memory, MemoryDraft, SessionDraft, Store, TimeSpan, TurnDraft

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEPTH = 1000
"""Memories of each store that are ranked: enough to see 50 distinct sessions among their turns."""

RANKED = 50
"""Hits of each kind and distinct sessions that a prediction keeps of the ranking: the largest k of any protocol."""

SHOWN = 30
SHOWN_CHARACTERS = 600
"""Hits, and characters of each, that a prediction keeps in words for the one who looks into it."""

EVERYTHING = 1_000_000

DAY = timedelta(days=1)


@dataclass
class Costs:
    """What it took to store and ask one history: seconds, and counts of what they were spent on."""

    import_s: float = 0.0
    turns: int = 0
    memories: int = 0
    embed_s: float = 0.0
    ask_s: float = 0.0
    probes: int = 0


@dataclass
class Stage:
    """One history's bank, and the assistant that is asked from it."""

    home: Path
    history: History
    experiment: Experiment
    embedder: Embedder
    classifier: Classifier
    costs: Costs = field(default_factory=Costs)
    model: BaseChatModel | None = None

    def __post_init__(self) -> None:
        self._veil = Veil(self.history)
        self._values = Values(self.experiment, self.history.sessions)
        self._holds: dict[str, tuple[str, ...]] = {}
        self._units: set[str] = set()
        self._told: dict[int, str] | None = None
        self._learned: dict[int, tuple[str, ...]] = {}
        self._is_learned = True
        self._golds = tuple(probe.gold for probe in self.history.probes)
        bank = Bank(self.home / "bank.db")
        self._persona = bank.create_persona(self._veil.persona(self.history.persona))
        self._services = Services(
            bank, self._searcher(bank), self.classifier, settings(self.experiment), model=self.model
        )

    # --- what is told

    def take_up(self, part: Part) -> None:
        """Turn to one history of a pool: its words' weights and its gold are those that count for what is told next."""
        self._values = Values(self.experiment, part.sessions)
        self._golds = part.golds

    def remember(self, sessions: Iterable[SessionDraft], memories: Sequence[MemoryDraft] = ()) -> None:
        """Store sessions, in order of time, and memories of their own; what is stored already is left as it is."""
        veiled = [self._prepare(session) for session in in_order(sessions) if self._is_remembered("dialogue")]
        # Of equal hits the older goes first, so what is older must not be for the file to decide.
        apart = sorted(
            (self._veil.memory(m, n) for n, m in enumerate(memories) if self._is_remembered(m.store)),
            key=lambda m: m.external_id,
        )
        check_stored(self._golds, veiled, apart)
        self._make_room(veiled)
        started = time.perf_counter()
        bank = self._services.bank
        stored = bank.remember(self._persona.id, veiled)
        if apart:
            stored += bank.add_memories(self._persona.id, apart)
        self.costs.import_s += time.perf_counter() - started
        self.costs.turns += stored.turns
        self.costs.memories += stored.memories
        for memory in apart:
            self._hold(memory.external_id, (memory.external_id,))
        self._told = None
        self._is_learned = False
        self._embed()

    def _embed(self) -> None:
        started = time.perf_counter()
        embed_all(self._services.bank, self.embedder, self._persona.id)
        self.costs.embed_s += time.perf_counter() - started

    def _learn(self) -> None:
        """Learn from what was told since the last question, once a question and not once a turn.

        Only turns as they were said, for a speaker's words are theirs; and not what an experiment leaves out.
        """
        whole = self.experiment.granularity == "turn" and self.experiment.remembered == "both"
        if self._is_learned or not whole:
            return
        started = time.perf_counter()
        consolidate(self._services.bank, self.experiment.pipeline.learner, self.model)
        self.costs.import_s += time.perf_counter() - started
        self._learned.clear()
        self._embed()
        self._is_learned = True

    def _is_remembered(self, store: Store) -> bool:
        kind = self.experiment.remembered
        return kind == "both" or (store in SEMANTIC) == (kind == "semantic")

    def _prepare(self, session: SessionDraft) -> SessionDraft:
        stored, holds = self._values.of(self._veil.session(session))
        for unit, held in holds.items():
            self._hold(unit, held)
        return stored

    def _hold(self, unit: str, held: Sequence[str]) -> None:
        self._holds[unit] = tuple(self._veil.name(h) for h in held)
        self._units.update(self._holds[unit])

    @property
    def _sessions(self) -> dict[int, str]:
        """The bank's sessions by number, under the benchmark's own ids."""
        if self._told is None:
            told = self._services.bank.sessions(self._persona.id)
            self._told = {s.id: self._veil.name(s.external_id) for s in told}
        return self._told

    def _make_room(self, sessions: Sequence[SessionDraft]) -> None:
        """Forget the part of a session that was told before, where more than a turn makes one memory."""
        if self.experiment.granularity == "turn":
            return
        coming = {self._veil.name(session.external_id) for session in sessions}
        for number in [number for number, name in self._sessions.items() if name in coming]:
            forget_session(self._services.bank, self._persona.id, number)

    # --- what is asked

    def ask(self, probe: Probe, question: str = "", dialogue: Sequence[TurnDraft] = ()) -> Prediction:
        """Ask a probe (in other words, if `question` is given) as of its date; nothing of it is remembered."""
        self._learn()
        searcher = self._services.searcher
        if isinstance(searcher, EvidenceSearcher):
            searcher.is_evidence = partial(self._is_evidence, probe.gold)
        ask = Ask(
            self._persona,
            question or probe.question,
            probe.asked_at,
            "probe",
            tuple(dialogue) or probe.dialogue,
            remember=False,
            times=self._times(probe.gold) if self.experiment.times == "oracle" else None,
        )
        started = time.perf_counter()
        answer = Assistant(self._services).ask(ask)
        took = time.perf_counter() - started
        check_shown(answer.hits, probe.asked_at)
        if answer.reading.unreachable:  # an answer of another reader is no measurement of this one
            raise ModelFailed(f"{answer.reading.notice} What was answered is kept; the same command goes on from there")
        self.costs.ask_s += took
        self.costs.probes += 1
        return self._prediction(probe, answer, took)

    def _is_evidence(self, gold: Gold, memory: Memory) -> bool:
        named = gold.turns or gold.items or gold.sessions
        return self._session_of(memory) in named or any(held in named for held in self._held(memory))

    def _times(self, gold: Gold) -> tuple[TimeExpression, ...]:
        spans = []
        for memory in filter(partial(self._is_evidence, gold), self._services.bank.memories(self._persona.id)):
            if memory.event is not None:
                spans.append(memory.event)
            elif memory.said_at is not None:
                start = memory.said_at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
                spans.append(TimeSpan(start, start + DAY))
        return tuple(TimeExpression("", 0, 0, span) for span in dict.fromkeys(spans))

    def _searcher(self, bank: Bank) -> Searcher:
        if self.experiment.given == "memory":
            return Searcher(bank, self.embedder)
        return EvidenceSearcher(bank, self.embedder, self.experiment.given)

    def _session_of(self, memory: Memory) -> str:
        return self._sessions.get(memory.session_id or 0, "")

    # --- what came of it

    def _prediction(self, probe: Probe, answer: Answer, took: float) -> Prediction:
        reading = answer.reading
        lines = {line.node: line for line in answer.trace}
        read = lines["read"].figures.get("best note", 0.0)
        stores = {str(s): lines["classify"].figures[s] for s in STORES}
        return Prediction(
            probe.id,
            self.history.id,
            stores,
            self._found(answer.hits),
            reading.answer,
            reading.abstained,
            reading.reason or "",
            tuple(unit for c in reading.citations for unit in self._held(c.memory)),
            round(read, 4),
            choice=choose(reading.answer, reading.abstained, probe.choices) if probe.choices else None,
            stored=tuple(sorted(self._stored(probe.gold))),
            shown=tuple(self._shown(hit) for hit in answer.hits[:SHOWN]),
            trace=tuple(f"{line.node}: {line.decided}" for line in answer.trace),
            milliseconds={line.node: line.milliseconds for line in answer.trace if line.milliseconds},
            response_ms=round(took * 1000, 2),
            tokens_in=sum(int(line.figures.get("tokens in", 0)) for line in answer.trace),
            tokens_out=sum(int(line.figures.get("tokens out", 0)) for line in answer.trace),
            reader=reading.by,
        )

    def _held(self, memory: Memory) -> tuple[str, ...]:
        if memory.external_id:
            return self._holds.get(memory.external_id, ())
        if memory.id not in self._learned:
            said = self._services.bank.sources(self._persona.id, memory.id)
            held = (unit for turn in said for unit in self._holds.get(turn.external_id, ()))
            self._learned[memory.id] = tuple(dict.fromkeys(held))
        return self._learned[memory.id]

    def _found(self, hits: Sequence[Hit]) -> tuple[Found, ...]:
        return tuple(worth_keeping(self._as_found(hit) for hit in hits))

    def _as_found(self, hit: Hit) -> Found:
        memory = hit.memory
        place: Place = "filtered" if hit.dropped == "time" else "read" if hit.kept else "beyond"
        return Found(self._held(memory), self._session_of(memory), memory.store, round(hit.score, 5), place)

    def _shown(self, hit: Hit) -> Shown:
        memory = hit.memory
        said = memory.event_text or (memory.said_at.isoformat() if memory.said_at else "")
        text = memory.text[:SHOWN_CHARACTERS]
        return Shown(self._held(memory), memory.store, memory.speaker, text, said, dict(hit.scores), hit.kept, hit.why)

    def _stored(self, gold: Gold) -> set[str]:
        sessions = set(self._sessions.values())
        return {i for i in (*gold.turns, *gold.items, *gold.sessions) if i in self._units or i in sessions}


def worth_keeping(ranking: Iterable[Found]) -> Iterator[Found]:
    """The part of a ranking that a metric or the attribution can look at; no figure depends on the rest.

    All that was read; the first `RANKED` that bring new units, of what was said, of what was not, and of what time
    filtered out; and the first of each of the first `RANKED` sessions.
    """
    kept: Counter[str] = Counter()
    units: set[str] = set()
    sessions: set[str] = set()
    for hit in ranking:
        kind = "filtered" if hit.place == "filtered" else "said" if hit.session else "apart"
        is_new = kept[kind] < RANKED and not units.issuperset(hit.units)
        widens = kind == "said" and hit.session not in sessions and len(sessions) < RANKED
        if hit.place == "read" or is_new or widens:
            yield hit
        kept[kind] += is_new
        if kind != "filtered":
            units.update(hit.units)
            sessions.update([hit.session] if hit.session else [])


def settings(experiment: Experiment) -> PipelineSettings:
    """The pipeline's settings with the ranking shown to its end, which changes no answer."""
    pipeline = experiment.pipeline
    budget = EVERYTHING if experiment.given == "everything" else pipeline.budget
    return replace(pipeline, search=replace(pipeline.search, depth=DEPTH), budget=budget)
