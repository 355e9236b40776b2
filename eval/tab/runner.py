"""Run one plan at a time, in a thread that belongs to no browser window.

A window may be closed, reloaded or opened twice: the run goes on, every window can see its progress, and none can start
a second one.
"""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from typing import Literal

from eval.benchmarks import Preset
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import RunRequest
from eval.runs.run import Run
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

log = logging.getLogger(__name__)

Stage = Literal["idle", "running", "stopping", "finished", "stopped", "failed"]


@dataclass(frozen=True, slots=True)
class Plan:
    """Runs to make: requests with their labels. Neighbours that store the same (`Experiment.storing`) run together.

    `preset` is the paper's table that they are the rows of, and `left_out` names those of its rows that cannot be run,
    and what they need. With `compares_systems`, each run is of another memory system.
    """

    title: str
    requests: tuple[tuple[str, RunRequest], ...]
    left_out: tuple[str, ...] = ()
    preset: Preset | None = None
    compares_systems: bool = False

    @property
    def is_table(self) -> bool:
        """Whether the runs are shown as the rows of one table."""
        return len(self.requests) > 1 or bool(self.left_out)


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The progress of a plan.

    `number` counts the plans since the process started, 0 for none yet. `position` is the first request that is
    running, and `together` how many are; `done` and `total` are their probes, `resumed` those that an earlier attempt
    had answered, `history` is the current one. `runs` are the labels and names of the runs started so far.
    `seconds_left` is None if it cannot be estimated.
    """

    number: int = 0
    stage: Stage = "idle"
    plan: Plan | None = None
    position: int = 0
    together: int = 1
    done: int = 0
    total: int = 0
    resumed: int = 0
    history: str = ""
    runs: tuple[tuple[str, str], ...] = ()
    seconds_left: float | None = None
    error: str = ""

    @property
    def is_active(self) -> bool:
        """Whether a run is in progress."""
        return self.stage in ("running", "stopping")

    @property
    def share(self) -> float:
        """The share of all probes of the plan that are answered, 0..1."""
        if self.plan is None or not self.total:
            return 0.0
        return min(1.0, (self.position + self.together * self.done / self.total) / len(self.plan.requests))


class Runner:
    """Runs one plan at a time, with a loaded embedding model where it is the one that is asked for.

    `status` is the progress of the latest plan.
    """

    def __init__(self, evaluator: Evaluator, embedder: Embedder) -> None:
        self.evaluator = evaluator
        self.embedder = embedder
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.status = RunStatus()

    def start(self, plan: Plan) -> RunStatus:
        """Start a plan and return at once; raises `MemoirError` while another plan is running."""
        with self._lock:
            if self.status.is_active:
                raise MemoirError(
                    "A run is in progress already, perhaps in another window. Wait for it, or stop it first."
                )
            self._stop = threading.Event()
            self.status = RunStatus(self.status.number + 1, "running", plan)
            threading.Thread(target=self._run, args=(plan, self._stop), daemon=True).start()
            return self.status

    def stop(self) -> None:
        """Stop after the current probe; the answers so far are kept."""
        with self._lock:
            if self.status.is_active:
                self._stop.set()
                self.status = replace(self.status, stage="stopping")

    def _run(self, plan: Plan, stop: threading.Event) -> None:
        try:
            self._run_requests(plan, stop)
        except MemoirError as error:
            self._update(stage="failed", error=str(error))
        except Exception as error:  # this thread ends here, so the status must not stay active
            log.exception("a run failed")
            self._update(stage="failed", error=f"Memoir ran into a bug ({type(error).__name__})")
        else:
            self._update(stage="stopped" if stop.is_set() else "finished", seconds_left=None)

    def _run_requests(self, plan: Plan, stop: threading.Event) -> None:
        started_at, asked, position = time.monotonic(), count(1), 0
        for _, neighbours in groupby(plan.requests, lambda row: row[1].experiment.storing):
            labels, requests = zip(*neighbours, strict=True)
            if stop.is_set():
                return
            self._update(position=position, together=len(requests), done=0, total=0, resumed=0, history="")
            position += len(requests)

            def began(runs: Sequence[Run], total: int, labels: Sequence[str] = labels) -> None:
                resumed = sum(len(run.answered()) for run in runs)
                names = (*self.status.runs, *zip(labels, (run.name for run in runs), strict=True))
                self._update(done=resumed, total=total * len(runs), resumed=resumed, runs=names)

            waiting = len(plan.requests) - position

            def watch(history: str, done: int, total: int, rows: int = len(requests), left: int = waiting) -> None:
                # Every request is expected to ask equally many.
                to_ask = total - done + left * total / rows
                seconds = (time.monotonic() - started_at) / next(asked) * to_ask
                self._update(done=done, total=total, history=history, seconds_left=seconds)

            is_loaded = requests[0].experiment.embedding_model == self.embedder.model
            encoder = self.embedder if is_loaded else None
            self.evaluator.run_together(requests, began=began, stop=stop, watch=watch, encoder=encoder)

    def _update(self, **changes: object) -> None:
        with self._lock:
            self.status = replace(self.status, **changes)  # type: ignore[arg-type]  # the fields of RunStatus
