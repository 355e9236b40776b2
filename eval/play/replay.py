"""Replay a history: store its sessions in a fresh bank, ask its probes, and count the costs."""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from eval.metrics.answers import verdict
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import CachedEmbedder, Models
from eval.play.pooled import Pool
from eval.play.simulation.names import rename
from eval.play.simulation.simulate import plan, simulate
from eval.runs.experiment import Experiment
from eval.runs.run import HistoryCosts
from eval.types import Costs, History, Prediction, Probe, Sample

Outcome = Sample | HistoryCosts


@dataclass(frozen=True, slots=True)
class Replay:
    """A history to replay, and the probes that each experiment asks of it, by the experiment's number."""

    history: History
    probes: Mapping[int, tuple[Probe, ...]]


def replay(
    task: Replay, experiments: Sequence[Experiment], models: Models, stop: Event
) -> Iterator[tuple[int, Outcome]]:
    """Store a history in a fresh bank and ask its probes.

    Yields each sample as it is answered, by the number of its experiment, and what each experiment cost. Probes that
    belong to a session are asked while that session is played (DialSim); all others after the last one, where the date
    of a probe decides what is known. The experiments store the same (`Experiment.storing` is equal), so the first one
    to ask pays for storing.
    """
    embedder, memory = models.embedder, None
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        for number, probes in task.probes.items():
            seconds, texts, cached = embedder.seconds, embedder.texts, embedder.cached
            started, costs = time.perf_counter(), Costs()
            if task.history.is_simulated:
                samples = _simulate(replace(task.history, probes=probes), experiments[number], models, costs)
            else:
                if memory is None:
                    memory = _store(Path(home), task.history, experiments[number], models, costs)
                memory.ask_as(experiments[number], costs)
                samples = (_sample(probe, memory.ask(probe), embedder) for probe in probes)
            for sample in samples:
                yield number, sample
                if stop.is_set():
                    return
            spent = embedder.seconds - seconds, embedder.texts - texts, embedder.cached - cached
            skips = tuple((skip.place, skip.reason) for skip in task.history.skips)
            yield number, HistoryCosts(task.history.id, costs, *spent, time.perf_counter() - started, skips)


def _simulate(history: History, experiment: Experiment, models: Models, costs: Costs) -> Iterator[Sample]:
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        # Only the simulator replays under other names; elsewhere the probes would keep the old ones.
        played = rename(history, experiment.simulation.names, experiment.seed)
        memory = MemoryUnderTest(Path(home), played, experiment, models, costs)
        for probe, prediction in simulate(played, memory, experiment.simulation, experiment.seed):
            yield _sample(probe, prediction, models.embedder)


def count_asked(history: History, experiment: Experiment) -> int:
    """Count the probes that a replay will ask: at most one a session in a simulation, otherwise all of them."""
    if not history.is_simulated:
        return len(history.probes)
    renamed = rename(history, experiment.simulation.names, experiment.seed)
    return len(plan(renamed, experiment.simulation, experiment.seed))


def _store(home: Path, history: History, experiment: Experiment, models: Models, costs: Costs) -> MemoryUnderTest:
    memory = MemoryUnderTest(home, history, experiment, models, costs)
    if isinstance(history, Pool):
        for part, own in history.parts():
            memory.start_part(part, own)
            memory.remember(part.sessions, part.memories)
    else:
        memory.remember(history.sessions, history.memories)
    return memory


def _sample(probe: Probe, prediction: Prediction, embedder: CachedEmbedder) -> Sample:
    """An answer with its verdict by rule, and the cosine of it and the nearest gold answer where there are both."""
    if probe.gold.answers and prediction.answer and not prediction.abstained:
        answer, *golds = embedder.encode([prediction.answer, *probe.gold.answers])
        prediction = replace(prediction, similarity=round(max(float(gold @ answer) for gold in golds), 4))
    return Sample(probe, prediction, verdict(probe, prediction))
