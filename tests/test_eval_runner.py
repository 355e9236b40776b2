"""One plan runs at a time, every window sees its progress, and stopping loses nothing."""

import threading
from types import SimpleNamespace

import pytest

from eval.runs.experiment import Experiment, RunRequest, with_settings
from eval.tab.runner import Plan, Runner
from memory.errors import MemoirError

ENCODER = SimpleNamespace(model="all-MiniLM-L6-v2")
ONE = Plan("One", (("", RunRequest("memoir")),))
STORED = with_settings(Experiment(), ["granularity=round"])
TWO = Plan("Two", (("first", RunRequest("memoir")), ("second", RunRequest("memoir", experiment=STORED))))
WAIT = 10


class Evaluator:
    """Asks four probes an order, each as soon as it is let."""

    def __init__(self, fault=None, free=True):
        self.fault = fault
        self.let = threading.Semaphore(1000 if free else 0)
        self.asked = threading.Semaphore(0)
        self.encoders = []

    def run_together(self, orders, *, began, stop, watch, encoder):
        if self.fault:
            raise self.fault
        before = len(self.encoders)
        began([SimpleNamespace(name=f"run-{before + n}", answered=set) for n in range(len(orders))], 4)
        self.encoders.append(encoder)
        total = 4 * len(orders)
        for done in range(1, total + 1):
            assert self.let.acquire(timeout=WAIT)
            watch("ines", done, total)
            self.asked.release()
            if stop.is_set():
                return


def finished(runner):
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.daemon and thread.name.endswith("(_run)"):
            thread.join(WAIT)
    return runner.status


def test_all_requests_run_one_after_another():
    runner = Runner(Evaluator(), ENCODER)
    runner.start(TWO)
    status = finished(runner)
    assert (status.stage, status.runs, status.share) == ("finished", (("first", "run-0"), ("second", "run-1")), 1.0)


def test_neighbours_that_store_the_same_run_together():
    evaluator = Evaluator(free=False)
    runner = Runner(evaluator, ENCODER)
    ranked = with_settings(Experiment(), ["search.k=3"])
    runner.start(Plan("Three", (*ONE.requests, ("ranked", RunRequest("memoir", experiment=ranked)), TWO.requests[1])))
    evaluator.let.release(2)
    assert evaluator.asked.acquire(timeout=WAIT)
    assert evaluator.asked.acquire(timeout=WAIT)
    status = runner.status
    assert (status.position, status.together, status.done, status.total) == (0, 2, 2, 8)
    assert status.share == pytest.approx(2 / 12)
    assert [label for label, _ in status.runs] == ["", "ranked"]
    evaluator.let.release(10)
    status = finished(runner)
    assert (status.stage, status.position, status.together, status.share) == ("finished", 2, 1, 1.0)


def test_a_second_start_is_refused_while_one_is_running():
    evaluator = Evaluator(free=False)
    runner = Runner(evaluator, ENCODER)
    assert runner.start(ONE).number == 1
    with pytest.raises(MemoirError, match="another window"):
        runner.start(ONE)
    evaluator.let.release(4)
    assert finished(runner).stage == "finished"
    assert runner.start(ONE).number == 2
    evaluator.let.release(4)
    finished(runner)


def test_the_progress_can_be_read_while_it_runs():
    evaluator = Evaluator(free=False)
    runner = Runner(evaluator, ENCODER)
    runner.start(TWO)
    evaluator.let.release(2)
    assert evaluator.asked.acquire(timeout=WAIT)
    assert evaluator.asked.acquire(timeout=WAIT)
    status = runner.status
    assert (status.position, status.done, status.total, status.history, status.share) == (0, 2, 4, "ines", 0.25)
    assert status.seconds_left is not None
    evaluator.let.release(6)
    finished(runner)


def test_stopping_ends_after_the_current_probe_and_starts_no_other_request():
    evaluator = Evaluator(free=False)
    runner = Runner(evaluator, ENCODER)
    runner.start(TWO)
    evaluator.let.release()
    assert evaluator.asked.acquire(timeout=WAIT)
    runner.stop()
    assert runner.status.stage == "stopping"
    evaluator.let.release(8)
    status = finished(runner)
    assert (status.stage, status.done, status.runs) == ("stopped", 2, (("first", "run-0"),))


@pytest.mark.parametrize(
    ("fault", "told"), [(MemoirError("no such file"), "no such file"), (ValueError("x"), "ValueError")]
)
def test_an_error_ends_the_run_and_is_shown(fault, told):
    runner = Runner(Evaluator(fault), ENCODER)
    runner.start(ONE)
    status = finished(runner)
    assert status.stage == "failed"
    assert told in status.error


def test_the_loaded_model_serves_only_requests_that_embed_with_it():
    evaluator = Evaluator()
    runner = Runner(evaluator, SimpleNamespace(model="another"))
    runner.start(ONE)
    finished(runner)
    assert evaluator.encoders == [None]
