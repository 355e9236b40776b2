"""The memory under test: a fresh bank, filled through the same `remember` as a chat, and asked as of a date."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from eval.play.ids import BenchmarkIds, check_stored, hide_persona, make_prediction, sort_by_time_and_digest
from eval.play.models import Models, read_time_range
from eval.play.searchers import WHOLE, ExperimentSearcher, SystemMemory
from eval.play.session_rewriter import SessionRewriter
from eval.play.simulation.choices import dont_know, show
from eval.play.systems.contract import MEMOIR, MeteredChat
from eval.play.systems.registry import open_system
from eval.runs.experiment import WHOLE_SESSIONS, Experiment
from eval.runs.run import memories_read
from eval.types import Costs, Gold, History, Prediction, Probe
from graph.assistant import Assistant
from graph.learning.learner import learn_from_sessions
from graph.models.calls import ModelFailed
from graph.settings import RerankSettings
from graph.state import USER, Ask, Reading, Services, TraceLine
from graph.understanding.times import day_said
from memory.bank.bank import Bank
from memory.bank.queries.deletion import select_session
from memory.dates.expressions import TimeExpression
from memory.errors import MemoirError
from memory.forgetting.forget import forget_selected
from memory.search.indexer import embed_all
from memory.types import SEMANTIC, Memory, MemoryDraft, SessionDraft, Store, TurnDraft

DEPTH = 1000
"""Memories of each store that are ranked: enough to see 50 distinct sessions among their turns."""

EVERYTHING = 1_000_000

SETTING = "setting-"
"""Begins the values of `given` that name a setting of the benchmark."""


@dataclass
class MemoryUnderTest:
    """One history's bank, and the assistant that answers from it. `costs` adds up what that takes."""

    home: Path
    history: History
    experiment: Experiment
    models: Models
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        self._is_learned = True
        self.start_part(self.history, self.history)
        self._bank = Bank(self.home / "bank.db")
        self._persona = self._bank.create_persona(hide_persona(self.history.persona))
        self._ids = BenchmarkIds(self.history, self._bank, self._persona.id)
        self._chat, embedder = MeteredChat(self.models.chat, self.costs), self.models.embedder
        self._system: SystemMemory | None = None
        if self.experiment.system != MEMOIR and not self.experiment.found_by:
            system = open_system(self.experiment.system, self.home / "system", embedder, self._chat)
            self._system = SystemMemory(system, self._bank, embedder, self._chat)
        self._searcher = ExperimentSearcher(self._bank, embedder, self.experiment, self._system)
        self.ask_as(self.experiment, self.costs)

    def ask_as(self, experiment: Experiment, costs: Costs) -> None:
        """Ask from here on as another experiment does, of which the same is stored, and add to other costs."""
        self.experiment = self._searcher.experiment = experiment
        self.costs = self._chat.costs = costs
        # A ranking of full depth changes no answer.
        pipeline = experiment.pipeline
        settings = replace(pipeline, search=replace(pipeline.search, depth=DEPTH))
        if experiment.given in (*WHOLE, "found"):
            settings = replace(settings, budget=EVERYTHING)
        if experiment.system != MEMOIR:  # its order is its own, so that no class of the question may change it
            settings = replace(settings, rerank=RerankSettings())
        services = Services(self._bank, self._searcher, self.models.classifier, settings, model=self.models.chat)
        self._assistant = Assistant(services)

    # --- storing

    def start_part(self, part: History, own: History) -> None:
        """Turn to the next history of a pool: its word weights and its gold apply to what is remembered from here.

        The gold is under pooled ids and under the history's own.
        """
        self._rewriter = SessionRewriter(self.experiment, part.sessions)
        self._golds = tuple(probe.gold for probe in (*part.probes, *own.probes))

    def remember(self, sessions: Iterable[SessionDraft], memories: Sequence[MemoryDraft] = ()) -> None:
        """Store sessions, in order of time, and memories that no session said; skip what is stored already.

        Raises `MemoirError` if something to be stored names the evidence.
        """
        ordered = sort_by_time_and_digest(sessions) if self._is_remembered("dialogue") else ()
        drafts = [draft for session in ordered if (draft := self._rewrite(session)).turns]
        # Of equal hits the older comes first, so the order of storing must not depend on the order of the file.
        facts = sorted(
            (self._ids.hide_memory(m, n) for n, m in enumerate(memories) if self._is_remembered(m.store)),
            key=lambda m: m.external_id,
        )
        check_stored(self._golds, drafts, facts)
        self._forget_shorter_versions(drafts)
        started = time.perf_counter()
        stored = self._bank.remember(self._persona.id, drafts)
        if facts:
            stored += self._bank.add_memories(self._persona.id, facts)
        if self._system:
            # Another system is timed alone: beside it, the bank only says which turns it found.
            started = time.perf_counter()
            self._system.remember(drafts, facts)
        self.costs.import_s += time.perf_counter() - started
        self.costs.turns += stored.turns
        self.costs.memories += stored.memories
        for memory in facts:
            self._ids.record(memory.external_id, (memory.external_id,))
        self._ids.bank_changed()
        self._is_learned = False
        self._embed()

    def _embed(self) -> None:
        """Embed what was stored and will be searched, unless another system does so itself, and see how large it is."""
        folder = self.home / "system"
        if not self._system and not self.experiment.found_by:
            folder, started = self.home, time.perf_counter()
            embed_all(self._bank, self.models.embedder, self._persona.id)
            self.costs.embed_s += time.perf_counter() - started
        self.costs.bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())

    def _learn(self) -> None:
        """Learn from what was stored since the last question: once a question, not once a turn.

        It learns only from whole turns, since facts need their speaker, and only where no store is left out.
        """
        if self._is_learned:
            return
        self._is_learned, tried = True, self.experiment
        if self._system:
            self._system.read_bank(self._persona.id)
        if (tried.system, tried.granularity, tried.remembered) != (MEMOIR, "turn", "both"):
            return
        started, engine = time.perf_counter(), tried.pipeline.learner
        done = learn_from_sessions(self._bank, engine, self.models.chat)
        self.costs.learned += done.sessions if engine == "llm" else 0
        self.costs.by_rules += done.by_rules
        self.costs.import_s += time.perf_counter() - started
        self._ids.bank_changed()
        self._embed()

    def _is_remembered(self, store: Store) -> bool:
        kind = self.experiment.remembered
        return kind == "both" or (store in SEMANTIC) == (kind == "semantic")

    def _rewrite(self, session: SessionDraft) -> SessionDraft:
        hidden = self._ids.hide_session(session)
        if self.experiment.indexed == "user":
            others = (turn.external_id for turn in hidden.turns if turn.role != "user")
            self._ids.unindexed.update(self._ids.originals[each] for each in others)
        draft, holds = self._rewriter.rewrite(hidden)
        for external_id, units in holds.items():
            self._ids.record(external_id, units)
        return draft

    def _forget_shorter_versions(self, sessions: Sequence[SessionDraft]) -> None:
        """Forget the part of a session that was stored before, where one memory holds more than a turn."""
        if self.experiment.granularity == "turn":
            return
        coming = {self._ids.originals[session.external_id] for session in sessions}
        for number in [number for number, name in self._ids.sessions.items() if name in coming]:
            forget_selected(self._bank, [self._persona.id], select_session(number))

    # --- asking

    def ask(self, probe: Probe) -> Prediction:
        """Ask a probe as of its date; store nothing of it.

        As in DialSim's program, the search gets the question alone; a chat model that reads sees the choices, too. The
        extractive reader does not: its answer is matched to them.

        Raises:
            MemoirError: a memory was found that was said after the probe's date, or the benchmark gives the probe
                nothing in the setting of the experiment.
            ModelFailed: the chat model does not answer. Another reader's answer would be no measurement of it.
        """
        self._learn()
        self._searcher.is_named = self._is_named(probe)
        self._searcher.query = probe.query or (probe.question if self.experiment.words == "spaces" else "")
        started = time.perf_counter()
        line: TraceLine | None = None
        times = self._evidence_times(probe.gold) if self.experiment.times == "oracle" else None
        if self.experiment.times == "model":
            times, line = read_time_range(probe.question, probe.asked_at, self.models.chat)
        message, assistant = self._message(probe, times), self._assistant
        is_wanted = self.experiment.answered_by == "system" and self.experiment.pipeline.reader != "none"
        asked = message.with_choices or message.text
        own = self._system.answer(asked, message.as_of) if self._system and is_wanted else None
        if own is not None:
            services = assistant.services
            assistant = Assistant(replace(services, settings=replace(services.settings, reader="none")))
        answer = assistant.ask(message)
        seconds = time.perf_counter() - started
        for memory in (hit.memory for hit in answer.hits):
            if memory.said_at is not None and memory.said_at > (by := probe.asked_at):
                raise MemoirError(f"memory {memory.id} was said {memory.said_at}, after it was asked for ({by})")
        if answer.reading.unreachable:
            raise ModelFailed(
                f"{answer.reading.notice} Earlier answers are kept; run the same command again to continue"
            )
        self.costs.probes += 1
        if own is not None:  # it cites nothing, and may say "I don't know"
            abstained = not own.strip() or dont_know([own]) is not None
            answer = replace(answer, reading=Reading(own, abstained=abstained, by=self.experiment.system))
        if line is not None:
            answer = replace(answer, trace=(*answer.trace, line))
        return make_prediction(probe, self.history.id, answer, self._ids, seconds)

    def _message(self, probe: Probe, times: tuple[TimeExpression, ...] | None) -> Ask:
        asked, given = probe.question, self.experiment.given
        kinds, engine = self.models.kinds, self.experiment.pipeline.classifier
        shown = probe.shown or show(asked, probe.choices, self.experiment.simulation.answers)
        return Ask(
            self._persona,
            asked,
            probe.asked_at,
            "probe",
            self._dialogue_before(probe),
            remember=False,
            times=times,
            # A setting of the benchmark, or nothing beside it, stands in for what the memory finds.
            handed_in=given.startswith(SETTING) or (given == "nothing" and bool(probe.candidates)),
            only_found=given != "memory",
            with_choices=shown if shown != asked else "",
            # The classifier trained on the benchmark takes the learned one's place.
            stores=kinds.stores(asked) if kinds is not None and engine == "learned" else None,
        )

    def _is_named(self, probe: Probe) -> Callable[[Memory], bool]:
        """Which memories the experiment names: those of another run, the candidates of a setting, or the evidence."""
        given = self.experiment.given
        if given == "found":
            read = memories_read(self.experiment.found_by)[self.history.id, probe.id]
            return lambda memory: (memory.store, self._ids.units_of(memory)) in read
        if given.startswith(SETTING) and given not in probe.candidates:
            raise MemoirError(
                f"there are no candidates of {given} for {probe.id}. Only MADial-Bench has any; put its files of "
                "candidates beside the dialogues"
            )
        named = probe.candidates[given] if given.startswith(SETTING) else self._evidence(probe.gold)
        return lambda memory: self._ids.holds_any(memory, named)

    def _dialogue_before(self, probe: Probe) -> tuple[TurnDraft, ...]:
        """The dialogue before a probe, with the questions that are asked before it and their answers."""
        dialogue = probe.dialogue
        for question in probe.after:
            ask = Ask(self._persona, question, probe.asked_at, "probe", dialogue, remember=False)
            reading = self._assistant.ask(ask).reading
            cited = tuple(citation.memory.id for citation in reading.citations)
            reply = TurnDraft(self._persona.name, "assistant", reading.answer, probe.asked_at, cites=cited)
            dialogue = (*dialogue, TurnDraft(USER, "user", question, probe.asked_at), reply)
        return dialogue

    def _evidence(self, gold: Gold) -> tuple[str, ...]:
        """The ids of the evidence: whole sessions where a memory holds one, since not each has a marked turn."""
        return gold.sessions or gold.evidence if self.experiment.granularity in WHOLE_SESSIONS else gold.evidence

    def _evidence_times(self, gold: Gold) -> tuple[TimeExpression, ...]:
        """When the evidence happened, or else the days on which it was said."""
        named = self._evidence(gold)
        evidence = (m for m in self._bank.memories(self._persona.id) if self._ids.holds_any(m, named))
        spans = dict.fromkeys(m.event or (day_said(m.said_at) if m.said_at else None) for m in evidence)
        return tuple(TimeExpression("", 0, 0, span) for span in spans if span)
