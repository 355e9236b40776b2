"""Replay a history: store its sessions in a fresh bank, ask its probes, and count the costs."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path

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
Stop = threading.Event | ProcessEvent


def replay_with_costs(history: History, experiment: Experiment, models: Models, stop: Stop) -> Iterator[Outcome]:
    """Yield each sample of a history as it is answered, and at the end what the history cost."""
    embedder = models.embedder
    seconds, texts, found = embedder.seconds, embedder.texts, embedder.found
    started, costs = time.perf_counter(), Costs()
    for sample in replay(history, experiment, models, costs):
        yield sample
        if stop.is_set():
            return
    yield HistoryCosts(
        history.id,
        costs,
        embedder.seconds - seconds,
        embedder.texts - texts,
        embedder.found - found,
        time.perf_counter() - started,
        tuple((skip.place, skip.reason) for skip in history.skips),
    )


def replay(history: History, experiment: Experiment, models: Models, costs: Costs) -> Iterator[Sample]:
    """Store a history in a fresh bank and ask each probe as of its date.

    Probes that belong to a session are asked while that session is played (DialSim); all others after the last one,
    where the date of a probe decides what is known. `costs` is added to.
    """
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        # Only the simulator replays under other names; elsewhere the probes would keep the old ones.
        played = rename(history, experiment.simulation.names, experiment.seed) if _is_simulated(history) else history
        memory = MemoryUnderTest(Path(home), played, experiment, models, costs)
        for probe, prediction in _predictions(history, memory, experiment):
            similarity = _similarity(models.embedder, probe, prediction)
            prediction = replace(prediction, similarity=similarity)
            yield Sample(probe, prediction, verdict(probe, prediction))


def count_asked(history: History, experiment: Experiment) -> int:
    """Count the probes that a replay will ask: at most one a session in a simulation, otherwise all of them."""
    if not _is_simulated(history):
        return len(history.probes)
    renamed = rename(history, experiment.simulation.names, experiment.seed)
    return len(plan(renamed, experiment.simulation, experiment.seed)[0])


def _is_simulated(history: History) -> bool:
    return any(probe.asked_in for probe in history.probes)


def _predictions(
    history: History, memory: MemoryUnderTest, experiment: Experiment
) -> Iterator[tuple[Probe, Prediction]]:
    if _is_simulated(history):
        yield from simulate(history, memory, experiment.simulation, experiment.seed)
        return
    if isinstance(history, Pool):
        for part in history.parts():
            memory.start_part(part)
            memory.remember(part.sessions, part.memories)
    else:
        memory.remember(history.sessions, history.memories)
    for probe in history.probes:
        yield probe, memory.ask(probe)


def _similarity(embedder: CachedEmbedder, probe: Probe, prediction: Prediction) -> float | None:
    """The cosine of the answer and the nearest gold answer; None where either is missing."""
    if not probe.gold.answers or not prediction.answer or prediction.abstained:
        return None
    answer, *golds = embedder.encode([prediction.answer, *probe.gold.answers])
    return round(max(float(gold @ answer) for gold in golds), 4)
