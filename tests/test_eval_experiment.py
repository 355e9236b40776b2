"""Anything in the settings can be varied by name."""

import pytest

from eval.runs.evaluator import Evaluator
from eval.runs.experiment import Experiment, combinations, with_settings
from eval.settings import EvalSettings
from memory.errors import MemoirError


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("rerank.alpha", "0.3", 0.3),
        ("search.k", "25", 25),
        ("time_filter", "off", False),
        ("classifier", "none", "none"),
        ("granularity", "round", "round"),
        ("simulation.time_limit_s", "3", 3.0),
        ("seed", "7", 7),
    ],
)
def test_a_setting_is_changed_by_its_name_and_nothing_else(name, value, held):
    changed = with_settings(Experiment(), [f"{name}={value}"])
    assert changed.settings[name] == held
    assert {n for n, v in changed.settings.items() if v != Experiment().settings[n]} == {name}


@pytest.mark.parametrize(
    "wrong",
    [
        "rerank.gamma=1",
        "alpha=0.3",
        "search=5",
        "rerank.alpha",
        "=3",
        "search.k=many",
        "search.k=-1",
        "rerank.alpha=nan",
        "rerank.beta=inf",
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(wrong):
    with pytest.raises(MemoirError) as fault:
        with_settings(Experiment(), [wrong])
    assert wrong.split("=")[0] in str(fault.value)


def test_a_grid_is_every_combination_once():
    made = dict(combinations(Experiment(), ["search.k=5,10", "rerank.alpha=0,0.5,1"]))
    assert len(made) == 6
    assert made["search.k=10 rerank.alpha=0.5"].pipeline.search.k == 10
    assert {(e.pipeline.search.k, e.pipeline.rerank.alpha) for e in made.values()} == {
        (k, a) for k in (5, 10) for a in (0, 0.5, 1)
    }


@pytest.mark.parametrize("sweep", ["search.k", "search.k=", "=1,2"])
def test_a_sweep_over_nothing_is_refused(sweep):
    with pytest.raises(MemoirError, match=r"has no values|no setting ''"):
        list(combinations(Experiment(), [sweep]))


def test_a_replay_learns_by_rules_unless_a_model_is_asked_to(tmp_path):
    by_default = Evaluator(EvalSettings(home=tmp_path, model="openai:any")).experiment.pipeline
    by_request = Evaluator(EvalSettings(home=tmp_path, model="openai:any", learner="llm")).experiment.pipeline
    assert (by_default.learner, by_request.learner) == ("rules", "llm")
