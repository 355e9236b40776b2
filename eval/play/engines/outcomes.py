"""Replay one history and report its samples, then its costs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from eval.play.replay import replay
from eval.runs.run import HistoryCosts
from eval.types import Costs, History, Sample

if TYPE_CHECKING:
    from eval.experiment import Experiment
    from eval.play.models import Models

Outcome = Sample | HistoryCosts


class Stop(Protocol):
    """Something that says when to stop: a threading or multiprocessing event."""

    def is_set(self) -> bool:
        """Whether to stop."""


def outcomes_of(history: History, experiment: Experiment, models: Models, stop: Stop) -> Iterator[Outcome]:
    """Each sample of a history as it is answered, and at the end what the history cost."""
    embedder = models.embedder
    before = (embedder.seconds, embedder.texts, embedder.found)
    started, costs = time.perf_counter(), Costs()
    for sample in replay(history, experiment, models, costs):
        yield sample
        if stop.is_set():
            return
    skips = tuple((s.place, s.reason) for s in history.skips)
    wall = time.perf_counter() - started
    seconds, texts, found = embedder.seconds, embedder.texts, embedder.found
    yield HistoryCosts(history.id, costs, seconds - before[0], texts - before[1], found - before[2], wall, skips)
