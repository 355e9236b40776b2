"""A judge scores an answer by points, or by the order of what it tells; what cannot be read is left out and counted."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

from eval.judging import rubric
from eval.judging.judge import Judge
from eval.judging.rubric import order_score
from eval.reporting.render import to_markdown
from eval.reporting.report import report
from eval.runs.run import Runs, Spec
from eval.types import Gold, Sample, Verdict
from graph.models.limits import bounded_schema
from test_eval_judge import PREDICTION, PROBE

POINTS = replace(PROBE, gold=Gold(("behind the barometer",), rubric=("names the barometer", "is polite")))
EVENTS = replace(PROBE, gold=Gold(("first, then",), rubric=("bought", "painted", "sold"), in_order=True))


def judged(tmp_path, probe, prediction, *replies):
    judge = Judge(FakeListChatModel(responses=list(replies)), "fake", tmp_path / "judge.db")
    return judge.judge(probe, prediction), judge.spent


def test_the_score_is_the_mean_of_the_points_and_all_of_them_make_an_answer_right(tmp_path):
    verdict, spent = judged(tmp_path, POINTS, PREDICTION, '{"score": 1}', 'Well: {"score": 0.5}')
    assert verdict == Verdict("wrong", "fake", "points: 1, 0.5", 0.75)
    assert spent.asked == 2
    verdict, spent = judged(tmp_path / "other", POINTS, PREDICTION, '{"score": 1}')
    assert (verdict.state, verdict.score) == ("right", 1)


@pytest.mark.parametrize("reply", ["no", '{"score": 2}', '{"score": true}', '{"score": "1"}', "[1]", '{"points": 1}'])
def test_a_reply_that_gives_no_score_is_counted_and_the_answer_gets_none(tmp_path, reply):
    verdict, spent = judged(tmp_path, POINTS, PREDICTION, '{"score": 1}', reply)
    assert (verdict.state, verdict.score) == ("unreadable", None)
    assert spent.unreadable == 1


def test_a_reply_that_the_reader_garbled_scores_nothing_without_asking(tmp_path):
    verdict, spent = judged(tmp_path, POINTS, replace(PREDICTION, unreadable=True))
    assert (verdict.state, verdict.score, spent.asked) == ("wrong", 0, 0)


def test_events_are_aligned_line_by_line(tmp_path):
    told = replace(PREDICTION, answer="It was bought.\n\nThen painted\nand sold.")
    verdict, spent = judged(tmp_path, EVENTS, told, '{"events": [1, 2, 3]}')
    assert (verdict.state, verdict.score, spent.asked) == ("right", 1, 1)
    for wrong in ("[1, 2]", "[1, 2, 4]", "[1, 2, true]", "3"):
        verdict, _ = judged(tmp_path / wrong, EVENTS, told, f'{{"events": {wrong}}}')
        assert (verdict.state, verdict.score) == ("unreadable", None)
    verdict, spent = judged(tmp_path / "empty", EVENTS, replace(PREDICTION, answer=" "))
    assert (verdict.score, spent.asked) == (0, 0)


def test_a_long_answer_is_aligned_as_well():
    asked = []

    def ask(prompt, schema, max_tokens):
        asked.append((bounded_schema(schema), max_tokens))
        return f'{{"events": {[1] * 30}}}'

    told = replace(PREDICTION, answer="\n".join(f"It was bought {n}." for n in range(30)))
    assert 0 < rubric.score(EVENTS, told, ask)[0] < 1
    ((schema, max_tokens),) = asked
    assert schema["properties"]["events"]["maxItems"] == 30
    assert max_tokens > 30 * 3


# By the authors' script: precision and recall of the lines, and scipy's tau-b with what is missing ranked last.
@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([1, 2, 3], 1.0),
        ([3, 2, 1], 0.0),
        ([1, 3, 2], (1 / 3 + 1) / 2),
        ([1, 2], 0.8),
        ([0, 0], 0.0),
        ([1, 1, 2, 3], 6 / 7 * (1 / 3 + 1) / 2),
    ],
)
def test_the_score_of_an_order(told, expected):
    assert order_score(3, told) == pytest.approx(expected)


@given(st.integers(1, 6), st.data())
def test_any_order_scores_between_nothing_and_all_and_the_right_one_all(events, data):
    told = data.draw(st.lists(st.integers(0, events), max_size=8))
    assert -1e-9 <= order_score(events, told) <= 1 + 1e-9
    assert order_score(events, list(range(1, events + 1))) == pytest.approx(1)


SPEC = Spec("beam", "/data", "c0ffee", "all", {"reader": "extractive"}, "code", {})


def run_of(folder, *verdicts):
    run = Runs(folder).resume_or_create(SPEC)
    for n, verdict in enumerate(verdicts):
        run.append(Sample(replace(POINTS, id=str(n)), replace(PREDICTION, probe_id=str(n)), verdict))
    return run


def test_the_report_has_the_mean_score_of_what_could_be_read_and_counts_the_rest(tmp_path):
    scores = (0.5, 0.0, 1.0, 0.5)
    run = run_of(tmp_path, *(Verdict("wrong", "fake", "", value) for value in scores), Verdict("unreadable", "fake"))
    held = report(run)
    assert (held.metrics["rubric_score"].value, held.metrics["rubric_score"].n) == (0.5, 4)
    assert (held.unreadable, held.unjudged) == ({"judge": 1}, ())


def test_the_report_of_a_run_that_was_not_judged_names_the_command(tmp_path):
    run = run_of(tmp_path, Verdict("wrong", "rule"))
    text = to_markdown(report(run))
    assert f"Not judged: rubric_score. Run `python -m eval judge {run.name} MODEL`." in text
    assert "rubric_score |" not in text
