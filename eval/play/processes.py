"""Replay histories in several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from typing import Any

from eval.play.models import load_models
from eval.play.replay import Outcome, Stop, Task, replay_with_costs
from eval.runs.experiment import Experiment
from memory.errors import MemoirError

JOIN_SECONDS = 20.0
"""How long a process may take to end once it is told to; its current answer seldom takes longer."""


class WorkerFailed(MemoirError):
    """A process that replayed histories failed or was killed."""


def replay_in_processes(
    work: Iterator[Task], experiments: Sequence[Experiment], cache: Path, stop: Stop, jobs: int
) -> Iterator[tuple[int, Outcome]]:
    """Replay histories in `jobs` processes, in any order; raises `WorkerFailed` if one failed or was killed."""
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
    tasks: Any = context.Queue(maxsize=jobs)  # at most as many wait in memory as are replayed
    halt = context.Event()
    threads = max(1, (os.cpu_count() or 1) // jobs)
    workers, readers = [], []
    for _ in range(jobs):
        # A pipe each: a killed process closes its own; in a shared queue it would leave half a message and the lock.
        reader, writer = context.Pipe(duplex=False)
        worker = context.Process(target=_worker, args=(experiments, cache, tasks, writer, halt, threads), daemon=True)
        worker.start()
        writer.close()
        workers.append(worker)
        readers.append(reader)
    faults: list[BaseException] = []
    threading.Thread(target=_feed, args=(work, tasks, jobs, halt, faults), daemon=True).start()
    try:
        yield from _collect(readers, stop, halt)
    finally:
        halt.set()
        tasks.cancel_join_thread()  # tasks that nobody takes must not keep this process from ending
        for reader in readers:
            reader.close()
        for worker in workers:
            worker.join(timeout=JOIN_SECONDS)
            worker.kill()
            worker.join()
    if faults:
        raise faults[0]


def _feed(work: Iterator[Task], tasks: Any, jobs: int, halt: ProcessEvent, faults: list[BaseException]) -> None:  # noqa: ANN401
    """Put each history into the queue, then None for each process; keep what fails for the collecting thread."""
    try:
        for task in work:
            if not _put(tasks, task, halt):
                return
    except BaseException as fault:  # a broken file
        faults.append(fault)
    for _ in range(jobs):
        _put(tasks, None, halt)


def _put(tasks: Any, item: Task | None, halt: ProcessEvent) -> bool:  # noqa: ANN401
    while not halt.is_set():
        with suppress(queue.Full):
            tasks.put(item, timeout=0.5)
            return True
    return False


def _collect(readers: Sequence[Connection], stop: Stop, halt: ProcessEvent) -> Iterator[tuple[int, Outcome]]:
    open_readers = list(readers)
    while open_readers:
        if stop.is_set():
            halt.set()
        for reader in wait(open_readers, timeout=0.5):
            assert isinstance(reader, Connection)
            try:
                outcome = reader.recv()
            except (EOFError, OSError):
                raise WorkerFailed(
                    "A worker process was killed, perhaps because memory ran out. Earlier answers are kept; run the "
                    "same command again with fewer --jobs to continue"
                ) from None
            if outcome is None:
                open_readers.remove(reader)
            elif isinstance(outcome, BaseException):
                raise outcome
            else:
                yield outcome


# --- in a worker process


def _worker(
    experiments: Sequence[Experiment],
    cache: Path,
    tasks: Any,  # noqa: ANN401  # queues of another context have no public type
    outcomes: Connection,
    halt: ProcessEvent,
    threads: int,
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process; the parent tells this one to stop
    # Set before torch loads: otherwise its waiting threads would compete with those of the other processes.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    with suppress(BrokenPipeError):  # the parent has stopped listening
        try:
            for outcome in _work(experiments, cache, tasks, halt):
                outcomes.send(outcome)
        except MemoirError as fault:
            outcomes.send(fault)
        except Exception as fault:  # the parent shows it
            outcomes.send(WorkerFailed(f"{type(fault).__name__}: {fault}"))
        outcomes.send(None)


def _work(
    experiments: Sequence[Experiment],
    cache: Path,
    tasks: Any,  # noqa: ANN401
    halt: ProcessEvent,
) -> Iterator[tuple[int, Outcome]]:
    models = load_models(experiments[0], cache)
    while not halt.is_set():
        try:
            task = tasks.get(timeout=0.5)
        except queue.Empty:
            continue
        if task is None:
            return
        yield from replay_with_costs(task, experiments, models, halt)


def _end_with_parent() -> None:
    """End this process when its parent ends, even by a kill, so that none is left behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
