"""A history played from its first session to its last probe."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eval.embeddings import CachedEmbedder
from eval.experiment import Experiment
from eval.metrics.answers import verdict
from eval.names import rename
from eval.simulate import simulate
from eval.stage import Costs, Stage
from eval.types import History, Prediction, Probe, Sample
from graph.classifier import Classifier


@dataclass(frozen=True, slots=True)
class Tools:
    """The models that a replay works with."""

    embedder: CachedEmbedder
    classifier: Classifier


def replay(history: History, experiment: Experiment, tools: Tools, costs: Costs) -> Iterator[Sample]:
    """Tell a fresh bank the whole history, or as much as was said by then, and ask each probe as of its date.

    Probes that belong to a session are asked while it goes on (DialSim); all others at the end, where the date at
    which they are asked decides what is known. `costs` is added to on the way.
    """
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        told = rename(history, experiment.simulation.names, experiment.seed)
        stage = Stage(Path(home), told, experiment, tools.embedder, tools.classifier, costs)
        for probe, prediction in _played(history, stage, experiment):
            alike = _similarity(tools.embedder, probe, prediction)
            prediction = replace(prediction, similarity=alike)
            yield Sample(probe, prediction, verdict(probe, prediction))


def _played(history: History, stage: Stage, experiment: Experiment) -> Iterator[tuple[Probe, Prediction]]:
    if any(probe.asked_in for probe in history.probes):
        yield from simulate(history, stage, experiment.simulation, experiment.seed)
        return
    stage.remember(history.sessions, history.memories)
    for probe in history.probes:
        yield probe, stage.ask(probe)


def _similarity(embedder: CachedEmbedder, probe: Probe, prediction: Prediction) -> float | None:
    """The cosine of the answer and the gold answer nearest to it."""
    if not probe.gold.answers or not prediction.answer or prediction.abstained:
        return None
    answer, *golds = embedder.encode([prediction.answer, *probe.gold.answers])
    return round(max(float(gold @ answer) for gold in golds), 4)
