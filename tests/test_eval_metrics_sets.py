"""Figures of whole sets, their intervals, and the differences between runs."""

import warnings
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, bootstrap
from sklearn.metrics import accuracy_score, f1_score, precision_score, recall_score

from eval.metrics import intervals
from eval.metrics.confusion import (
    CELLS,
    abstention,
    classification,
    curve,
    kind_cells,
    predicted_kind,
    refusal_cells,
    table,
)
from eval.metrics.intervals import RESAMPLES, SEED, SIGNIFICANT, compare, jackknife_figure, set_figures, stars
from eval.types import Figure, Gold, Prediction, Probe, Sample

KINDS = ("semantic", "episodic")
pairs = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(KINDS)), min_size=1, max_size=40)
flags = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def mean_figures(columns, histories=None):
    """The figures of columns whose probes are of these histories, or of one."""
    n = len(next(iter(columns.values())))
    return intervals.mean_figures(columns, histories or ["h"] * n)


def sample(answerable, abstained, confidence=0.0):
    probe = Probe("p", "Where?", datetime(2024, 5, 1, tzinfo=UTC), Gold(answerable=answerable))
    return Sample(probe, Prediction("p", "h", {}, (), abstained=abstained, confidence=confidence))


# --- classification


@given(pairs)
def test_the_weighted_figures_are_scikit_learns(pairs):
    gold, taken = zip(*pairs, strict=True)
    ours = classification(kind_cells(pairs).mean(axis=0))
    weighted = {"average": "weighted", "zero_division": 0}
    assert ours["classification_accuracy"] == pytest.approx(accuracy_score(gold, taken))
    assert ours["classification_precision"] == pytest.approx(precision_score(gold, taken, **weighted))
    assert ours["classification_recall"] == pytest.approx(recall_score(gold, taken, **weighted))
    assert ours["classification_f1"] == pytest.approx(f1_score(gold, taken, **weighted))


def test_the_predicted_kind_has_the_larger_sum():
    stores = {"profile": 0.2, "relationship": 0.2, "world": 0.05, "event": 0.5, "dialogue": 0.05}
    assert predicted_kind(stores) == "episodic"
    assert predicted_kind({**stores, "profile": 0.4}) == "semantic"


@pytest.mark.parametrize("stores", [{}, dict.fromkeys(("profile", "relationship", "world", "event", "dialogue"), 0.2)])
def test_a_uniform_prior_takes_no_kind(stores):
    assert predicted_kind(stores) is None


# --- abstention


@given(flags)
def test_abstention_is_scikit_learns_with_abstaining_as_the_positive_class(flags):
    samples = [sample(*flag) for flag in flags]
    gold, refused = [not answerable for answerable, _ in flags], [abstained for _, abstained in flags]
    ours = abstention(refusal_cells(samples).mean(axis=0))
    if any(gold):
        assert ours["abstention_recall"] == pytest.approx(recall_score(gold, refused))
        assert ours["abstention_f1"] == pytest.approx(f1_score(gold, refused, zero_division=0))
    if any(gold) and any(refused):
        assert ours["abstention_precision"] == pytest.approx(precision_score(gold, refused))
    if not all(gold):
        assert ours["false_refusal_rate"] == pytest.approx(recall_score(np.invert(gold), refused))


def test_a_figure_over_nothing_is_not_a_number():
    answered = [sample(answerable, abstained=False) for answerable in (True, False)]
    nothing_refused = abstention(refusal_cells(answered).mean(axis=0))
    assert np.isnan(nothing_refused["abstention_precision"])
    assert nothing_refused["abstention_f1"] == 0.0
    all_answerable = abstention(refusal_cells([sample(True, True)]).mean(axis=0))
    assert {name for name, value in all_answerable.items() if np.isnan(value)} == {
        "abstention_precision",
        "abstention_recall",
        "abstention_f1",
    }


def test_the_table_counts_each_of_the_four_kinds():
    kinds = [(True, False)] * 4 + [(True, True)] * 3 + [(False, False)] * 2 + [(False, True)]
    assert table([sample(*kind) for kind in kinds]) == dict(zip(CELLS, (4, 3, 2, 1), strict=True))
    assert table([]) == dict.fromkeys(CELLS, 0)


