"""From samples to figures: which names a probe has, and what stands behind them."""

import random
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from math import log2

import pytest

from eval.benchmarks.longmemeval.metrics import ndcg_longmemeval, official_scores
from eval.benchmarks.madial.metrics import ndcg_madial
from eval.metrics.evidence import Scoring
from eval.metrics.scores import figures, score
from eval.types import STATEMENT, Figure, Gold, Prediction, Probe, RankedHit, Sample, Verdict

PRIOR = {"profile": 0.1, "relationship": 0.1, "world": 0.1, "event": 0.2, "dialogue": 0.5}


def sample(gold, found=(), number=0, *, choices=(), verdict=None, **said):
    probe = Probe(f"p{number}", "Where?", datetime(2024, 5, 1, tzinfo=UTC), gold, choices=choices)
    return Sample(probe, Prediction(probe.id, "h", PRIOR, tuple(found), **said), verdict)


def hit(*units, session="", place="read"):
    return RankedHit(units, session, "dialogue", 1.0, place)


def scored(sample, ks=(1, 2), level="sessions", official=None, *, answered=True):
    return score([sample], Scoring(level, ks, official), answered=answered)[0].scores


def measured(samples, level="sessions", official=None, *, answered=True):
    scoring = Scoring(level, (1, 3), official, ndcg_madial if level == "items" else None)
    return figures(score(samples, scoring, answered=answered), scoring, answered=answered)


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


# --- LongMemEval's own script

OF_USER = Gold(turns=("b4", "b5"), sessions=("b",), user_turns=("b4", "e2"), user_sessions=("b", "e"))


def official(*found, ks=(1, 2, 3), gold=OF_USER):
    return official_scores(sample(gold, [hit(*units, session=units[0][0]) for units in found]), ks)


