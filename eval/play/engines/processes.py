"""Processes of this machine, each with an object of its own whose methods are called from here."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from eval.play.engines.schedule import Replayer, Worker
from eval.runs.experiment import Experiment


class Processes:
    """Processes that replay histories; they end with the context, and with this process, even by a kill."""

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)
    attempts = 2

    def __init__(self, experiments: Sequence[Experiment], cache: Path, jobs: int) -> None:
        self._given = experiments, cache
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
        """Start a process that replays."""
        return partial(self.start(Replayer, *self._given), "replay")

    def start(self, make: Callable[..., object], *given: object) -> Callable[..., Future[Any]]:
        """Start a process that makes an object of what is given; returns what calls its methods by their names.

        It has a pool of its own: a pool that breaks does not say which task broke it.
        """
        started = (self._threads, self._folder.name, self._lifeline, make, given)
        self._pools.append(ProcessPoolExecutor(1, self._context, _start, started))
        return partial(_submit, self._pools[-1])


def _submit(pool: ProcessPoolExecutor, method: str, *given: object) -> Future[Any]:
    # What starts a process blocks Ctrl-C, which the terminal sends to all: this process ends the others.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(_call, method, given)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


# --- in a worker process

_MADE: list[object] = []


def _start(
    threads: int, folder: str, lifeline: Connection, make: Callable[..., object], given: Sequence[object]
) -> None:
    threading.Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    tempfile.tempdir = folder  # the parent deletes it, so that a kill leaves no banks behind
    # Set before torch loads: otherwise its waiting threads would compete with those of the other processes.
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ["OMP_NUM_THREADS"] = str(threads)
    _MADE.append(make(*given))


def _end_with(lifeline: Connection) -> None:
    """End this process when the other end is closed, by the parent or by its end."""
    lifeline.poll(None)
    os._exit(1)


def _call(method: str, given: Sequence[object]) -> Any:  # noqa: ANN401  # whatever it returns
    return getattr(_MADE[0], method)(*given)
