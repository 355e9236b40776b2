"""From samples to figures: which names a probe has, and what stands behind them."""

import random
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from math import log2

import pytest

from eval.benchmarks.longmemeval.metrics import ndcg_longmemeval
from eval.benchmarks.madial.metrics import SUMMED_UP, ndcg_madial
from eval.metrics.scores import Scoring, figures, score
from eval.types import Figure, Gold, Prediction, Probe, RankedHit, Sample, Verdict

PRIOR = {"profile": 0.1, "relationship": 0.1, "world": 0.1, "event": 0.2, "dialogue": 0.5}


def sample(gold, found=(), number=0, *, choices=(), verdict=None, **said):
    probe = Probe(f"p{number}", "Where?", datetime(2024, 5, 1, tzinfo=UTC), gold, choices=choices)
    return Sample(probe, Prediction(probe.id, "h", PRIOR, tuple(found), **said), verdict)


def hit(*units, session="", place="read"):
    return RankedHit(units, session, "dialogue", 1.0, place)


def scored(sample, ks=(1, 2), level="sessions", official=None, *, answered=True):
    return score(sample, Scoring(level, ks, official), answered=answered)


def measured(samples, level="sessions", official=None, *, answered=True):
    summed_up = SUMMED_UP if level == "items" else ()
    return figures(samples, Scoring(level, (1, 3), official, summed_up), answered=answered)


# --- what was found


def test_turns_are_those_that_the_first_k_hits_hold_together():
    found = [hit("t1", "t2", session="s1"), hit("t9", session="s2"), hit("t3", session="s3")]
    scores = scored(sample(Gold(turns=("t2", "t3", "t4")), found), ks=(1, 3), answered=False)
    assert (scores["turn_recall@1"], scores["turn_recall@3"]) == pytest.approx((1 / 3, 2 / 3))
    assert (scores["turn_recall_any@1"], scores["turn_recall_all@3"]) == (1.0, 0.0)


def test_turns_are_ranked_among_turns_where_the_evidence_was_said():
    found = [hit("profile"), hit("event"), hit("t1", session="s1")]
    of_turns = scored(sample(Gold(turns=("t1",), sessions=("s1",)), found), answered=False)
    of_memories = scored(sample(Gold(turns=("event",)), found), answered=False)
    assert of_turns["turn_recall@1"] == 1.0
    assert (of_memories["turn_recall@1"], of_memories["turn_recall@2"]) == (0.0, 1.0)


def test_a_hit_that_brings_nothing_new_takes_no_place():
    found = [hit("t1"), hit("t1"), hit(), hit("t1", "t2")]
    scores = scored(sample(Gold(turns=("t2",)), found), answered=False)
    assert (scores["turn_recall@1"], scores["turn_recall@2"]) == (0.0, 1.0)
    assert scores["turn_ndcg@2"] == pytest.approx(1 / log2(3))


def test_a_hit_with_several_turns_of_evidence_is_one_thing_to_rank():
    scores = scored(sample(Gold(turns=("t1", "t2")), [hit("t1", "t2"), hit("t3")]), answered=False)
    assert (scores["turn_ndcg@1"], scores["turn_ndcg@2"]) == (1.0, 1.0)


def test_evidence_that_was_not_found_counts_against_the_ranking():
    scores = scored(sample(Gold(turns=("t1", "t2")), [hit("t1"), hit("t3")]), answered=False)
    assert scores["turn_ndcg@2"] == pytest.approx(1 / (1 + 1 / log2(3)))


def test_what_time_filtered_out_was_not_found():
    found = [hit("t1", session="s1", place="filtered"), hit("t2", session="s2", place="beyond")]
    scores = scored(sample(Gold(turns=("t1",), sessions=("s1", "s2")), found), answered=False)
    assert scores["turn_recall@2"] == 0.0
    assert scores["session_recall@1"] == 0.5


def test_the_ranking_is_widened_to_k_distinct_sessions():
    found = [hit("t1", session="s1"), hit("t2", session="s1"), hit("fact"), hit("t3", session="s2")]
    scores = scored(sample(Gold(sessions=("s1", "s2")), found), answered=False)
    assert (scores["session_recall@1"], scores["session_recall@2"]) == (0.5, 1.0)
    assert (scores["session_recall_any@1"], scores["session_recall_all@1"], scores["session_recall_all@2"]) == (1, 0, 1)


