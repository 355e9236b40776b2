"""The templates of the Memory tab: each compiles, says what happened, and escapes every text."""

from pathlib import Path

import pytest

from memory.forgetting.forget import ForgetReport
from memory.tab import parts
from memory.tab.parts import render

BAD = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize("path", sorted(parts.WEB.glob("templates/*.html")), ids=lambda path: path.stem)
def test_every_template_compiles(path):
    assert parts._environment.get_template(path.name)


def test_a_preview_lists_what_would_be_forgotten():
    shown = render("forget_preview.html", gone=ForgetReport(3, 1, 1, lines=(BAD,)), is_fact=False)
    assert "3 memories, 1 turn, 1 whole conversation" in shown
    assert "&lt;img" in shown
    assert "<img" not in shown
    assert "… and 2 more." in shown


def test_a_preview_of_everything_it_lists_says_no_more():
    assert "more" not in render("forget_preview.html", gone=ForgetReport(1, 1, 0, lines=("One.",)), is_fact=False)


def test_a_report_says_what_is_left_and_where():
    clean = render("forget_report.html", gone=ForgetReport(1, 2, 0))
    assert "1 memory, 2 turns; no traces left in the file." in clean
    assert "report this" not in clean
    left = render("forget_report.html", gone=ForgetReport(1, 2, 0, residue=2, copies=(Path(f"/{BAD}.db"),)))
    assert "2 traces left in the file. Please report this as a bug." in left
    assert "&lt;img src=x onerror=alert(1)&gt;.db. Delete that file too." in left


def test_totals_count_each_group_of_memories():
    counts = {"sessions": 2, "turns": 1200}
    shown = render("persona_totals.html", counts=counts, groups=[("Plans", 200), ("Events", 1000)])
    assert "<strong>1,200 facts, people and events</strong> from 2 conversations (1,200 turns)" in shown
    assert "Plans <strong>200</strong>" in shown
