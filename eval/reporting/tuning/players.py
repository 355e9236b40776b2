"""Play histories once, in several processes, and measure their retrieval under any constants."""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.benchmarks import find
from eval.metrics.evidence import Scoring, score_evidence
from eval.play.engines.schedule import Processes
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import load_models
from eval.reporting.tuning.choice import FIGURES, Constants, ProbeValue, Values, with_constants
from eval.runs.experiment import Experiment, Half
from eval.types import Costs, History, Sample
from memory.errors import MemoirError

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
        experiment = with_constants(self._experiment, constants)
        found: PartValues = {part: [] for part in parts}
        for number, (part, history) in enumerate(self._work):
            if part in found:
                memory = self._memory(number)
                memory.ask_as(experiment, Costs())
                probes = (probe for probe in history.probes if probe.counted and probe.gold.evidence)
                found[part] += _values(part[0], [Sample(probe, memory.ask(probe)) for probe in probes])
        return found

    def _play(self, number: int) -> MemoryUnderTest:
        home, history = Path(self._folder.name) / str(number), self._work[number][1]
        home.mkdir()
        memory = MemoryUnderTest(home, history, self._experiment, self._models)
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
