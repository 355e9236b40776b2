"""From metrics to probes, and from a probe to its evidence."""

from datetime import UTC, datetime

import pytest

from eval.benchmarks import BENCHMARKS
from eval.metrics.scores import Scored, score
from eval.tab import drill_down
from eval.tab.drill_down import ALL
from eval.types import Gold, Prediction, Probe, RankedHit, Sample, ShownHit, Verdict

ASKED = datetime(2026, 6, 1, tzinfo=UTC)


def sample(name, state="wrong", place="read", *, answerable=True, abstained=False, ability="temporal"):
    gold = Gold(("a canoe",), ("t1", "t9"), ("s1",)) if answerable else Gold(answerable=False)
    found = (RankedHit(("t7",), "s7", "dialogue", 0.9), RankedHit(("t1", "t2"), "s1", "dialogue", 0.5, place))
    said = (ShownHit(("t1", "t2"), "dialogue", "Ada", "The canoe leaks.", "", {}, True),)
    made = Prediction(name, "ada", {}, found, "a canoe", abstained, stored=("t1", "s1"), shown=said)
    return Sample(Probe(name, "What leaks?", ASKED, gold, ability), made, Verdict(state, "rule"))


SAMPLES = [
    sample("p1", "right"),
    sample("p2", "wrong", abstained=True),
    sample("p3", "right", answerable=False, abstained=True, ability="never-mentioned"),
]


def listed(metric, group=ALL, has_reader=True):
    scored = score(SAMPLES, BENCHMARKS["memoir"].scoring, answered=has_reader)
    found = drill_down.sort_by_metric(scored, metric, group, has_reader=has_reader)
    return [(one.probe.id, value) for one, value in found]


def test_groups_without_probes_are_left_out():
    assert drill_down.group_names([Scored(one, {}) for one in SAMPLES], has_reader=True) == [
        ALL,
        "verdict: wrong",
        "verdict: right",
        "wrong because: not stored",
        "abstention: answered, can be answered",
        "abstention: declined, can be answered",
        "abstention: declined, cannot be answered",
        "ability: never-mentioned",
        "ability: temporal",
        "evidence: 2",
    ]


def test_without_a_reader_there_are_no_groups_of_answers():
    assert drill_down.group_names([Scored(one, {}) for one in SAMPLES], has_reader=False) == [
        ALL,
        "ability: never-mentioned",
        "ability: temporal",
        "evidence: 2",
    ]


def test_the_lowest_come_first_and_those_without_the_metric_last():
    assert listed("token_f1") == [("p2", 0.0), ("p1", 1.0), ("p3", None)]


def test_a_group_lists_only_its_own_probes():
    assert [name for name, _ in listed("token_f1", "ability: temporal")] == ["p2", "p1"]
    assert [name for name, _ in listed("token_f1", "abstention: declined, cannot be answered")] == ["p3"]


def test_a_metric_of_a_set_lists_what_it_is_computed_from():
    assert listed("abstention_f1") == [("p1", 0.0), ("p2", 1.0), ("p3", 1.0)]


@pytest.mark.parametrize(
    ("place", "told"), [("read", "read"), ("beyond", "found, not read"), ("filtered", "removed by the time filter")]
)
def test_each_piece_of_evidence_says_what_became_of_it(place, told):
    assert drill_down.trace_evidence(sample("p1", place=place), {"t9": "Ada: Behind the seat."}) == [
        {"unit": "t1", "text": "The canoe leaks.", "stored": True, "rank": 2, "place": told},
        {"unit": "t9", "text": "Ada: Behind the seat.", "stored": False, "rank": None, "place": "not found"},
    ]
