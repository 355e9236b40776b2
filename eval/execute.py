"""Play many histories, in this process or in several, and keep each answer as it comes."""

from __future__ import annotations

import multiprocessing
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from typing import Any, Protocol

from eval.embeddings import CachedEmbedder
from eval.experiment import Experiment
from eval.replay import Tools, replay
from eval.runs import HistoryCosts, Run
from eval.stage import Costs
from eval.types import History, Sample
from graph.classifier import Classifier
from memory.embedder import Embedder
from memory.errors import MemoirError


class Stop(Protocol):
    """Something that says when to stop: a threading or multiprocessing event."""

    def is_set(self) -> bool:
        """Whether to stop."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: probes answered of those known so far, and the history at hand."""

    done: int
    total: int
    history: str


Watch = Callable[[Progress], None]


def execute(
    run: Run,
    histories: Iterable[History],
    experiment: Experiment,
    cache: Path,
    *,
    total: int,
    jobs: int = 1,
    tools: Tools | None = None,
    stop: Stop | None = None,
    watch: Watch = lambda progress: None,
) -> bool:
    """Play what the run has not played yet; returns whether all of it is through.

    Args:
        run: Where samples go, one by one.
        histories: What to play; read as needed, so that not all need fit in memory.
        experiment: How.
        cache: The file of the embeddings' cache.
        total: How many probes there are in all, for the progress.
        jobs: Processes. The answers do not depend on it: a history is played by one of them from end to end.
        tools: The models to use with one job; loaded anew if None.
        stop: Asked between probes; what was answered is kept.
        watch: Told after every probe.
    """
    answered = {(s.prediction.history_id, s.probe.id) for s in run.samples()}
    finished = {c.history for c in run.costs()}
    done = len(answered)
    work = (_rest(h, answered) for h in histories if h.id not in finished)
    stop = stop or threading.Event()
    alone = jobs == 1 or tools is not None
    played = (
        _alone(work, experiment, tools or open_tools(experiment, cache), stop)
        if alone
        else _together(work, experiment, cache, stop, jobs)
    )
    for outcome in played:
        if isinstance(outcome, HistoryCosts):
            run.finish(outcome)
            continue
        key = (outcome.prediction.history_id, outcome.probe.id)
        if key not in answered:
            answered.add(key)
            run.append(outcome)
            done += 1
        watch(Progress(done, max(total, done), outcome.prediction.history_id))
    if stop.is_set():
        return False
    run.complete()
    return True


def _rest(history: History, answered: set[tuple[str, str]]) -> History:
    """What is left to ask; a simulated history is played anew, since what is asked in it was drawn from the whole."""
    if any(probe.asked_in for probe in history.probes):
        return history
    return replace(history, probes=tuple(p for p in history.probes if (history.id, p.id) not in answered))


Outcome = Sample | HistoryCosts


def _alone(work: Iterator[History], experiment: Experiment, tools: Tools, stop: Stop) -> Iterator[Outcome]:
    for history in work:
        yield from _play(history, experiment, tools, stop)
        if stop.is_set():
            return


def open_tools(experiment: Experiment, cache: Path, encoder: Embedder | None = None) -> Tools:
    """The models of a replay; the encoder loads when a text is not in the cache, unless one is handed in."""
    embedder = CachedEmbedder(cache, encoder or Embedder(experiment.embedding_model))
    return Tools(embedder, Classifier.load(embedding_model=embedder.model))


def _play(history: History, experiment: Experiment, tools: Tools, stop: Stop) -> Iterator[Outcome]:
    embedder = tools.embedder
    before = (embedder.seconds, embedder.texts, embedder.found)
    started, costs = time.perf_counter(), Costs()
    for sample in replay(history, experiment, tools, costs):
        yield sample
        if stop.is_set():
            return
    skips = tuple((s.place, s.reason) for s in history.skips)
    wall = time.perf_counter() - started
    seconds, texts, found = embedder.seconds, embedder.texts, embedder.found
    yield HistoryCosts(history.id, costs, seconds - before[0], texts - before[1], found - before[2], wall, skips)


# --- in several processes


class Failed(MemoirError):
    """A process that played histories came to an end before its time."""


def _together(work: Iterator[History], experiment: Experiment, cache: Path, stop: Stop, jobs: int) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
    tasks: Any = context.Queue(maxsize=jobs)  # as many wait as are played, no more are in memory
    outcomes: Any = context.Queue()
    halt = context.Event()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    arguments = (experiment, cache, tasks, outcomes, halt, threads)
    workers = [context.Process(target=_worker, args=arguments, daemon=True) for _ in range(jobs)]
    faults: list[BaseException] = []

    def feed() -> None:
        try:
            for history in work:
                if not _put(tasks, history, halt):
                    return
        except BaseException as fault:  # a file that breaks off; told by the reader of the outcomes
            faults.append(fault)
        for _ in workers:
            _put(tasks, None, halt)

    for worker in workers:
        worker.start()
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield from _collect(outcomes, workers, stop, halt)
    finally:
        halt.set()
        for worker in workers:
            worker.join(timeout=20)
            if worker.is_alive():
                worker.kill()
    if faults:
        raise faults[0]


def _collect(outcomes: Any, workers: list[Any], stop: Stop, halt: ProcessEvent) -> Iterator[Outcome]:  # noqa: ANN401
    left = len(workers)
    while left:
        if stop.is_set():
            halt.set()
        try:
            outcome = outcomes.get(timeout=0.5)
        except queue.Empty:
            if all(not worker.is_alive() for worker in workers) and outcomes.empty():
                raise Failed("every process that played histories has ended early; what was answered is kept") from None
            continue
        if outcome is None:
            left -= 1
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            yield outcome


def _put(tasks: Any, item: History | None, halt: ProcessEvent) -> bool:  # noqa: ANN401
    while not halt.is_set():
        with suppress(queue.Full):
            tasks.put(item, timeout=0.5)
            return True
    return False


def _worker(
    experiment: Experiment,
    cache: Path,
    tasks: Any,  # noqa: ANN401  # queues of another context have no public type
    outcomes: Any,  # noqa: ANN401
    halt: ProcessEvent,
    threads: int,
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Before torch loads: its threads would otherwise spin against those of the other process.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    try:
        tools = open_tools(experiment, cache)
        while not halt.is_set():
            try:
                history = tasks.get(timeout=0.5)
            except queue.Empty:
                continue
            if history is None:
                break
            for outcome in _play(history, experiment, tools, halt):
                outcomes.put(outcome)
    except MemoirError as fault:
        outcomes.put(fault)
    except Exception as fault:  # it goes to the process that can show it
        outcomes.put(Failed(f"{type(fault).__name__}: {fault}"))
    finally:
        outcomes.put(None)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, however it does: none is left behind by a kill."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
