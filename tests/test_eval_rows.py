"""Rows of a table that differ in ranking and reading only are asked of one bank, and answer as if each had its own."""

import threading
from dataclasses import replace

import pytest

import test_eval_benchmarks_longmemeval as longmemeval
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import Experiment, RunRequest, with_settings
from eval.settings import EvalSettings
from support.dialsim_show import write_show

ROWS = (
    ("reader=none",),
    ("reader=extractive", "search.k=3"),
    ("reader=extractive", "search.dense_weight=0", "time_filter=off"),
    ("reader=extractive", "given=oracle"),
    ("reader=none", "strength_days=30"),
)


@pytest.fixture
def evaluator(tmp_path):
    return Evaluator(EvalSettings(home=tmp_path / "home", data=None))


@pytest.fixture
def questions(tmp_path):
    """A file of two questions, with a history of three sessions each."""
    other = {"question_id": "q2", "question": "Which colour has the boat that I bought?", "answer": "red"}
    return longmemeval.write(tmp_path, longmemeval.QUESTION, longmemeval.QUESTION | other)


def requests(data, *rows, benchmark="longmemeval"):
    return [RunRequest(benchmark, data, with_settings(Experiment(), list(row))) for row in rows]


def answers(run):
    return [replace(s, prediction=replace(s.prediction, milliseconds={}, response_ms=0)) for s in run.samples()]


def test_rows_asked_together_answer_as_each_alone_and_store_each_history_once(evaluator, embedder, questions):
    asked = requests(questions, *ROWS)
    seen = []
    runs = evaluator.run_together(asked, encoder=embedder, watch=lambda *p: seen.append(p))
    assert [p[1:] for p in seen] == [(n, 10) for n in range(1, 11)]
    assert all(run.is_done for run in runs)
    stored = [sum(cost.costs.turns for cost in run.costs()) for run in runs]
    assert stored[0] > 0
    assert stored[1:] == [0, 0, 0, 0]
    for request, run in zip(asked, runs, strict=True):
        alone = evaluator.run(replace(request, afresh=True), encoder=embedder)
        assert alone.name != run.name
        assert answers(alone) == answers(run)


def test_rows_that_are_stopped_go_on_together(evaluator, embedder, questions):
    asked, stop = requests(questions, *ROWS[:2]), threading.Event()
    stopped = evaluator.run_together(
        asked, encoder=embedder, stop=stop, watch=lambda _, done, __: done == 3 and stop.set()
    )
    assert [len(run.samples()) for run in stopped] == [2, 1]
    again = evaluator.run_together(asked, encoder=embedder)
    assert [run.name for run in again] == [run.name for run in stopped]
    assert [len(run.samples()) for run in again] == [2, 2]
    assert all(run.is_done for run in again)


def test_a_row_that_is_named_twice_is_asked_once(evaluator, embedder, questions):
    asked = requests(questions, ROWS[0], ROWS[0])
    one, other = evaluator.run_together(asked, encoder=embedder)
    assert one.name == other.name
    assert len((one.folder / "predictions.jsonl").read_bytes().splitlines()) == 2


@pytest.mark.slow
def test_rows_of_a_show_are_asked_while_it_is_played(evaluator, embedder, tmp_path):
    asked = requests(write_show(tmp_path), *ROWS[:2], benchmark="dialsim")
    runs = evaluator.run_together(asked, encoder=embedder)
    for request, run in zip(asked, runs, strict=True):
        assert answers(run) == answers(evaluator.run(replace(request, afresh=True), encoder=embedder))


@pytest.mark.parametrize(
    ("setting", "is_shared"),
    [
        ("search.k=3", True),
        ("rerank.alpha=0.3", True),
        ("classifier=none", True),
        ("reader=none", True),
        ("method=con", True),
        ("budget=3", True),
        ("given=oracle", True),
        ("strength_days=1", True),
        ("times=oracle", True),
        ("outside=dropped", True),
        ("granularity=round", False),
        ("indexed=user", False),
        ("key=value+facts", False),
        ("keys=separate", False),
        ("learner=none", False),
        ("remembered=semantic", False),
        ("questions=graph", False),
        ("pooled=true", False),
        ("embedding_model=other", False),
        ("simulation.names=original", False),
    ],
)
def test_only_what_ranks_and_reads_can_differ_over_one_bank(setting, is_shared):
    changed = with_settings(Experiment(), [setting])
    assert changed != Experiment()
    assert (changed.storing == Experiment().storing) == is_shared
