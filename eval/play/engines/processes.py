"""Replay histories in several processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from eval.play.engines.schedule import Batch, Replayer, Worker
from eval.play.replay import Task
from eval.runs.experiment import Experiment
from memory.errors import MemoirError


class Processes:
    """Processes that replay histories; they end with the context, and with this process, even by a kill."""

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)
    attempts = 2

    def __init__(self, experiments: Sequence[Experiment], cache: Path, jobs: int) -> None:
        self._experiments = experiments
        self._cache = cache
        self._threads = max(1, (os.cpu_count() or 1) // jobs)
        self._context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
        self._pools: list[ProcessPoolExecutor] = []

    def __enter__(self) -> Processes:
        self._folder = tempfile.TemporaryDirectory(prefix="memoir-replay-")
        self._lifeline, self._our_end = self._context.Pipe(duplex=False)
        return self

    def __exit__(self, *_: object) -> None:
        self._our_end.close()  # ends the workers, whatever they are doing
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._lifeline.close()
        self._folder.cleanup()

    def start_worker(self) -> Worker:
        """Start a process. It has a pool of its own: a pool that breaks does not say which task broke it."""
        given = (self._experiments, self._cache, self._threads, self._folder.name, self._lifeline)
        self._pools.append(ProcessPoolExecutor(1, self._context, _start, given))
        return partial(_submit, self._pools[-1])


def _submit(pool: ProcessPoolExecutor, task: Task | None) -> Future[Batch | MemoirError]:
    # What starts a process blocks Ctrl-C, which the terminal sends to all: this process ends the others.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_replay, task)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker process

_REPLAYER: list[Replayer] = []


def _start(experiments: Sequence[Experiment], cache: Path, threads: int, folder: str, lifeline: Connection) -> None:
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    tempfile.tempdir = folder  # the parent deletes it, so that a kill leaves no banks behind
    # Set before torch loads: otherwise its waiting threads would compete with those of the other processes.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    _REPLAYER.append(Replayer(experiments, cache))


def _end_with(lifeline: Connection) -> None:
    """End this process when the other end is closed, by the parent or by its end."""
    lifeline.poll(None)
    os._exit(1)


def _replay(task: Task | None) -> Batch | MemoirError:
    return _REPLAYER[0].replay(task)