def test_sessions_are_ranked_by_every_measure_of_their_level():
    found = [hit("t1", session="x"), hit("t2", session="s1")]
    scores = scored(sample(Gold(sessions=("s1",)), found), official=ndcg_longmemeval, answered=False)
    assert (scores["mrr@2"], scores["map@2"], scores["ndcg_official@2"]) == (0.5, 0.5, 1.0)
    assert scores["ndcg@2"] == pytest.approx(1 / log2(3))
    assert not {"recall@1", "precision@1", "turn_recall@1"} & set(scores)


def test_items_are_sessions_or_memories_of_their_own():
    found = [hit("t1", session="d1"), hit("t2", session="d1"), hit("e1")]
    scores = scored(sample(Gold(items=("e1", "e2")), found), level="items", official=ndcg_madial, answered=False)
    assert (scores["recall@2"], scores["precision@2"], scores["mrr@2"]) == (0.5, 0.5, 0.5)
    assert scores["ndcg_official@2"] == pytest.approx(1 / log2(3))
    assert "session_recall@1" not in scores


def test_a_level_without_gold_is_not_scored():
    assert scored(sample(Gold(("Lisbon",)), [hit("t1", session="s1")]), answered=False) == {}


# --- what was answered


def test_an_answer_is_scored_against_the_gold_answers():
    scores = scored(
        sample(Gold(("Lisbon",), anchors=("Lisbon", "May"), anchor_ceiling=0.5), answer="In Lisbon", similarity=0.8)
    )
    assert scores["anchor_ceiling"] == 0.5
    assert (scores["exact_match"], scores["containment"], scores["token_recall"]) == (0.0, 1.0, 1.0)
    assert (scores["similarity"], scores["anchor_map"], scores["answer_accuracy"]) == (0.8, 0.5, 1.0)
    assert scores["token_f1"] == pytest.approx(2 / 3)


def test_refusing_what_can_be_answered_is_worth_nothing():
    scores = scored(sample(Gold(("Lisbon",), anchors=("May",)), answer="Lisbon in May", abstained=True))
    assert set(scores.values()) == {0.0}
    assert {"rouge_l", "bleu", "similarity", "anchor_map", "answer_accuracy"} <= set(scores)


def test_what_cannot_be_answered_is_right_or_wrong_and_no_text_to_compare():
    assert scored(sample(Gold(("nothing",), answerable=False), abstained=True)) == {"answer_accuracy": 1.0}


@pytest.mark.parametrize(
    ("said", "brought_up", "of_items", "of_sessions"),
    [
        ({"cited": ("m1",)}, 1.0, 1.0, 0.0),
        ({"cited": ("t2",)}, 1.0, 0.0, 1.0),
        ({"cited": ("m9",)}, 1.0, 0.0, 0.0),
        ({"cited": ("m1",), "reader": "extractive"}, 0.0, None, None),
        ({}, 0.0, None, None),
    ],
)
def test_a_memory_brought_up_unasked_is_right_if_it_is_relevant(said, brought_up, of_items, of_sessions):
    gold = Gold(("A reply.",), turns=("t1",), sessions=("s1",), items=("m1",))
    asked = sample(gold, [hit("m1"), hit("t2", session="s1"), hit("m9")], **said)
    told = replace(asked, probe=replace(asked.probe, ability="proactive: Activity"))
    for level, right in (("items", of_items), ("sessions", of_sessions)):
        scores = scored(told, level=level)
        assert (scores["brought_up"], scores["brought_up_precision"]) == (brought_up, right)
    assert "brought_up" not in scored(asked)


def test_without_a_reader_no_answer_is_scored():
    assert scored(sample(Gold(("Lisbon",), choice=0), choices=("Lisbon",)), answered=False) == {}


def test_a_judge_stands_beside_the_rule():
    judged = sample(Gold(("Lisbon",)), answer="the Portuguese capital", verdict=Verdict("right", "judge-1"))
    assert (scored(judged)["judge_accuracy"], scored(judged)["answer_accuracy"]) == (1.0, 0.0)
    unread = replace(judged, verdict=Verdict("unscored", "judge-1", "hm"))
    assert scored(unread)["judge_accuracy"] is None
    assert "judge_accuracy" not in scored(replace(judged, verdict=Verdict("wrong", "rule")))


