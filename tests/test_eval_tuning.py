"""What tunes is not what reports: the halves, the choice on other benchmarks, and what it loses."""

import os
import signal
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.reporting import results, tuning
from eval.reporting.tuning import (
    GRID,
    Player,
    ProbeValues,
    change,
    choose,
    mean_change,
    off,
    overall,
    trials,
)
from eval.runs.evaluator import OWN_FILES, Evaluator
from eval.runs.experiment import HALVES, Experiment, RunRequest, evidence_session, half_of, in_half, with_settings
from eval.settings import EvalSettings
from eval.types import History
from memory.errors import MemoirError
from memory.search.scoring import FACTORS
from support.invented_history import PROBES, life
from test_eval_execute import children, command, is_running, wait_for

NAMES = st.lists(st.text("abcde", min_size=1, max_size=3), min_size=1, max_size=8, unique=True)


def histories(names) -> list[History]:
    """A life for each name, its probes named after it."""
    return [life(id=name, probes=tuple(replace(probe, id=f"{name}-{probe.id}") for probe in PROBES)) for name in names]


def split(names) -> dict[str, dict[str, set[str]]]:
    """The probes of each history in each half."""
    return {
        half: {h.id: {probe.id for probe in h.probes} for h in in_half("locomo", iter(histories(names)), half)}
        for half in HALVES
    }


# --- halves


@given(NAMES)
def test_every_probe_is_in_exactly_one_half(names):
    tuning, reporting = ({p for probes in half.values() for p in probes} for half in split(names).values())
    assert not tuning & reporting
    assert tuning | reporting == {probe.id for history in histories(names) for probe in history.probes}


@given(NAMES, NAMES)
def test_a_history_stays_in_its_half_whatever_else_the_file_holds(names, others):
    def halves(of) -> set[str]:
        return {half_of("locomo", name) for name in of}

    if len(halves(names)) == 2:
        more = split(dict.fromkeys([*names, *others]))
        assert all(set(split(names)[half]) <= set(more[half]) for half in HALVES)


def test_the_probes_of_a_single_history_are_split_by_the_session_of_their_evidence():
    many = tuple(
        replace(PROBES[0], id=f"{s}-{n}", gold=replace(PROBES[0].gold, sessions=(f"s{s}",)))
        for s in range(12)
        for n in range(2)
    )
    halves = [
        {evidence_session(p) for h in in_half("perltqa", iter([life(probes=many)]), half) for p in h.probes}
        for half in HALVES
    ]
    assert not halves[0] & halves[1]
    assert all(halves)


def test_the_halves_are_those_that_were_committed():
    names = ("memoir/ines", "memoir/kofi", "memoir/marta", "locomo/conv-26", "locomo/conv-30", "longmemeval/eace081b")
    halves = [half_of(*name.split("/")) for name in names]
    assert halves == ["reporting", "tuning", "tuning", "tuning", "reporting", "reporting"]


def test_our_own_conversations_are_split_by_folder(tmp_path):
    evaluator = Evaluator(EvalSettings(home=tmp_path, data=None))
    paths = [evaluator.path_of(RunRequest("conversations", half=half)) for half in HALVES]
    assert [path.name for path in paths] == ["development", "reported"]
    assert evaluator.path_of(RunRequest("conversations")) == OWN_FILES["conversations"]


def test_a_run_of_one_half_says_so(tmp_path, embedder):
    evaluator, stopped, totals = Evaluator(EvalSettings(home=tmp_path, data=None)), threading.Event(), []
    stopped.set()
    asking = {"stop": stopped, "encoder": embedder, "began": lambda runs, total: totals.append(total)}
    run = evaluator.run(RunRequest("memoir", half="reporting", limit=70), **asking)
    assert run.spec.portion == "the first 70 of the reporting half"
    assert totals == [56]  # Ines's


def test_the_table_of_results_can_be_of_one_half(tmp_path, monkeypatch):
    evaluator = Evaluator(EvalSettings(home=tmp_path, data=None))
    monkeypatch.setattr(results, "report", lambda run: run)
    monkeypatch.setattr(evaluator, "run", lambda request, watch: request)
    done = results.measure_results(evaluator, lambda *progress: None, RunRequest("", half="reporting"))
    asked = [request for _, requests in done for request in requests.values()]
    assert {request.benchmark for request in asked} == {"memoir", "conversations"}
    assert {request.half for request in asked} == {"reporting"}


# --- differences


def values(*of_histories: tuple[float, ...]) -> ProbeValues:
    return {(f"h{n}", f"p{place}"): v for n, own in enumerate(of_histories) for place, v in enumerate(own)}


def test_a_change_that_histories_agree_on_is_surer_than_one_that_one_history_has_alone():
    before = values((0,) * 20, (0,) * 20, (0,) * 20, (0,) * 20)
    agreed = change(before, values(*[(1,) * 5 + (0,) * 15] * 4))
    alone = change(before, values((1,) * 20, (0,) * 20, (0,) * 20, (0,) * 20))
    assert agreed.difference == alone.difference == 0.25
    assert 0 < agreed.low < agreed.high < alone.high
    assert alone.low == 0


def test_benchmarks_weigh_alike_whatever_their_size():
    before = {"small": values((0,), (0,)), "large": values((0,) * 50, (0,) * 50)}
    after = {"small": values((1,), (1,)), "large": values((0,) * 50, (0,) * 50)}
    assert mean_change(before, after)[0] == 0.5
    assert overall(after) == 0.5


