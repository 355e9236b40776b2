"""The Evaluate tab's HTML: what it says of runs and probes, with every text from a benchmark's file escaped."""

from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from types import SimpleNamespace

import pytest

from eval.benchmarks import Preset
from eval.judging.judge import Agreement
from eval.reporting.render import HEADLINES, METRICS, format_fraction
from eval.runs.experiment import RunRequest
from eval.tab.drill_down import trace_evidence
from eval.tab.runner import Plan, RunStatus
from eval.tab.screen import render_cards
from eval.types import Figure, Gold, Prediction, Probe, Sample, Verdict
from memory.tab.parts import render
from memory.types import TurnDraft

BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'"
PLAN = Plan(BAD, ((BAD, RunRequest("memoir")), ("", RunRequest("memoir"))))


SAID = (TurnDraft(BAD, "user", BAD),)
RUN = SimpleNamespace(name=BAD, created=datetime(2026, 6, 1, tzinfo=UTC), is_done=False, spec=SimpleNamespace(data=BAD))


def sample(abstained=False, **gold):
    probe = Probe(BAD, BAD, datetime(2026, 6, 1, tzinfo=UTC), Gold(**gold), BAD, choices=(BAD,), dialogue=SAID)
    times = {"read": 1.25}
    made = Prediction(BAD, BAD, {}, (), BAD, abstained, BAD, (BAD,), trace=(f"read: {BAD}",), milliseconds=times)
    return Sample(probe, made, Verdict("wrong", BAD, reply=BAD))


def render_status(status):
    return render("run_status.html", status=status)


def shown(asked, has_reader=True):
    return render("probe.html", sample=asked, has_reader=has_reader)


@pytest.mark.parametrize(
    "page",
    [
        shown(sample(answers=(BAD,), anchors=(BAD,))),
        shown(sample(abstained=True)),
        render("evidence.html", pieces=trace_evidence(sample(turns=(BAD,)), {BAD: BAD})),
        render("trace.html", prediction=sample().prediction),
        render_status(RunStatus(1, "running", PLAN, done=1, total=4, history=BAD)),
        render_status(RunStatus(1, "failed", PLAN, error=BAD)),
        render("table_notes.html", plan=Plan("", (), (BAD,), Preset("", "", "", "", (), (), ability=BAD, remark=BAD))),
        render("run_card.html", run=RUN, settings=BAD),
        render("run_delete.html", name=BAD, answers=1),
        render("download_steps.html", title=BAD, text=BAD),
        render("message_box.html", text=BAD),
    ],
)
def test_no_text_from_outside_is_markup(page):
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<img" not in page


def test_a_probe_that_cannot_be_answered_says_so():
    assert "Cannot be answered from this history." in shown(sample(answerable=False))


def test_what_a_benchmark_or_a_reader_does_not_give_is_said_so():
    assert "The benchmark gives none; only the evidence counts." in shown(sample())
    asked = sample(abstained=True)
    said = replace(asked, prediction=replace(asked.prediction, answer="", reason=""))
    assert "I don’t know (declined: no reason given)" in shown(said)
    assert "none: there was no reader" in shown(replace(said, prediction=replace(said.prediction, abstained=False)))


def test_a_verdict_is_shown_only_where_there_was_a_reader():
    assert "Verdict" in shown(sample())
    assert "Verdict" not in shown(sample(), has_reader=False)


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        ({"stored": False, "rank": None, "place": "not found"}, "not stored"),
        ({"stored": True, "rank": 4, "place": "read"}, "rank 4: read"),
        ({"stored": True, "rank": None, "place": "not found"}, "not found"),
        ({"stored": True, "rank": 1, "place": "read"}, "The text cannot be shown"),
    ],
)
def test_a_piece_of_evidence_says_what_became_of_it(piece, text):
    assert text in render("evidence.html", pieces=[{"unit": "t1", "text": "", **piece}])


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (RunStatus(), ""),
        (RunStatus(1, "finished", PLAN), ""),
        (RunStatus(1, "running", PLAN), "run 1 of 2"),
        (RunStatus(1, "running", PLAN, together=2), "run 1 to 2 of 2"),
        (RunStatus(1, "running", PLAN, done=2, total=4, resumed=2), "2 of 4 probes already answered"),
        (RunStatus(1, "stopping", PLAN, done=3, total=4), "stopping after this probe"),
        (RunStatus(1, "stopped", PLAN, done=3, total=4), "3 of 4 probes are kept"),
        (RunStatus(1, "stopped", PLAN), "What was answered is kept"),
    ],
)
def test_a_status_says_how_far_the_run_is(status, text):
    said = render_status(status)
    assert text in said if text else not said.strip()


@pytest.mark.parametrize(
    ("template", "report", "text"),
    [
        ("errors", {}, "This run had no reader."),
        ("errors", {"causes": {"misread": 0}}, "No wrong answers with known evidence."),
        (
            "errors",
            {"causes": {"misread": 1}, "unreadable": {"judge": 2}},
            ">2 replies of the judge could not",
        ),
        ("errors", {"causes": {"misread": 1}, "unjudged": ["coherence"]}, ">No judge has given: coherence."),
        ("costs", {}, ">Measured on a laptop."),
        ("costs", {"tokens": {"in": 4200, "out": 6}}, "4,200 tokens read and 6 written by a language model. Measured"),
        ("costs", {"agreement": Agreement(0, None, None)}, "No answer was judged by both judge and rule."),
        ("costs", {"agreement": Agreement(1200, 0.6, 0.25)}, "Judge and rule agree on 60% of 1,200, kappa .250."),
        ("costs", {"agreement": Agreement(5, 1.0, None)}, "Judge and rule agree on 100% of 5."),
    ],
)
def test_what_went_wrong_and_what_it_cost_is_said_in_words(template, report, text):
    known = {"causes": {}, "unreadable": {}, "unjudged": [], "tokens": {"in": 0, "out": 0}, "agreement": None}
    made = SimpleNamespace(**known | {"machine": "a laptop"} | report)
    assert text in render(f"result_{template}.html", report=made, fraction=format_fraction)


@pytest.mark.parametrize("metric", HEADLINES)
def test_every_headline_has_a_card_with_its_meaning(metric):
    report = SimpleNamespace(metrics={metric: Figure(0.5, 0.4, 0.6, 10)})
    assert METRICS[metric]["meaning"] in unescape(render_cards(report))