def test_choices_are_scored_where_there_are_any():
    right = sample(Gold(("Ana",), choice=1), choices=("Bo", "Ana"), answer="Ana", choice=1)
    assert (scored(right)["choice_accuracy"], scored(right)["answer_accuracy"]) == (1.0, 1.0)


# --- a whole run


def run(size=40):
    rng = random.Random(7)
    samples = []
    for number in range(size):
        answerable = number % 5 > 0
        gold = Gold(
            ("the red boat",) if answerable else (),
            turns=("t1",),
            sessions=("s1",),
            items=("s1", "e1"),
            anchors=("boat",),
            kind="episodic" if number % 3 else "semantic",
            answerable=answerable,
        )
        found = [hit("t1", session="s1"), hit("t2", session="s2"), hit("e1")]
        rng.shuffle(found)
        answer = rng.choice(["a red boat", "a blue house", "boat"])
        samples.append(sample(gold, found, number, answer=answer, abstained=rng.random() < 0.3, similarity=0.5))
    return samples


def test_a_shuffled_run_has_the_same_figures():
    samples = run()
    shuffled = random.Random(1).sample(samples, len(samples))
    assert measured(shuffled, "items", ndcg_madial) == measured(samples, "items", ndcg_madial)


def test_a_run_with_a_reader_has_every_figure():
    names = set(measured(run(), "items", ndcg_madial))
    assert names == {
        *(f"turn_{name}@{k}" for name in ("recall", "recall_any", "recall_all", "ndcg") for k in (1, 3)),
        *(f"session_{name}@{k}" for name in ("recall", "recall_any", "recall_all") for k in (1, 3)),
        *(f"{m}@{k}" for m in "recall precision map mrr ndcg ndcg_official geometric_mean".split() for k in (1, 3)),
        *"exact_match token_f1 token_recall containment rouge_l bleu similarity anchor_map answer_accuracy".split(),
        *(f"classification_{name}" for name in ("accuracy", "precision", "recall", "f1")),
        *"abstention_precision abstention_recall abstention_f1 false_refusal_rate dist_1 dist_2".split(),
    }


def test_every_figure_is_a_fraction_of_one_with_its_interval():
    for figure in measured(run(), "items", ndcg_madial).values():
        assert 0 <= figure.low <= figure.value <= figure.high <= 1
        assert 0 < figure.n <= 40


def test_without_a_reader_there_are_classes_and_rankings_alone():
    found = measured(run(), answered=False)
    assert "classification_f1" in found
    assert all("@" in name or name.startswith("classification") for name in found)


def test_means_count_the_probes_that_have_the_metric():
    samples = run(10)
    found = measured(samples)
    assert (found["token_f1"].n, found["answer_accuracy"].n, found["classification_f1"].n) == (8, 10, 10)
    right = [scored(s)["answer_accuracy"] for s in samples]
    assert found["answer_accuracy"].value == pytest.approx(sum(right) / 10)


def test_the_geometric_mean_is_of_the_means():
    samples = [sample(Gold(items=("e1",)), [hit(found)], n) for n, found in enumerate(["e1", "e2"])]
    assert measured(samples, "items")["geometric_mean@1"].value == pytest.approx(0.5)
    expected = (0.5 * 0.5 * 0.5 * 0.5 * (0.5 / 3)) ** 0.2
    assert measured(samples, "items")["geometric_mean@3"].value == pytest.approx(expected)
    assert "geometric_mean@1" not in measured(samples)


def test_nothing_refused_leaves_precision_out():
    samples = [sample(Gold(("a",)), number=0, answer="a"), sample(Gold(answerable=False), number=1, answer="b")]
    found = measured(samples)
    assert "abstention_precision" not in found
    assert (found["abstention_recall"].value, found["false_refusal_rate"].value) == (0.0, 0.0)


def test_a_uniform_prior_is_no_classification():
    samples = [replace(s, prediction=replace(s.prediction, stores=dict.fromkeys(PRIOR, 0.2))) for s in run(4)]
    assert not any(name.startswith("classification") for name in measured(samples))


def test_one_probe_and_none_at_all_have_figures_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measured([]) == {}
        one = measured(run(1))
    assert one["turn_recall@3"] == Figure(1.0, 1.0, 1.0, 1)
