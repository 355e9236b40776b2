"""A history played from its first session to its last probe."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.experiment import Experiment
from eval.metrics.answers import verdict
from eval.play.embeddings import CachedEmbedder
from eval.play.pooled import Pool
from eval.play.simulation.names import rename
from eval.play.simulation.simulate import plan, simulate
from eval.play.stage import Costs, Stage
from eval.types import History, Prediction, Probe, Sample
from graph.understanding.classifier import Classifier

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Tools:
    """The models that a replay works with."""

    embedder: CachedEmbedder
    classifier: Classifier
    model: BaseChatModel | None = None


def replay(history: History, experiment: Experiment, tools: Tools, costs: Costs) -> Iterator[Sample]:
    """Tell a fresh bank the whole history, or as much as was said by then, and ask each probe as of its date.

    Probes that belong to a session are asked while it goes on (DialSim); all others at the end, where the date at
    which they are asked decides what is known. `costs` is added to on the way.
    """
    with tempfile.TemporaryDirectory(prefix="memoir-replay-") as home:
        # Other names belong to the simulator, which tells sessions and asks under them; elsewhere nothing would follow.
        told = rename(history, experiment.simulation.names, experiment.seed) if _is_simulated(history) else history
        stage = Stage(Path(home), told, experiment, tools.embedder, tools.classifier, costs, tools.model)
        for probe, prediction in _played(history, stage, experiment):
            alike = _similarity(tools.embedder, probe, prediction)
            prediction = replace(prediction, similarity=alike)
            yield Sample(probe, prediction, verdict(probe, prediction))


def count(history: History, experiment: Experiment) -> int:
    """How many probes a replay will ask: in a simulation one a session at most, and all of them elsewhere."""
    if not _is_simulated(history):
        return len(history.probes)
    told = rename(history, experiment.simulation.names, experiment.seed)
    return len(plan(told, experiment.simulation, experiment.seed)[0])


def _is_simulated(history: History) -> bool:
    return any(probe.asked_in for probe in history.probes)


def _played(history: History, stage: Stage, experiment: Experiment) -> Iterator[tuple[Probe, Prediction]]:
    if _is_simulated(history):
        yield from simulate(history, stage, experiment.simulation, experiment.seed)
        return
    if isinstance(history, Pool):
        for part in history.parts():
            stage.take_up(part)
            stage.remember(part.sessions, part.memories)
    else:
        stage.remember(history.sessions, history.memories)
    for probe in history.probes:
        yield probe, stage.ask(probe)


def _similarity(embedder: CachedEmbedder, probe: Probe, prediction: Prediction) -> float | None:
    """The cosine of the answer and the gold answer nearest to it."""
    if not probe.gold.answers or not prediction.answer or prediction.abstained:
        return None
    answer, *golds = embedder.encode([prediction.answer, *probe.gold.answers])
    return round(max(float(gold @ answer) for gold in golds), 4)
