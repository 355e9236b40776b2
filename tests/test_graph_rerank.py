"""Rerank weighs the kind of memory asked for against how well each fits, and only orders."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.nodes.rerank import order, order_by_kind, rerank
from graph.settings import PipelineSettings, RerankSettings
from memory.search.scoring import SearchSettings
from memory.types import STORES, Hit, Memory


def hit(number, store="dialogue", score=0.0):
    memory = Memory(store, "", id=number, persona_id=1, recorded_at=datetime(2024, 1, 1, tzinfo=UTC))
    return Hit(memory, score, {"fused": score})


CLASSES = {"profile": 0.1, "relationship": 0.1, "world": 0.1, "event": 0.6, "dialogue": 0.1}
HALVES = RerankSettings(0.5, 0.5)


def test_equation_3_by_hand():
    # Scores 0.2 and 0.6: mean 0.4, deviation 0.2, so -1 and 1; sigmoid(1) = 0.731059, sigmoid(-1) = 0.268941.
    ordered = order([hit(1, "dialogue", 0.6), hit(2, "event", 0.2)], CLASSES, HALVES)
    assert [h.memory.id for h in ordered] == [2, 1]
    assert ordered[0].score == pytest.approx(0.5 * 0.6 + 0.5 * 0.268941, abs=1e-6)
    assert ordered[1].score == pytest.approx(0.5 * 0.1 + 0.5 * 0.731059, abs=1e-6)
    assert ordered[1].scores == {"fused": 0.6, "found": 1, "class": 0.1, "fit": 0.7311, "rerank": 0.4155}


def test_each_weight_alone_gives_its_own_order():
    hits = [hit(1, "dialogue", 0.6), hit(2, "event", 0.2)]
    assert [h.memory.id for h in order(hits, CLASSES, RerankSettings(1.0, 0.0))] == [2, 1]
    assert [h.memory.id for h in order(hits, CLASSES, RerankSettings(0.0, 1.0))] == [1, 2]


def test_equals_keep_their_order():
    hits = [hit(n, "dialogue", 0.5) for n in range(5)]
    assert [h.memory.id for h in order(hits, CLASSES, HALVES)] == [0, 1, 2, 3, 4]


def test_equal_scores_fit_equally_whatever_their_rounding():
    ordered = order([hit(n, "dialogue", 43.21253102570877) for n in range(3)], CLASSES, HALVES)
    assert {h.scores["fit"] for h in ordered} == {0.5}


def test_nothing_found_is_nothing_to_order():
    assert asyncio.run(rerank({}, SimpleNamespace())) == {}


weights = st.floats(0, 1)
found = st.lists(st.tuples(st.sampled_from(STORES), st.floats(0, 2)), min_size=1, max_size=30)


@given(found, st.lists(weights, min_size=5, max_size=5), weights, weights)
def test_it_only_orders(scored, classes, alpha, beta):
    hits = [hit(n, store, score) for n, (store, score) in enumerate(scored)]
    ordered = order(hits, dict(zip(STORES, classes, strict=True)), RerankSettings(alpha, beta))
    assert sorted(h.memory.id for h in ordered) == list(range(len(hits)))
    assert all(h.kept and h.scores["fused"] == hits[h.memory.id].score for h in ordered)
    scores = [h.score for h in ordered]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= s <= alpha + beta + 1e-9 for s in scores)


@given(found, st.floats(0.01, 100))
def test_the_unit_of_the_scores_does_not_matter(scored, factor):
    plain = [hit(n, store, round(score, 2)) for n, (store, score) in enumerate(scored)]
    scaled = [hit(n, store, round(score, 2) * factor) for n, (store, score) in enumerate(scored)]
    ours, theirs = (order(hits, CLASSES, HALVES) for hits in (plain, scaled))
    assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-6)


PRINTED = PipelineSettings(search=SearchSettings(k=2), rerank=RerankSettings(0.5, 0.5, "kinds"))


def test_equation_3_as_printed_has_two_classes_and_the_retrievers_own_scores():
    # Semantic: 0.1 + 0.1 + 0.1, episodic: 0.7. sigmoid(2) = 0.880797, sigmoid(1) = 0.731059.
    ordered = order_by_kind([hit(1, "profile", 2.0), hit(2, "dialogue", 1.0)], CLASSES, PRINTED)
    assert [h.memory.id for h in ordered] == [2, 1]
    assert ordered[0].score == pytest.approx(0.5 * 0.7 + 0.5 * 0.731059, abs=1e-6)
    assert ordered[1].score == pytest.approx(0.5 * 0.3 + 0.5 * 0.880797, abs=1e-6)


def test_equation_3_as_printed_takes_the_k_best_of_each_class():
    stores = ["profile", "relationship", "world", "event", "dialogue", "event"]
    hits = [hit(n, store, 1 - n / 10) for n, store in enumerate(stores)]
    ordered = order_by_kind(hits, CLASSES, PRINTED)
    assert [h.memory.id for h in ordered if h.kept] == [3, 4, 0, 1]
    assert [h.memory.id for h in ordered if not h.kept] == [5, 2]
    assert all("of its class" in h.why for h in ordered if not h.kept)


def test_equation_3_as_printed_takes_bm25_where_words_alone_are_searched():
    settings = PipelineSettings(search=SearchSettings(dense_weight=0), rerank=PRINTED.rerank)
    (found,) = order_by_kind([replace(hit(1, "event", 1.0), scores={"lexical": 3.0})], CLASSES, settings)
    assert found.scores["fit"] == 0.9526