def test_longmemeval_ranks_the_turns_that_the_user_said():
    scores = official(["a1"], ["b5"], ["b4"], ["c1"])
    assert [scores[f"turn_recall_any_official@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    assert scores["turn_recall_all_official@3"] == 0
    assert scores["turn_ndcg_official@3"] == pytest.approx(1 / log2(3) / 2)
    found = official(["b4"], ["a1"], ["e2"])
    assert [found[f"turn_recall_all_official@{k}"] for k in (1, 2, 3)] == [0, 0, 1]


def test_longmemeval_finds_a_session_by_its_evidence_only():
    scores = official(["a1"], ["b5"], ["b4"])
    assert [scores[f"session_recall_any_official@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    assert scores["ndcg_official@3"] == pytest.approx(1 / log2(3) / 2)


def test_longmemeval_reads_a_ranking_of_turns_down_to_k_sessions():
    scores = official(["a1"], ["a2"], ["b4"], ["a3"], ["e2"], ks=(2, 3))
    assert (scores["turn_recall_any_official@2"], scores["session_recall_any_official@2"]) == (0, 1)
    assert scores["ndcg_official@2"] == pytest.approx(1 / log2(3) / 2)
    assert (scores["turn_recall_all_official@3"], scores["session_recall_all_official@3"]) == (0, 1)
    assert scores["ndcg_official@3"] == pytest.approx((1 / log2(3) + 1 / log2(5)) / 2)


def test_longmemeval_ranks_sessions_where_they_are_stored_as_a_whole():
    scores = official(["a1", "a2"], ["b4", "b5"], ["e1", "e2"])
    assert [scores[f"session_recall_all_official@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    assert [scores[f"ndcg_official@{k}"] for k in (1, 2)] == [0, 0.5]


def test_longmemeval_prints_sessions_up_to_ten_and_nothing_without_evidence_by_the_user():
    scores = official(["b4"], ks=(10, 30))
    assert "turn_ndcg_official@30" in scores
    assert "ndcg_official@10" in scores
    assert "ndcg_official@30" not in scores
    assert official(["b4"], gold=replace(OF_USER, user_turns=(), user_sessions=())) == {}
    assert set(official(ks=(5,)).values()) == {0.0}


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
    assert scores.pop("false_refusal_rate") == 1.0
    assert set(scores.values()) == {0.0}
    assert {"rouge_l", "bleu", "similarity", "anchor_map", "answer_accuracy"} <= set(scores)


def test_what_cannot_be_answered_is_right_or_wrong_and_no_text_to_compare():
    declined = scored(sample(Gold(("nothing",), answerable=False), abstained=True))
    assert declined == {"answer_accuracy": 1.0, "abstention_recall": 1.0}


@pytest.mark.parametrize("ability", [STATEMENT, "proactive", "proactive: Activity"])
def test_what_asks_nothing_can_be_neither_answered_nor_declined(ability):
    samples = run(10)
    told = sample(Gold(), number=99, abstained=True)
    told = replace(told, probe=replace(told.probe, ability=ability))
    names = ("abstention_precision", "abstention_recall", "abstention_f1", "false_refusal_rate")
    assert not set(names) & set(scored(told))
    without, with_it = measured(samples), measured([*samples, told])
    assert {name: with_it[name] for name in names} == {name: without[name] for name in names}


def test_a_chat_models_reply_that_could_not_be_read_is_wrong_whatever_another_reader_said():
    answered = sample(Gold(("Lisbon",), choice=0), choices=("Lisbon",), answer="Lisbon", choice=0, unreadable=True)
    scores = scored(answered)
    wrong = ("answer_accuracy", "choice_accuracy", "exact_match", "containment", "token_recall", "false_refusal_rate")
    assert {name: scores[name] for name in wrong} == dict.fromkeys(wrong, 0.0)
    declined = sample(Gold(answerable=False), abstained=True, unreadable=True)
    assert scored(declined) == {"answer_accuracy": 0.0, "abstention_recall": 0.0}


def test_a_classifiers_reply_that_could_not_be_used_is_wrong_and_stays_in_n():
    samples = [sample(Gold(kind="episodic"), number=n) for n in range(4)]
    unread = replace(samples[0], prediction=replace(samples[0].prediction, fallbacks={"classify": True}))
    found = measured([unread, *samples[1:]])["classification_accuracy"]
    assert (found.value, found.n) == (0.75, 4)


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
    silent = replace(judged, verdict=Verdict("unscored", "judge-1", "the server is away"))
    assert (scored(silent)["judge_accuracy"], scored(silent)["judge_unscored"]) == (None, 1.0)
    unread = replace(judged, verdict=Verdict("unreadable", "judge-1", "hm"))
    assert (scored(unread)["judge_accuracy"], scored(unread)["judge_unscored"]) == (0.0, 0.0)
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
    assert measured(samples[1:], "items")["geometric_mean@1"].value == 0
    assert "geometric_mean@1" not in measured(samples)


def test_nothing_refused_leaves_precision_out():
    samples = [sample(Gold(("a",)), number=0, answer="a"), sample(Gold(answerable=False), number=1, answer="b")]
    found = measured(samples)
    assert "abstention_precision" not in found
    assert (found["abstention_recall"].value, found["false_refusal_rate"].value) == (0.0, 0.0)


def test_a_uniform_prior_is_no_classification():
    samples = [replace(s, prediction=replace(s.prediction, stores=dict.fromkeys(PRIOR, 0.2))) for s in run(4)]
    assert not any(name.startswith("classification") for name in measured(samples))


def test_an_interval_is_wider_where_histories_differ_than_where_they_are_one():
    halves = [replace(s, prediction=replace(s.prediction, history_id=s.prediction.answer)) for s in run()]
    one, several = (measured(samples)["answer_accuracy"] for samples in (run(), halves))
    assert one.value == several.value
    assert several.high - several.low > 1.5 * (one.high - one.low)


def test_one_probe_and_none_at_all_have_figures_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measured([]) == {}
        one = measured(run(1))
    assert one["turn_recall@3"] == Figure(1.0, pytest.approx(0.2065, abs=1e-4), 1.0, 1)