# --- the choice


def test_the_best_value_is_chosen_and_of_equal_ones_the_nearest_to_off(monkeypatch):
    monkeypatch.setattr(tuning, "GRID", {"views": (0, 0.5, 1)})
    equal = {0: values((0, 1), (1, 0)), 0.5: values((1, 0), (1, 0)), 1: values((1, 0), (0, 0))}
    assert choose(lambda constants: {"a": equal[constants["views"]]}) == {"views": 0}
    clear = {0: values((0, 0), (0, 0)), 0.5: values((1, 0), (1, 0)), 1: values((1, 0), (0, 0))}
    assert choose(lambda constants: {"a": clear[constants["views"]]}) == {"views": 0.5}


def made_up(constants) -> Mapping[str, ProbeValues]:
    """Meaning gains in every history, and neighbours where there is meaning; all other constants change nothing."""
    meaning = 0.4 - abs(constants["search.dense_weight"] - 0.4)
    figure = 0.5 + meaning + (0.1 * bool(constants["search.neighbours"]) if meaning > 0 else 0)
    return {name: values((figure, 0.2), (figure, 0.1)) for name in ("one", "other")}


def test_the_choice_keeps_what_gains_and_leaves_the_rest_off():
    assert choose(made_up) == {**off(), "search.dense_weight": 0.4, "search.neighbours": 0.15}


def test_the_choice_starts_without_any_earlier_one():
    seen = []
    choose(lambda constants: seen.append(constants) or made_up(constants))
    assert seen[0] == off()


def test_every_value_of_the_grid_is_tried_beside_the_choice():
    chosen = choose(made_up)
    tried = trials(made_up, chosen)
    assert [(trial.name, trial.value) for trial in tried] == [(name, v) for name, vs in GRID.items() for v in vs]
    assert all(trial.change == 0 for trial in tried if trial.value == chosen[trial.name])


def test_the_grid_has_every_factor_with_off_first():
    assert {f"search.{name}" for name in FACTORS} <= set(GRID)
    assert set(off().values()) == {0}
    settings = with_settings(Experiment(), [f"{name}={value}" for name, value in off().items()]).settings
    assert {name: settings[name] for name in GRID} == off()
    assert all(list(each) == sorted(each) for each in GRID.values())


# --- the measurement


def test_a_question_that_follows_another_is_measured_like_any(tmp_path):
    history = life(probes=(replace(PROBES[0], after=("Do I have a pet?",)),))
    experiment, part = with_settings(Experiment(), ["reader=none"]), ("memoir", "tuning")
    player = Player([(part, history)], experiment, tmp_path / "embeddings.db")
    (((name, _), value),) = player.measure(off(), [part])[part].items()
    assert name == history.id
    assert 0 <= value <= 1


# --- the command


@pytest.fixture
def evaluator(tmp_path, monkeypatch):
    """An evaluator of two tiny benchmarks, and a grid of two constants."""
    small = {"search.dense_weight": (0, 0.5, 0.8), "search.neighbours": (0, 0.15)}
    monkeypatch.setattr(tuning, "GRID", small)
    evaluator = Evaluator(EvalSettings(home=tmp_path, data=None))
    monkeypatch.setattr(
        evaluator, "histories", lambda request: iter(histories([f"{request.benchmark} {request.half}"]))
    )
    return evaluator


@pytest.mark.slow
def test_each_benchmark_is_left_out_of_the_choice_that_it_is_measured_with(evaluator, monkeypatch):
    asked = []
    real = tuning.choose
    monkeypatch.setattr(tuning, "choose", lambda of, watch: asked.append(sorted(of(off()))) or real(of, watch))
    found = tuning.tune(evaluator, 1, lambda label, done, total: None)
    assert asked == [["conversations", "memoir"], ["conversations"], ["memoir"]]
    assert [each.benchmark for each in found.left_out] == ["memoir", "conversations"]
    for each in found.left_out:
        assert each.lost.value_b == each.gained.value_b
        assert each.lost.difference == pytest.approx(each.lost.value_b - each.lost.value_a)
        assert each.lost.n == 2  # one of the three probes has no evidence
        assert set(each.without) == {name for name, value in each.constants.items() if value}
    assert found.today == {name: Experiment().settings[name] for name in tuning.GRID}
    table = tuning.to_markdown(found)
    for title in (
        "without memoir",
        "everything in view",
        "of a chat",
        "dense_weight",
        "no meaning",
        "Off in all left-out choices",
    ):
        assert title in table


def test_one_benchmark_alone_cannot_be_left_out(evaluator, monkeypatch):
    monkeypatch.setattr(tuning, "available", lambda evaluator, lines: [(lines[0], Path())])
    with pytest.raises(MemoirError, match="and one is here"):
        tuning.tune(evaluator, 1, lambda label, done, total: None)


@pytest.mark.slow
def test_the_workers_of_a_killed_command_end_with_it(tmp_path):
    killed = command(tmp_path, "tune", "--jobs", "2", "--limit", "2")
    wait_for(lambda: len(children(killed.pid)) >= 3)  # two workers, and what keeps count of their resources
    workers = children(killed.pid)
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    wait_for(lambda: not any(is_running(pid) for pid in workers), 60)
