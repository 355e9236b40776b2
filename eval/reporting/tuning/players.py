"""Play histories once, in several processes, and measure their retrieval under any constants.

What the weights do not change is computed once a probe: the parsed message, the match of its words and vectors with
each memory, and the memories. Scoring, reranking and the time filter run anew, as the nodes of the pipeline.
"""

import asyncio
import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray
from sqlite_utils import Database

from eval.benchmarks import find
from eval.metrics.evidence import Scoring, score_evidence
from eval.play.engines.schedule import Processes
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import load_models
from eval.play.prediction import ranking
from eval.reporting.tuning.choice import FIGURES, Constants, ProbeValue, Values, with_constants
from eval.runs.experiment import Experiment, Half
from eval.types import History, Prediction, Probe, Sample
from graph.build import PIPELINE
from graph.settings import PipelineSettings
from graph.state import Services, TurnState
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.search.scoring import Candidates, SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.types import Memory

DEPTH = 50
"""Memories of each store that are ranked: enough for the ten best turns, and to see the five best sessions."""


class KeepingSearcher(Searcher):
    """A searcher that computes the candidates of a question once, for settings that differ in weights alone."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        super().__init__(bank, embedder)
        self._candidates_of: dict[tuple[Any, ...], tuple[Candidates, NDArray[np.bool_]]] = {}
        self._memory_of: dict[int, Memory] = {}

    def _candidates(
        self,
        db: Database,
        persona_id: int,
        index: Any,  # noqa: ANN401  # private to memory.search
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings,
        subject: Subject,
    ) -> tuple[Candidates, NDArray[np.bool_]]:
        # With `voice`, a view of the same text has another vector; words are not looked up where they do not count.
        key = (*(view.text for view in views), as_of, subject.sure_spans, settings.voice, settings.dense_weight == 1)
        if key not in self._candidates_of:
            self._candidates_of[key] = super()._candidates(db, persona_id, index, views, as_of, settings, subject)
        return self._candidates_of[key]

    def _memories(self, db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
        missing = [i for i in ids if i not in self._memory_of]
        self._memory_of |= {memory.id: memory for memory in super()._memories(db, persona_id, missing)}
        return [self._memory_of[i] for i in ids]


@dataclass
class RetrievalUnderTest(MemoryUnderTest):
    """One history's bank, and what of each probe does not depend on the weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        services = self._assistant.services
        self._services = replace(services, searcher=KeepingSearcher(self._bank, services.searcher.embedder))
        self._understood: dict[tuple[str, bool, bool], TurnState] = {}

    def find(self, probes: Sequence[Probe], pipeline: PipelineSettings) -> list[Sample]:
        """Rank the memories for each probe under these settings; the samples hold rankings and nothing else.

        Of the settings, only the weights of search and reranking, `views` and `voice` may differ from call to call.
        """
        self._learn()
        settings = replace(pipeline, search=replace(pipeline.search, depth=DEPTH))
        return asyncio.run(self._find(probes, replace(self._services, settings=settings)))

    async def _find(self, probes: Sequence[Probe], services: Services) -> list[Sample]:
        understand, *others = PIPELINE[:-2]  # all but `read` and `persist`
        runtime, settings = Runtime(context=services), services.settings
        samples = []
        for probe in probes:
            key = (probe.id, settings.views, settings.search.voice)
            if key not in self._understood:
                asked: TurnState = {"ask": self._message(probe)}
                self._understood[key] = {**asked, **await understand(asked, runtime)}
            state = self._understood[key].copy()
            for node in others:
                state.update(await node(state, runtime))
            found = ranking(state.get("hits", ()), self._ids)
            samples.append(Sample(probe, Prediction(probe.id, self.history.id, {}, found)))
        return samples


Part = tuple[str, Half]
"""A benchmark's name, and one of its halves."""

PartValues = dict[Part, list[ProbeValue]]
Work = Sequence[tuple[Part, History]]


class Player:
    """Histories, each played once into a bank of its own as soon as it is first asked."""

    def __init__(self, work: Work, experiment: Experiment, cache: Path) -> None:
        self._work = work
        self._experiment = experiment
        self._models = load_models(experiment, cache)
        self._folder = TemporaryDirectory(prefix="memoir-tune-")
        self._memory = functools.cache(self._play)

    def measure(self, constants: Constants, parts: Collection[Part]) -> PartValues:
        """The values of every probe with evidence in these parts, in the order of the histories."""
        pipeline = with_constants(self._experiment, constants).pipeline
        found: PartValues = {part: [] for part in parts}
        for number, (part, history) in enumerate(self._work):
            if part in found:
                probes = [probe for probe in history.probes if probe.counted and probe.gold.evidence]
                samples = self._memory(number).find(probes, pipeline)
                found[part].extend(_values(part[0], samples))
        return found

    def _play(self, number: int) -> RetrievalUnderTest:
        home, history = Path(self._folder.name) / str(number), self._work[number][1]
        home.mkdir()
        memory = RetrievalUnderTest(home, history, self._experiment, self._models)
        memory.remember(history.sessions, history.memories)
        return memory


def _values(benchmark: str, samples: Sequence[Sample]) -> Iterator[ProbeValue]:
    """The mean of those figures of the benchmark that each probe has."""
    names = FIGURES[benchmark]
    cutoffs = sorted({int(name.partition("@")[2]) for name in names})
    scoring = Scoring(find(benchmark).scoring.level, tuple(cutoffs))
    for sample, scores in zip(samples, score_evidence(samples, scoring), strict=True):
        values = [value for name in names if (value := scores.get(name)) is not None]
        if values:
            yield ProbeValue(sample.prediction.history_id, sum(values) / len(values))


class Measurements:
    """What several players measured, by setting, so that none is measured twice."""

    def __init__(self, players: Sequence[Callable[..., Future[PartValues]]]) -> None:
        self._players = players
        self.kept: dict[tuple[float, ...], PartValues] = defaultdict(dict)

    def measure(self, parts: Collection[Part], constants: Constants) -> Values:
        """The values of every probe with evidence in these parts, those of a benchmark's halves together."""
        kept = self.kept[tuple(constants.values())]
        if missing := [part for part in parts if part not in kept]:
            try:
                asked = [player("measure", constants, missing) for player in self._players]
                found = [each.result() for each in asked]
            except Processes.deaths:
                raise MemoirError("A process that measured was killed, perhaps because memory ran out") from None
            kept |= {part: list(chain.from_iterable(each[part] for each in found)) for part in missing}
        together: dict[str, list[ProbeValue]] = defaultdict(list)
        for part in parts:
            together[part[0]].extend(kept[part])
        return together


@contextmanager
def play(work: Work, experiment: Experiment, cache: Path, jobs: int) -> Iterator[Measurements]:
    """Play these histories in so many processes, each of which gets about as many probes."""
    ordered = sorted(work, key=lambda one: -len(one[1].probes)) if jobs > 1 else work
    shares = [ordered[first::jobs] for first in range(min(jobs, len(ordered)))]
    with Processes([experiment], cache, jobs) as processes:
        yield Measurements([processes.start(Player, share, experiment, cache) for share in shares])
