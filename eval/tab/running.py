"""The one piece of work that a process carries out at a time, in a thread that no window of the browser owns.

A window may be closed, reloaded or opened twice: the work goes on, any window can see how far it is, and none can start
it a second time.
"""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from typing import Literal

from eval.evaluator import Evaluator, RunRequest
from eval.play.execute import Progress
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

log = logging.getLogger(__name__)

Stage = Literal["none", "going", "stopping", "finished", "stopped", "failed"]


class Busy(MemoirError):
    """A run is going on already."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to carry out: orders with their labels, one after another.

    `left_out` names the rows of a paper's table that cannot be run, and what they need. `metrics` are the figures that
    the table is about, `ability` the part of the benchmark, `remark` what differs from the paper.
    """

    title: str
    orders: tuple[tuple[str, RunRequest], ...]
    left_out: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    ability: str = ""
    remark: str = ""

    @property
    def is_table(self) -> bool:
        """Whether its runs are to be shown as the rows of one table."""
        return len(self.orders) > 1 or bool(self.left_out)


@dataclass(frozen=True, slots=True)
class Going:
    """How far the work is, for any window to show.

    `number` counts the pieces of work since the process began, 0 for none yet. `at` is the order at work, `done` and
    `total` its probes, `kept` how many of them an earlier attempt had answered, `history` the one at hand. `runs` are
    the labels and names of the runs started so far; `seconds_left` is None as long as nothing can be said.
    """

    number: int = 0
    stage: Stage = "none"
    plan: Plan | None = None
    at: int = 0
    done: int = 0
    total: int = 0
    kept: int = 0
    history: str = ""
    runs: tuple[tuple[str, str], ...] = ()
    seconds_left: float | None = None
    fault: str = ""

    @property
    def is_on(self) -> bool:
        """Whether something is being run."""
        return self.stage in ("going", "stopping")

    @property
    def share(self) -> float:
        """How much of all that is to be asked is answered: 0..1."""
        if self.plan is None or not self.total:
            return 0.0
        return min(1.0, (self.at + self.done / self.total) / len(self.plan.orders))


class Runner:
    """Carries out one plan at a time, with a model that is loaded already where it is the one that is asked for."""

    def __init__(self, evaluator: Evaluator, encoder: Embedder) -> None:
        self.evaluator = evaluator
        self.encoder = encoder
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._going = Going()

    @property
    def going(self) -> Going:
        """How far it is."""
        with self._lock:
            return self._going

    def start(self, plan: Plan) -> Going:
        """Begin, and return at once.

        Raises:
            Busy: something is going on already; it is left alone.
        """
        with self._lock:
            if self._going.is_on:
                raise Busy("A run is going on already, perhaps in another window. Wait for it, or stop it first.")
            self._stop = threading.Event()
            self._going = Going(self._going.number + 1, "going", plan)
            threading.Thread(target=self._carry_out, args=(plan, self._stop), daemon=True).start()
            return self._going

    def stop(self) -> None:
        """Stop after the probe at hand; what was answered is kept."""
        with self._lock:
            if self._going.is_on:
                self._stop.set()
                self._going = replace(self._going, stage="stopping")

    def _carry_out(self, plan: Plan, stop: threading.Event) -> None:
        try:
            self._each(plan, stop)
        except MemoirError as fault:
            self._tell(stage="failed", fault=str(fault))
        except Exception as fault:  # the edge of this thread: nothing may seem to go on that has ended
            log.exception("a run failed")
            self._tell(stage="failed", fault=f"A fault in Memoir itself ({type(fault).__name__}: {fault})")
        else:
            self._tell(stage="stopped" if stop.is_set() else "finished", seconds_left=None)

    def _each(self, plan: Plan, stop: threading.Event) -> None:
        pace = _Pace(len(plan.orders))
        for at, (label, order) in enumerate(plan.orders):
            if stop.is_set():
                return
            self._tell(at=at, done=0, total=0, kept=0, history="")
            run, total = started = self.evaluator.start(order)
            kept = len({(s.prediction.history_id, s.probe.id) for s in run.samples()})
            self._tell(done=kept, total=total, kept=kept, runs=(*self.going.runs, (label, run.name)))

            def watch(progress: Progress, at: int = at) -> None:
                left = pace.left(at, progress)
                self._tell(done=progress.done, total=progress.total, history=progress.history, seconds_left=left)

            self.evaluator.run(order, stop=stop, watch=watch, encoder=self._encoder(order), started=started)

    def _encoder(self, order: RunRequest) -> Embedder | None:
        """The loaded model; None has the one of the order loaded."""
        return self.encoder if order.experiment.embedding_model == self.encoder.model else None

    def _tell(self, **changes: object) -> None:
        with self._lock:
            self._going = replace(self._going, **changes)  # type: ignore[arg-type]  # named as in Going


class _Pace:
    """Seconds a probe, from those asked since it was made; every order is taken to ask as many."""

    def __init__(self, orders: int) -> None:
        self._orders = orders
        self._started = time.monotonic()
        self._asked = 0

    def left(self, at: int, progress: Progress) -> float:
        """Seconds to go, after one more probe."""
        self._asked += 1
        to_ask = progress.total - progress.done + (self._orders - at - 1) * progress.total
        return (time.monotonic() - self._started) / self._asked * to_ask
