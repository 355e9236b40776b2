"""Each wrong answer is laid to the first step at which a part of its evidence was lost."""

from dataclasses import replace

import pytest

from eval.reporting.report import cause, count_causes
from eval.types import Gold, Prediction, Probe, RankedHit, Sample, Verdict
from support.invented_history import ASKED

GOLD = Gold(("Biscuit",), ("t1", "t2"), ("s1",))
WRONG, RIGHT, UNSCORED = (Verdict(state, "rule") for state in ("wrong", "right", "unscored"))


def hit(unit, place="read", session="s1"):
    return RankedHit((unit,), session, "dialogue", 0.5, place)


def answered(*found, gold=GOLD, stored=("s1", "t1", "t2"), verdict=WRONG):
    probe = Probe("q", "What is it called?", ASKED, gold)
    return Sample(probe, Prediction("q", "h", {}, found, "Toast", stored=stored), verdict)


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        (answered(hit("t1"), hit("t2")), "misread"),
        (answered(hit("t1"), hit("t2", "beyond")), "not retrieved"),
        (answered(hit("t1")), "not retrieved"),
        (answered(hit("t1"), hit("t2", "filtered")), "filtered out"),
        (answered(hit("t1", "filtered"), hit("t2", "beyond")), "filtered out"),
        (answered(hit("t1"), hit("t2"), stored=("s1", "t1")), "not stored"),
        (answered(hit("t2", "filtered"), stored=()), "not stored"),
    ],
)
def test_the_first_step_that_lost_a_part_of_the_evidence_is_the_cause(sample, expected):
    assert cause(sample) == expected


@pytest.mark.parametrize(
    "sample",
    [
        answered(verdict=RIGHT),
        answered(verdict=UNSCORED),
        answered(verdict=None),
        answered(gold=Gold(("Biscuit",))),
        answered(gold=replace(GOLD, answerable=False)),
    ],
)
def test_what_is_not_wrong_or_has_no_evidence_has_no_cause(sample):
    assert cause(sample) is None


def test_evidence_is_looked_for_on_the_finest_level_that_is_known():
    of_items = Gold(("x",), items=("9_1",), sessions=("s1",))
    of_sessions = Gold(("x",), sessions=("s1",))
    assert cause(answered(hit("t9"), gold=of_items, stored=("9_1", "s1"))) == "not retrieved"
    assert cause(answered(hit("9_1", session=""), gold=of_items, stored=("9_1", "s1"))) == "misread"
    assert cause(answered(hit("t9"), gold=of_sessions)) == "misread"


def test_a_memory_of_several_turns_brings_them_all():
    assert cause(answered(RankedHit(("t1", "t2", "t3"), "s1", "dialogue", 0.5, "read"))) == "misread"


def test_every_cause_is_counted_and_named_even_if_it_never_came_about():
    samples = [answered(hit("t1"), hit("t2")), answered(hit("t1")), answered(), answered(verdict=RIGHT)]
    assert count_causes(samples) == {"not stored": 0, "not retrieved": 2, "filtered out": 0, "misread": 1}
