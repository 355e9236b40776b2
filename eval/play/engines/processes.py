"""Play many histories, in this process or in several, and keep each answer as it comes."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from typing import Any, Protocol

from eval.experiment import Experiment
from eval.play.embeddings import CachedEmbedder
from eval.play.replay import Tools, replay
from eval.play.stage import Costs
from eval.runs import HistoryCosts, Run
from eval.types import History, Sample
from graph.models import chat_model_or_none
from graph.models.names import is_local
from graph.understanding.classifier import Classifier
from memory.embedding.embedder import Embedder
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
    answered = run.answered()
    finished = {c.history for c in run.costs()}
    done = len(answered)
    work = (_rest(h, answered) for h in histories if h.id not in finished)
    stop = stop or threading.Event()
    # A pool is one history, and reads a file as it goes; a local model in every process would fill the memory.
    alone = jobs == 1 or tools is not None or experiment.pooled or is_local(experiment.pipeline.model)
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
        if stop.is_set():
            return
        yield from _play(history, experiment, tools, stop)


def open_tools(experiment: Experiment, cache: Path, encoder: Embedder | None = None) -> Tools:
    """The models of a replay; the encoder loads when a text is not in the cache, unless one is handed in."""
    embedder = CachedEmbedder(cache, encoder or Embedder(experiment.embedding_model))
    model = chat_model_or_none(experiment.pipeline.model, experiment.pipeline.quantization)
    return Tools(embedder, Classifier.load(embedding_model=embedder.model), model)


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


PATIENCE_SECONDS = 20.0
"""How long a process may take to end once it is told to; the answer at hand is seldom longer."""


class Failed(MemoirError):
    """A process that played histories came to an end before its time."""


def _together(work: Iterator[History], experiment: Experiment, cache: Path, stop: Stop, jobs: int) -> Iterator[Outcome]:
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
    tasks: Any = context.Queue(maxsize=jobs)  # as many wait as are played, no more are in memory
    halt = context.Event()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers, readers = [], []
    for _ in range(jobs):
        # A pipe for each: one that is killed ends its own, where a queue would keep what it half wrote, and its lock.
        reader, writer = context.Pipe(duplex=False)
        worker = context.Process(target=_worker, args=(experiment, cache, tasks, writer, halt, threads), daemon=True)
        worker.start()
        writer.close()
        workers.append(worker)
        readers.append(reader)
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

    threading.Thread(target=feed, daemon=True).start()
    try:
        yield from _collect(readers, stop, halt)
    finally:
        halt.set()
        # What nobody takes any more must not keep this process from ending.
        tasks.cancel_join_thread()
        for reader in readers:
            reader.close()
        for worker in workers:
            worker.join(timeout=PATIENCE_SECONDS)
            worker.kill()
            worker.join()
    if faults:
        raise faults[0]


def _collect(readers: Sequence[Connection], stop: Stop, halt: ProcessEvent) -> Iterator[Outcome]:
    left = list(readers)
    while left:
        if stop.is_set():
            halt.set()
        for reader in wait(left, timeout=0.5):
            assert isinstance(reader, Connection)
            try:
                outcome = reader.recv()
            except (EOFError, OSError):
                raise Failed(
                    "a process that played histories was ended from outside, perhaps for want of memory; what was "
                    "answered is kept, and the same command goes on from there, with fewer --jobs"
                ) from None
            if outcome is None:
                left.remove(reader)
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
    outcomes: Connection,
    halt: ProcessEvent,
    threads: int,
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the process that started this one tells it
    # Before torch loads: its threads would otherwise spin against those of the other process.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    with suppress(BrokenPipeError):  # nobody wants to know any more
        try:
            for outcome in _work(experiment, cache, tasks, halt):
                outcomes.send(outcome)
        except MemoirError as fault:
            outcomes.send(fault)
        except Exception as fault:  # it goes to the process that can show it
            outcomes.send(Failed(f"{type(fault).__name__}: {fault}"))
        outcomes.send(None)


def _work(experiment: Experiment, cache: Path, tasks: Any, halt: ProcessEvent) -> Iterator[Outcome]:  # noqa: ANN401
    tools = open_tools(experiment, cache)
    while not halt.is_set():
        try:
            history = tasks.get(timeout=0.5)
        except queue.Empty:
            continue
        if history is None:
            return
        yield from _play(history, experiment, tools, halt)


def _end_with_parent() -> None:
    """End this process when the one that started it ends, however it does: none is left behind by a kill."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
