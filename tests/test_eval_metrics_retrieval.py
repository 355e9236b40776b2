"""Each convention against values worked out by hand, the standard ones through ir-measures."""

import json
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import gmean

from eval.benchmarks.longmemeval.metrics import ndcg_longmemeval
from eval.benchmarks.madial.metrics import ndcg_madial
from eval.metrics.evidence import average_precision, recall_all, recall_any, standard_scores


def standard(name):
    """One of the standard metrics of one ranking at one cut-off."""
    return lambda ranking, relevant, k: standard_scores([(ranking, relevant)], [k])[0][f"{name}@{k}"]


recall, precision, reciprocal_rank, ndcg = (standard(name) for name in ("recall", "precision", "mrr", "ndcg"))

ALL = (
    recall,
    recall_any,
    recall_all,
    precision,
    average_precision,
    reciprocal_rank,
    ndcg,
    ndcg_longmemeval,
    ndcg_madial,
)
RANKING = ["x", "a", "y", "b", "z"]
RELEVANT = {"a", "b", "c"}

rankings = st.lists(st.sampled_from("abcdefghij"), unique=True)
relevants = st.sets(st.sampled_from("abcdefghij"), min_size=1)
cutoffs = st.integers(1, 12)


@pytest.mark.parametrize(
    ("measure", "at_1", "at_2", "at_5"),
    [
        (recall, 0, 1 / 3, 2 / 3),
        (recall_any, 0, 1, 1),
        (recall_all, 0, 0, 0),
        (precision, 0, 1 / 2, 2 / 5),
        (average_precision, 0, (1 / 2) / 2, (1 / 2 + 2 / 4) / 3),
        (reciprocal_rank, 0, 1 / 2, 1 / 2),
        (ndcg, 0, (1 / log2(3)) / (1 + 1 / log2(3)), (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / log2(4))),
        (ndcg_longmemeval, 0, 1 / 2, (1 + 1 / log2(4)) / (1 + 1 + 1 / log2(3))),
        (ndcg_madial, 0, 1 / log2(3), (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3))),
    ],
)
def test_a_ranking_scores_what_the_definition_says(measure, at_1, at_2, at_5):
    assert [measure(RANKING, RELEVANT, k) for k in (1, 2, 5)] == pytest.approx([at_1, at_2, at_5])


def test_many_rankings_score_together_what_each_scores_alone_and_nothing_found_is_zero():
    rankings = [(RANKING, RELEVANT), ([], {"a"}), (["b"], {"b"}), (["x"], {"a"})]
    together = standard_scores(rankings, (1, 3))
    assert together == [standard_scores([ranking], (1, 3))[0] for ranking in rankings]
    assert set(together[1].values()) == {0.0}
    assert standard_scores([], (1, 3)) == []


def test_precision_divides_by_k_even_if_fewer_were_found():
    assert precision(["a"], {"a"}, 10) == pytest.approx(0.1)


def test_average_precision_reaches_one_where_more_are_relevant_than_are_looked_at():
    assert average_precision(["a", "b"], RELEVANT, 2) == 1.0


def test_longmemevals_first_two_ranks_count_alike_and_the_standard_ones_do_not():
    assert ndcg_longmemeval(["x", "a"], {"a"}, 5) == 1.0
    assert ndcg(["x", "a"], {"a"}, 5) == pytest.approx(1 / log2(3))


def test_madials_ndcg_does_not_punish_what_was_missed():
    assert ndcg_madial(["a", "x"], RELEVANT, 5) == 1.0
    assert ndcg(["a", "x"], RELEVANT, 5) < 0.5


@pytest.mark.parametrize("measure", ALL)
def test_an_empty_ranking_scores_zero(measure):
    assert measure([], {"a"}, 3) == 0.0


@given(rankings, relevants, cutoffs)
def test_ir_measures_agrees_with_the_definitions(ranking, relevant, k):
    hits = [found in relevant for found in ranking[:k]]
    gains = sum(hit / log2(rank + 1) for rank, hit in enumerate(hits, 1))
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(len(relevant), k) + 1))
    assert recall(ranking, relevant, k) == pytest.approx(sum(hits) / len(relevant))
    assert precision(ranking, relevant, k) == pytest.approx(sum(hits) / k)
    assert reciprocal_rank(ranking, relevant, k) == pytest.approx(1 / (hits.index(True) + 1) if any(hits) else 0)
    assert ndcg(ranking, relevant, k) == pytest.approx(gains / ideal)


@given(rankings, relevants, cutoffs)
def test_every_measure_is_a_fraction_of_one(ranking, relevant, k):
    assert all(0 <= measure(ranking, relevant, k) <= 1 + 1e-9 for measure in ALL)


@given(relevants, cutoffs)
def test_the_best_ranking_scores_one_on_all_that_is_normalised(relevant, k):
    best = sorted(relevant)
    for measure in (average_precision, reciprocal_rank, ndcg, ndcg_longmemeval, ndcg_madial, recall_any):
        assert measure(best, relevant, k) == pytest.approx(1.0)


@given(rankings, relevants, cutoffs)
def test_recall_lies_between_all_and_any(ranking, relevant, k):
    assert recall_all(ranking, relevant, k) <= recall(ranking, relevant, k) <= recall_any(ranking, relevant, k)


@pytest.mark.data
def test_the_published_rankings_give_the_published_figures(benchmark_data):
    file = benchmark_data / "madial_bench" / "en" / "en_openai_top_20_bottom.json"
    probes = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    rankings = [(list(map(str, p["top-20-ids"])), set(map(str, p["relevant-id"]))) for p in probes]
    published = {
        "average_precision": [0.637, 0.547, 0.578, 0.604],
        "reciprocal_rank": [0.637, 0.721, 0.741, 0.748],
        "ndcg_madial": [0.637, 0.743, 0.771, 0.770],
        "recall": [0.390, 0.591, 0.720, 0.827],
        "precision": [0.637, 0.371, 0.287, 0.174],
    }
    ks = (1, 3, 5, 10)
    names = {"average_precision": average_precision, "reciprocal_rank": reciprocal_rank, "ndcg_madial": ndcg_madial}
    means = {
        name: [np.mean([measure(*ranking, k) for ranking in rankings]) for k in ks]
        for name, measure in {**names, "recall": recall, "precision": precision}.items()
    }
    assert len(probes) == 80
    assert means == {name: pytest.approx(figures, abs=0.001) for name, figures in published.items()}
    assert gmean(list(means.values())) == pytest.approx([0.578, 0.577, 0.585, 0.549], abs=0.0006)
