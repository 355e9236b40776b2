"""Give histories to workers, and give a history to another worker where one is killed; workers on this machine."""

import logging
import math
import multiprocessing
import os
import signal
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Thread
from typing import Any, Protocol, Self

from eval.play.models import Models, load_models
from eval.play.replay import Outcome, Replay, replay
from eval.runs.experiment import Experiment
from eval.types import History
from memory.errors import MemoirError

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0
"""How long current answers are waited for once a run is stopped."""

MAX_DEATHS_AT_START = 10
"""How many workers may die while they load their models, or wait for a history."""

SILENT_SECONDS = 60.0
"""After how long without any worker the command says that it waits."""

WAITING = (
    "No worker has begun for %.0f seconds. It may load a large model; on a cluster, it waits for a free processor. "
    "Still waiting."
)

Next = tuple[int, Outcome] | MemoirError | None
"""The next outcome of a task with the number of its experiment, or what failed; None when the task is finished."""

Worker = Callable[[Replay | None], Future[Next]]
"""Has a process start a task, or go on with its current one."""


class Engine(AbstractContextManager[Any], Protocol):
    """Where workers run; they end with its context.

    A future of a worker that died raises one of `deaths`. A history is given up after as many of them as `attempts`.
    """

    deaths: tuple[type[Exception], ...]
    attempts: int

    def start_worker(self) -> Worker:
        """Start a worker; it may be ready much later."""


class Replayer:
    """The part of a worker that runs in its own process."""

    def __init__(self, experiments: Sequence[Experiment], cache: Path) -> None:
        self._experiments = experiments
        self._cache = cache
        self._models: Models | None = None
        self._history = "the models"
        self._outcomes: Iterator[tuple[int, Outcome]] = iter(())

    def replay(self, task: Replay | None) -> Next:
        """See `Worker`."""
        try:
            if self._models is None:
                self._models = load_models(self._experiments[0], self._cache)
            if task is not None:
                self._history = task.history.id
                self._outcomes = replay(task, self._experiments, self._models)
            return next(self._outcomes, None)
        except MemoirError as fault:
            return fault
        except Exception as fault:  # the process that gives out the tasks shows it
            return MemoirError(f"{self._history}: {type(fault).__name__}: {fault}")

    def close(self) -> None:
        """Delete the bank of a history that is not finished."""
        self._outcomes = iter(())


class Schedule:
    """Which worker replays which history; where a worker dies, another one goes on with its history.

    `histories` are read one ahead. `task_of` makes a task of what is unanswered of a history, or None if nothing is.
    """

    def __init__(
        self, engine: Engine, histories: Iterable[History], task_of: Callable[[History], Replay | None]
    ) -> None:
        self._engine = engine
        self._task_of = task_of
        self._unread = self._read(histories)
        self._replies: dict[Future[Next], Worker] = {}
        self._waiting: deque[Replay] = deque()
        self._idle: list[Worker] = []
        self._busy: dict[Worker, Replay] = {}
        self._deaths = Counter[str]()
        self._failed: list[str] = []
        self._broken_file: Exception | None = None
        self._silent_until = time.monotonic() + SILENT_SECONDS

    def outcomes(self, jobs: int, stop: Event) -> Generator[tuple[int, Outcome]]:
        """Replay everything on so many workers, in any order.

        Raises `MemoirError` if a worker failed, and once all else is done, if histories were given up.
        """
        with self._engine:
            yield from self._replay_all(jobs, stop)
        if self._failed and not stop.is_set():
            raise MemoirError(
                f"Not finished: {', '.join(self._failed)}. Each process that replayed it was killed, perhaps because "
                "memory ran out. All other answers are kept; run the same command again with fewer --jobs to continue"
            )
        if self._broken_file:
            raise self._broken_file

    def _replay_all(self, jobs: int, stop: Event) -> Iterator[tuple[int, Outcome]]:
        for _ in range(jobs):
            self._send(self._engine.start_worker(), None)
        self._waiting.extend(islice(self._unread, 1))
        while (self._waiting or self._busy) and not stop.is_set():
            yield from self._handle_next()
            while self._waiting and self._idle:
                worker = self._idle.pop()
                self._busy[worker] = self._waiting.popleft()
                self._send(worker, self._busy[worker])
                self._waiting.extend(islice(self._unread, 1))
        until = time.monotonic() + STOP_SECONDS
        while self._busy and time.monotonic() < until:
            yield from self._handle_next(goes_on=False)

    def _read(self, histories: Iterable[History]) -> Iterator[Replay]:
        try:
            yield from filter(None, map(self._task_of, histories))
        except Exception as fault:  # what was read before is replayed first
            self._broken_file = fault

    def _send(self, worker: Worker, task: Replay | None) -> None:
        try:
            future = worker(task)
        except self._engine.deaths as death:
            future = Future()
            future.set_exception(death)
        self._replies[future] = worker

    def _handle_next(self, *, goes_on: bool = True) -> Iterator[tuple[int, Outcome]]:
        done, _ = wait(self._replies, 0.2, FIRST_COMPLETED)  # not for ever: the caller checks its clock
        if not done:
            if time.monotonic() > self._silent_until:
                self._silent_until = math.inf
                log.warning(WAITING, SILENT_SECONDS)
            return
        self._silent_until = math.inf
        future = done.pop()
        worker = self._replies.pop(future)
        try:
            outcome = future.result()
        except self._engine.deaths as death:
            self._handle_death(self._busy.pop(worker, None), death)
            return
        if isinstance(outcome, MemoirError):
            raise outcome
        if outcome is not None:
            yield outcome
        if outcome is not None and goes_on:
            self._send(worker, None)
        else:
            self._busy.pop(worker, None)
            self._idle.append(worker)

    def _handle_death(self, task: Replay | None, death: Exception) -> None:
        history = task.history.id if task else ""
        self._deaths[history] += 1
        if task is None and self._deaths[history] > MAX_DEATHS_AT_START:
            raise MemoirError(
                "Process after process died while it loaded the models. If memory ran out, run the same command again "
                f"with fewer --jobs. The last one: {death}"
            )
        if task and self._deaths[history] >= self._engine.attempts:
            self._failed.append(history)
        elif task:
            log.warning("The process that replayed %s was killed; another one goes on with it.", history)
            if left := self._task_of(task.history):
                self._waiting.append(left)
        self._send(self._engine.start_worker(), None)


# --- processes of this machine


class Processes:
    """Processes of this machine that replay histories; they end with the context, and with this one, even by a kill.

    Each has an object of its own whose methods are called from here.
    """

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)
    attempts = 2

    def __init__(self, experiments: Sequence[Experiment], cache: Path, jobs: int) -> None:
        self._given = experiments, cache
        self._threads = max(1, (os.cpu_count() or 1) // jobs)
        self._context = multiprocessing.get_context("spawn")  # a fork would copy locks that torch's threads hold
        self._pools: list[ProcessPoolExecutor] = []

    def __enter__(self) -> Self:
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
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()
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
