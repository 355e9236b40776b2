"""The values of the form become a plan of runs, or are refused with the name of the field."""

from dataclasses import replace
from typing import get_args

import pytest

from eval.benchmarks import PRESETS
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import (
    Experiment,
    Granularity,
    IndexKey,
    InputSource,
    RememberedKinds,
    with_settings,
)
from eval.settings import EvalSettings
from eval.tab.run_form import FormValues, initial_values, make_plan
from eval.tab.screen import CONTROLS
from graph.settings import ClassifierEngine
from memory.errors import MemoirError

EMPTY = FormValues("memoir")


@pytest.fixture
def evaluator(tmp_path):
    return Evaluator(EvalSettings(home=tmp_path, data=None))


def test_the_initial_values_run_everything_with_the_defaults(evaluator):
    made = make_plan(evaluator, replace(EMPTY, controls=initial_values(evaluator)))
    assert not made.is_table
    [(label, request)] = made.requests
    assert (label, request.limit, request.data) == ("", None, None)
    assert request.experiment == Experiment()


def test_every_control_is_a_setting_with_all_of_its_values(evaluator):
    assert CONTROLS.keys() <= Experiment().settings.keys()
    for name, look in CONTROLS.items():
        for choice in look.get("choices", ()):
            with_settings(Experiment(), [f"{name}={choice}"])
    values = {
        "classifier": ClassifierEngine,
        "granularity": Granularity,
        "key": IndexKey,
        "remembered": RememberedKinds,
    }
    assert {name: CONTROLS[name]["choices"] for name in values} == {
        name: list(get_args(of)) for name, of in values.items()
    }
    assert {*CONTROLS["given"]["choices"], "found"} == set(get_args(InputSource))


def test_controls_and_lines_change_settings_and_lines_come_last(evaluator):
    made = make_plan(
        evaluator, replace(EMPTY, controls={"search.k": 5, "time_filter": "off"}, lines="search.k = 7\n\nseed=3\n")
    )
    settings = made.requests[0][1].experiment.settings
    assert (settings["search.k"], settings["time_filter"], settings["seed"]) == (7, False, 3)


def test_a_sweep_makes_a_run_for_every_combination(evaluator):
    made = make_plan(evaluator, replace(EMPTY, sweep="rerank.alpha=0,1\nsearch.k=5,10"))
    assert [label for label, _ in made.requests] == [
        "rerank.alpha=0 search.k=5",
        "rerank.alpha=0 search.k=10",
        "rerank.alpha=1 search.k=5",
        "rerank.alpha=1 search.k=10",
    ]
    assert made.is_table


def test_a_papers_table_leaves_out_the_rows_that_cannot_be_run(evaluator, tmp_path):
    preset = PRESETS["perltqa-table-5"]
    made = make_plan(evaluator, FormValues("perltqa", data=str(tmp_path), preset=preset.name))
    assert [label for label, _ in made.requests] == [row.label for row in preset.rows if not row.needs]
    assert len(made.left_out) == sum(bool(row.needs) for row in preset.rows)
    assert made.preset == preset


def test_one_system_is_a_run_and_several_are_the_rows_of_a_comparison(evaluator):
    one = make_plan(evaluator, replace(EMPTY, systems=("bm25",)))
    assert [(label, request.experiment.system) for label, request in one.requests] == [("", "bm25")]
    several = make_plan(evaluator, replace(EMPTY, systems=("memoir", "raptor"), lines="seed=3"))
    assert several.is_table
    assert several.compares_systems
    assert [(label, r.experiment.system, r.experiment.seed) for label, r in several.requests] == [
        ("system=memoir", "memoir", 3),
        ("system=raptor", "raptor", 3),
    ]


def test_a_system_that_needs_a_model_is_refused_without_one(evaluator):
    form = replace(EMPTY, systems=("memoir", "memwalker"))
    with pytest.raises(MemoirError, match="chat model"):
        make_plan(evaluator, form)
    assert make_plan(evaluator, replace(form, lines="model=http://127.0.0.1:8000/v1#any")).compares_systems


@pytest.mark.parametrize(
    ("form", "message"),
    [
        (replace(EMPTY, systems=()), "Tick a memory system"),
        (replace(EMPTY, preset="perltqa-table-5", systems=("memoir", "bm25")), "not both"),
        (replace(EMPTY, limit="some"), "“Probes” must be a whole number"),
        (replace(EMPTY, limit="0"), "whole number of at least 1"),
        (replace(EMPTY, controls={"search.k": None}), "“Candidates per kind” is empty"),
        (replace(EMPTY, preset="perltqa-table-5", sweep="search.k=1,2"), "not both"),
        (replace(EMPTY, preset="perltqa-table-5"), "another benchmark"),
        (FormValues("locomo"), "The files of LoCoMo are missing"),
        (replace(EMPTY, data="/nowhere/x"), "/nowhere/x, which does not exist"),
    ],
)
def test_a_field_that_makes_no_run_is_named_in_the_error(evaluator, form, message):
    with pytest.raises(MemoirError, match=message):
        make_plan(evaluator, form)


def test_an_unknown_setting_is_refused_with_those_there_are(evaluator):
    with pytest.raises(MemoirError, match=r"search\.k=10"):
        make_plan(evaluator, replace(EMPTY, lines="search.kk=3"))
