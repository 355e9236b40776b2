"""Figures of others."""

import pytest

from eval.benchmarks import BENCHMARKS

PUBLISHED = [f for b in BENCHMARKS.values() for f in b.published_figures]
every_figure = pytest.mark.parametrize("figure", PUBLISHED, ids=lambda f: f"{f.system}-{f.metric}")


@every_figure
def test_a_figure_is_a_fraction_of_1_with_its_conditions_and_source(figure):
    assert 0 < figure.value <= 1
    assert figure.system
    assert figure.conditions
    assert any(part in figure.source for part in ("arXiv:", "github.com/", "development portion"))
    assert figure.n is None or figure.n > 0


def test_nobody_has_two_values_of_one_thing():
    said = [(f.benchmark, f.metric, f.system, f.conditions) for f in PUBLISHED]
    assert len(said) == len(set(said))


def test_conditions_say_the_portion_and_the_models():
    for figure in PUBLISHED:
        if figure.benchmark in ("longmemeval", "locomo"):
            assert any(word in figure.conditions for word in ("MiniLM", "embedding", "mpnet", "bge", "language model"))
        if figure.benchmark == "longmemeval":
            assert any(word in figure.conditions for word in ("of S", "M (", "oracle")), figure


def test_published_gives_the_figures_of_the_metrics_asked_for():
    found = BENCHMARKS["locomo"].published(["session_recall@10", "bleu"])
    assert [(f.system, f.value) for f in found] == [
        ("MemPalace hybrid v5", 0.889),
        ("MemPalace hybrid, bge-large", 0.924),
        ("MemPalace hybrid", 0.916),
    ]


def test_published_is_empty_where_nobody_published():
    assert BENCHMARKS["memoir"].published(["session_recall@10"]) == ()
    assert BENCHMARKS["locomo"].published([]) == ()


def test_recall_is_higher_further_down_the_ranking():
    rows = {}
    for figure in PUBLISHED:
        name, _, k = figure.metric.partition("@")
        if "recall" in name and k:
            rows.setdefault((figure.benchmark, figure.system, figure.conditions, name), {})[int(k)] = figure.value
    for values in rows.values():
        assert sorted(values.values()) == [values[k] for k in sorted(values)]
