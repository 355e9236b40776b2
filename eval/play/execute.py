"""Replay many histories and append each answer to the run as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eval.play.models import Models, load_models
from eval.play.processes import replay_in_processes
from eval.play.replay import Outcome, Stop, replay_with_costs
from eval.runs.experiment import Experiment
from eval.runs.run import HistoryCosts, Run
from eval.types import History, Watch
from graph.models.names import is_local


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: probes answered, of those known so far, and the id of the current history."""

    done: int
    total: int
    history: str


def with_label(watch: Watch, label: str) -> Callable[[Progress], None]:
    """Show the progress of a run under a label."""
    return lambda progress: watch(label, progress.done, progress.total)


def execute(
    run: Run,
    histories: Iterable[History],
    experiment: Experiment,
    cache: Path,
    *,
    total: int,
    jobs: int = 1,
    models: Models | None = None,
    stop: Stop | None = None,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> None:
    """Replay what the run has not answered yet, and append each sample to the run.

    `histories` are read as needed, so that not all of them need to fit in memory. `cache` is the file of embeddings,
    `total` the number of all probes. Answers do not depend on `jobs`: one process replays a history from start to end.
    `models` are used in this process. `stop` is checked between probes, and `watch` called after each.
    """
    answered = run.answered()
    finished = {c.history for c in run.costs()}
    done = len(answered)
    work = (_unanswered(h, answered) for h in histories if h.id not in finished)
    stop = stop or threading.Event()
    # A pool is one history and reads its file as it goes; a local chat model in every process would fill the memory.
    alone = jobs == 1 or models is not None or experiment.pooled or is_local(experiment.pipeline.model)
    outcomes = (
        _replay_here(work, experiment, models or load_models(experiment, cache), stop)
        if alone
        else replay_in_processes(work, experiment, cache, stop, jobs)
    )
    for outcome in outcomes:
        if isinstance(outcome, HistoryCosts):
            run.append_costs(outcome)
            continue
        key = (outcome.prediction.history_id, outcome.probe.id)
        if key not in answered:
            answered.add(key)
            run.append_sample(outcome)
            done += 1
        watch(Progress(done, max(total, done), outcome.prediction.history_id))
    if not stop.is_set():
        run.mark_done()


def _unanswered(history: History, answered: set[tuple[str, str]]) -> History:
    """The history with the probes left to ask; a simulation starts over, since it draws its probes from all of them."""
    if any(probe.asked_in for probe in history.probes):
        return history
    return replace(history, probes=tuple(p for p in history.probes if (history.id, p.id) not in answered))


def _replay_here(work: Iterator[History], experiment: Experiment, models: Models, stop: Stop) -> Iterator[Outcome]:
    for history in work:
        if stop.is_set():
            return
        yield from replay_with_costs(history, experiment, models, stop)