def test_the_curve_abstains_below_each_threshold():
    found = curve([sample(True, False, 0.9), sample(True, False, 0.3), sample(False, False, 0.2)])
    at = {t: place for place, t in enumerate(found["threshold"])}
    assert found["precision"][0] is None
    assert (found["recall"][at[0.2]], found["recall"][at[0.21]]) == (0.0, 1.0)
    assert (found["precision"][at[0.25]], found["f1"][at[0.25]], found["false_refusal_rate"][at[0.25]]) == (
        1.0,
        1.0,
        0.0,
    )
    assert (found["precision"][at[0.5]], found["false_refusal_rate"][at[0.5]]) == (0.5, 0.5)
    assert (at[0.0], at[1.0]) == (0, 100)


def test_there_is_no_curve_where_a_reader_gave_no_confidence():
    samples = [sample(True, False, 0.9), sample(False, False, 0.2)]
    assert curve(samples) is not None
    assert curve([*samples, sample(True, False, None)]) is None


def test_there_is_no_curve_where_nothing_is_to_be_declined():
    assert curve([sample(True, False, 0.9)]) is None
    assert curve([]) is None


# --- intervals


@pytest.mark.parametrize("histories", [["h"] * 50, [f"h{n}" for n in range(50)]], ids=["one", "each its own"])
def test_means_and_intervals_are_scipys_where_probes_are_resampled_alone(histories):
    values = np.random.default_rng(3).random(50)
    figure = mean_figures({"m": values.tolist()}, histories)["m"]
    theirs = bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, method="percentile", rng=np.random.default_rng(SEED)
    ).confidence_interval
    assert figure.value == pytest.approx(values.mean())
    assert (figure.low, figure.high) == pytest.approx((theirs.low, theirs.high), abs=0.015)


def test_an_interval_over_histories_holds_what_they_and_what_their_probes_differ_by():
    alike = {"m": [0.0, 1.0, 0.5, 0.5] * 25}
    apart = {"m": [0.0] * 49 + [0.1] + [1.0] * 49 + [0.9]}
    histories = ["a"] * 50 + ["b"] * 50
    probes, of_alike, of_apart = mean_figures(alike)["m"], *(mean_figures(m, histories)["m"] for m in (alike, apart))
    assert of_alike.high - of_alike.low == pytest.approx(probes.high - probes.low, rel=0.15)
    assert (of_apart.low, of_apart.high) == pytest.approx((0, 1), abs=0.01)


def test_a_long_history_counts_by_its_probes():
    figure = mean_figures({"m": [0.9] * 8 + [0.1, 0.2]}, ["long"] * 8 + ["short"] * 2)["m"]
    assert figure.value == pytest.approx(0.75)
    assert figure.high == pytest.approx(0.9)


@pytest.mark.parametrize("column", [[1.0, 0.0, 1.0, 1.0], [1.0] * 4, [0.0]])
def test_a_share_over_one_history_has_wilsons_interval(column):
    ones, n = int(sum(column)), len(column)
    theirs = binomtest(ones, n).proportion_ci(method="wilson")
    figure = mean_figures({"m": column})["m"]
    assert (figure.value, figure.n) == (ones / n, n)
    assert (figure.low, figure.high) == pytest.approx((theirs.low, theirs.high))


def test_a_share_that_is_the_same_in_all_histories_is_not_certain():
    figure = mean_figures({"m": [1.0] * 20}, ["a", "b"] * 10)["m"]
    assert (figure.value, figure.high) == (1.0, 1.0)
    assert 0.8 < figure.low < 0.9


def test_what_is_not_defined_for_a_probe_is_not_counted():
    figures = mean_figures({"a": [1.0, None, 0.0, None], "none": [None] * 4, "b": [1.0, 0.0, 0.0, 0.0]})
    assert list(figures) == ["a", "b"]
    assert (figures["a"].value, figures["a"].n, figures["b"].value, figures["b"].n) == (0.5, 2, 0.25, 4)
    assert figures["a"] == mean_figures({"a": [1.0, 0.0]})["a"]


@pytest.mark.parametrize("column", [[0.1], [0.1, 0.1, 0.1], [None, 0.1]])
def test_one_value_or_the_same_throughout_has_no_width_and_no_warning(column):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mean_figures({"m": column})["m"] == Figure(0.1, 0.1, 0.1, sum(v is not None for v in column))


@given(st.lists(st.tuples(st.floats(0.01, 0.99), st.sampled_from("abc")), min_size=1, max_size=20))
def test_an_interval_lies_within_what_was_measured(rows):
    values, histories = zip(*rows, strict=True)
    figure = mean_figures({"m": values}, histories)["m"]
    assert min(values) - 1e-9 <= figure.low <= figure.high <= max(values) + 1e-9


