"""A judge scores PerLTQA's answers by correctness and coherence; a score that cannot be read is counted, not a 0."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

import test_eval_benchmarks_perltqa as perltqa
from eval.__main__ import main
from eval.benchmarks import BENCHMARKS
from eval.judging import rubric
from eval.judging.judge import Judge
from eval.types import Verdict
from graph.models.registry import chat_model
from support.chat_server import Broken, ChatServer
from test_eval_judge import PREDICTION, PROBE

RIGHT = '{"verdict": "right"}'
CRITERIA = BENCHMARKS["perltqa"].criteria
SCORES = '{"correctness": 0.5, "coherence": 1}'


def judged(tmp_path, *replies, prediction=PREDICTION):
    judge = Judge(FakeListChatModel(responses=list(replies)), "fake", tmp_path / "judge.db", CRITERIA)
    return judge.judge(PROBE, prediction), judge.spent


def test_the_verdict_has_both_scores_beside_it(tmp_path):
    verdict, spent = judged(tmp_path, RIGHT, SCORES)
    scores = {"correctness": 0.5, "coherence": 1.0}
    assert verdict == Verdict("right", "fake", f"{RIGHT}\n{SCORES}", criteria=scores)
    assert (spent.asked, spent.unreadable) == (2, 0)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Quite good.", (None, None)),
        ('{"correctness": 2, "coherence": true}', (None, None)),
        ('{"correctness": "1", "coherence": 0}', (None, 0.0)),
        ('{"coherence": 0.5}', (None, 0.5)),
        (f"Well: {SCORES}", (0.5, 1.0)),
    ],
)
def test_a_score_that_cannot_be_read_is_none_and_counted(tmp_path, reply, expected):
    verdict, spent = judged(tmp_path, RIGHT, reply)
    assert tuple(verdict.criteria.values()) == expected
    assert (verdict.state, spent.unreadable) == ("right", int(None in expected))


@given(st.text() | st.dictionaries(st.sampled_from(["correctness", "coherence"]), st.floats()).map(json.dumps))
def test_any_reply_gives_scores_from_0_to_1_or_none(reply):
    scores, kept = rubric.score_criteria(PROBE, PREDICTION, CRITERIA, lambda *asked: reply)
    assert kept == reply
    assert set(scores) == {"correctness", "coherence"}
    assert set(scores.values()) <= {None, 0.0, 0.5, 1.0}


def test_a_readers_reply_that_could_not_be_read_scores_nothing_without_asking(tmp_path):
    verdict, spent = judged(tmp_path, RIGHT, prediction=replace(PREDICTION, unreadable=True))
    assert (verdict.state, verdict.criteria, spent.asked) == ("wrong", {"correctness": 0, "coherence": 0}, 0)


def test_the_judge_is_asked_by_schema_and_shown_what_each_score_means(tmp_path):
    with ChatServer(lambda request: RIGHT if "verdict" in str(request["response_format"]) else SCORES) as server:
        Judge(chat_model(server.model()), "local", tmp_path / "judge.db", CRITERIA).judge(PROBE, PREDICTION)
        request = server.requests[-1]
    assert list(request["response_format"]["json_schema"]["schema"]["properties"]) == ["correctness", "coherence"]
    shown = request["messages"][-1]["content"]
    assert all(f"- {name}: {meaning}" in shown for name, meaning in CRITERIA.items())
    assert '{"correctness": N, "coherence": N}' in shown


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    (tmp_path / "data").mkdir()
    questions = {"profile": [perltqa.item("Occupation", question=f"What does Pia do at {hour}?") for hour in range(5)]}
    perltqa.write(tmp_path / "data", {"Pia Lund": perltqa.CHARACTER}, [{"Pia Lund": questions}])

    def run(*arguments):
        assert main([*map(str, arguments)]) == 0
        return capsys.readouterr().out

    return run


def test_figure_4_has_its_figures_by_the_kind_that_is_asked_about(command, tmp_path):
    table = command("run", "perltqa", "--data", tmp_path / "data", "--preset", "perltqa-figure-4")
    header, _, *rows = (line for line in table.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in header.split("|")[2:-1]] == ["n", "anchor_map", "anchor_map, semantic"]
    assert len(rows) == 4
    assert all(row.split("|")[3].strip() == row.split("|")[4].strip() for row in rows)


def test_judging_a_run_gives_the_means_and_counts_what_could_not_be_read(command, tmp_path):
    run = json.loads(command("run", "perltqa", "--data", tmp_path / "data", "--json"))
    assert run["unjudged"] == ["correctness", "coherence"]
    replies = iter([SCORES, "Hm.", SCORES, '{"correctness": 1, "coherence": 1}', Broken(413, "{}")])
    with ChatServer(lambda asked: RIGHT if "verdict" in str(asked["response_format"]) else next(replies)) as server:
        held = json.loads(command("judge", run["run"], server.model(), "--json"))
    figures = {
        name: (held["metrics"][name]["value"], held["metrics"][name]["n"]) for name in ("correctness", "coherence")
    }
    assert figures == {"correctness": (pytest.approx(2 / 3), 3), "coherence": (1.0, 3)}
    assert held["metrics"]["judge_accuracy"]["n"] == 5
    assert (held["unreadable"], held["unjudged"]) == ({"judge by criteria": 1}, [])
