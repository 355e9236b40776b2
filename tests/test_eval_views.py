"""The Evaluate tab's HTML: what it says of runs and probes, with every text from a benchmark's file escaped."""

from datetime import UTC, datetime
from html import unescape
from types import SimpleNamespace

import pytest

from eval.benchmarks.types import Preset
from eval.reporting.render import HEADLINES, METRICS
from eval.runs.evaluator import RunRequest
from eval.tab.drill_down import EvidencePiece
from eval.tab.runner import Plan, RunStatus
from eval.tab.views import (
    render_cards,
    render_probe,
    render_status,
    render_table_notes,
    render_trace,
)
from eval.types import Figure, Gold, Prediction, Probe, Sample, Verdict
from memory.tab.parts import render

BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'"
PLAN = Plan(BAD, ((BAD, RunRequest("memoir")), ("", RunRequest("memoir"))))


def sample(**gold):
    probe = Probe(BAD, BAD, datetime(2026, 6, 1, tzinfo=UTC), Gold(**gold), BAD, choices=(BAD,))
    made = Prediction(BAD, BAD, {}, (), BAD, False, cited=(BAD,), trace=(f"read: {BAD}",), milliseconds={"read": 1.25})
    return Sample(probe, made, Verdict("wrong", BAD, reply=BAD))


@pytest.mark.parametrize(
    "page",
    [
        render_probe(sample(answers=(BAD,), anchors=(BAD,)), has_reader=True),
        render("evidence.html", pieces=[EvidencePiece(BAD, True, 1, "read", BAD)]),
        render_trace(sample()),
        render_status(RunStatus(1, "running", PLAN, done=1, total=4, history=BAD)),
        render_status(RunStatus(1, "failed", PLAN, error=BAD)),
        render_table_notes(Plan("", (), (BAD,), Preset("", "", "", "", (), (), ability=BAD, remark=BAD))),
        render("run_card.html", name=BAD, values={BAD: BAD}),
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
    assert "Cannot be answered from this history." in render_probe(sample(answerable=False), has_reader=True)


def test_a_verdict_is_shown_only_where_there_was_a_reader():
    assert "Verdict" in render_probe(sample(), has_reader=True)
    assert "Verdict" not in render_probe(sample(), has_reader=False)


@pytest.mark.parametrize(
    ("piece", "text"),
    [
        (EvidencePiece("t1", False, None, "not found"), "not stored"),
        (EvidencePiece("t1", True, 4, "read"), "rank 4: read"),
        (EvidencePiece("t1", True, None, "not found"), "not found"),
        (EvidencePiece("t1", True, 1, "read"), "The text cannot be shown"),
    ],
)
def test_a_piece_of_evidence_says_what_became_of_it(piece, text):
    assert text in render("evidence.html", pieces=[piece])


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
    shown = render_status(status)
    assert text in shown if text else not shown.strip()


@pytest.mark.parametrize("metric", HEADLINES)
def test_every_headline_has_a_card_with_its_meaning(metric):
    report = SimpleNamespace(metrics={metric: Figure(0.5, 0.4, 0.6, 10)})
    assert METRICS[metric]["meaning"] in unescape(render_cards(report))