def test_resamples_without_a_value_do_not_count_and_do_not_warn():
    samples = [sample(True, False)] * 6 + [sample(False, True)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figures = set_figures(refusal_cells(samples), abstention, ["h"] * 7)
    assert figures["abstention_precision"] == Figure(1.0, 1.0, 1.0, 7)
    assert figures["false_refusal_rate"] == Figure(0.0, 0.0, 0.0, 7)


def test_a_set_figure_is_that_of_the_whole_set():
    found = kind_cells([*product(KINDS, KINDS), ("semantic", "semantic")])
    figures = set_figures(found, classification, ["h"] * 5)
    assert figures["classification_accuracy"].value == pytest.approx(3 / 5)
    assert figures["classification_accuracy"].low < 3 / 5 < figures["classification_accuracy"].high


def test_the_jackknife_of_a_mean_is_its_standard_error():
    values = np.array([0.1, 0.4, 0.2, 0.5])
    without = [float(np.delete(values, place).mean()) for place in range(4)]
    error = values.std(ddof=1) / 2
    figure = jackknife_figure(float(values.mean()), without)
    assert (figure.low, figure.high) == pytest.approx((0.3 - 1.959964 * error, 0.3 + 1.959964 * error))
    assert jackknife_figure(0.5, [0.0]) == Figure(0.5, 0.5, 0.5, 1)


# --- significance


def compared(a, b, histories=None):
    """The difference of two runs over these histories, or over one."""
    return compare(a, b, histories or dict.fromkeys([*a, *b], "h"))


def test_runs_are_compared_on_the_probes_that_both_asked():
    found = compared({"p1": 0.0, "p2": 1.0, "p3": 0.0, "x": 1.0}, {"p3": 1.0, "p2": 1.0, "p1": 1.0, "y": 0.0})
    assert (found.value_a, found.value_b, found.n) == pytest.approx((1 / 3, 1.0, 3))
    assert found.difference == pytest.approx(2 / 3)
    assert found.low <= found.difference <= found.high


def test_p_is_the_share_of_exchanges_that_differ_as_much():
    # Five gains, two-sided: 2 of 2 ** 5 sign patterns are as extreme; the equal pair changes nothing.
    a = dict.fromkeys("abcdef", 0.0)
    assert compared(a, {**dict.fromkeys("abcde", 1.0), "f": 0.0}).p == pytest.approx(2 / 32)


def test_runs_alike_do_not_differ():
    found = compared({"p": 0.5, "q": 1.0}, {"p": 0.5, "q": 1.0})
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)
    assert compared({"p": 0.0}, {"p": 1.0}).p == 1.0


def test_a_comparison_does_not_depend_on_the_order_of_the_probes():
    rng = np.random.default_rng(5)
    a, b = ({f"p{n}": float(v) for n, v in enumerate(rng.random(60))} for _ in range(2))
    assert compared(a, b) == compared(dict(reversed(a.items())), b)


def test_exchanging_the_runs_turns_the_difference_round():
    a, b = {f"p{n}": 0.0 for n in range(9)}, {f"p{n}": n / 10 for n in range(9)}
    assert compared(a, b).difference == pytest.approx(-compared(b, a).difference)
    assert compared(a, b).p == pytest.approx(compared(b, a).p)


def test_all_probes_of_a_history_are_exchanged_together():
    histories = {f"p{n}": f"h{n % 3}" for n in range(60)}
    found = compared(dict.fromkeys(histories, 0.0), dict.fromkeys(histories, 1.0), histories)
    assert (found.p, found.n, found.histories) == (pytest.approx(2 / 2**3), 60, 3)
    assert compared(dict.fromkeys(histories, 0.0), dict.fromkeys(histories, 1.0)).p < 0.001


def test_the_smallest_p_is_held_against_all_tests_and_the_next_against_one_less():
    assert stars({"a": 0.012, "b": 0.03, "c": 0.015, "d": 0.005}) == {"a": "*", "b": "*", "c": "*", "d": "*"}
    assert stars({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == {"a": "*", "b": "", "c": "", "d": "*"}
    assert stars({"a": 0.05}) == {"a": ""}
    assert stars({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_no_test_has_a_star_that_a_smaller_p_lacks(values):
    starred = stars(dict(enumerate(values)))
    assert all(values[test] < SIGNIFICANT for test, star in starred.items() if star)
    assert sorted(starred.values(), reverse=True) == [starred[test] for test in sorted(starred, key=values.__getitem__)]


def test_nothing_in_common_cannot_be_compared():
    with pytest.raises(ValueError, match="no probe in common"):
        compared({"p": 1.0}, {"q": 1.0})
