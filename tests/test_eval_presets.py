"""The papers' tables as experiments by name."""

import re

import pytest

from eval.benchmarks import BENCHMARKS, PRESETS, read_names
from eval.reporting import results
from eval.runs.experiment import Experiment, with_settings

WANTED = {
    "perltqa-table-3",
    "perltqa-table-4",
    "perltqa-table-5",
    "perltqa-table-6",
    "perltqa-figure-4",
    "perltqa-equation-3",
    "longmemeval-table-2",
    "longmemeval-table-3",
    "longmemeval-table-4",
    "longmemeval-figure-5",
    "longmemeval-figure-6",
    "longmemeval-table-8",
    "longmemeval-table-9",
    "longmemeval-table-10",
    "longmemeval-pooled",
    "longmemeval-user-turns",
    "madial-table-4",
    "madial-settings",
    "dialsim-table-3",
    "dialsim-table-4",
    "dialsim-table-13",
    "dialsim-table-14",
    "dialsim-figure-4",
    "locomo-questions",
}
METRIC = re.compile(
    r"(?:(?:session|turn)_recall(?:_any|_all)?(?:_official)?|(?:turn_)?ndcg(?:_official)?|map|mrr|recall|precision|geometric_mean)@(?:1|2|3|5|10)"
    r"|classification_(?:accuracy|precision|recall|f1)|exact_match|token_f1|token_recall|containment|rouge_l|bleu(?:_[1-4])?|similarity"
    r"|anchor_map|choice_accuracy(?:_official)?|f1_(?:official|mapped)|judge_accuracy|correctness|coherence|abstention_(?:precision|recall|f1)|false_refusal_rate|intra_dist_[12]"
    r"|brought_up|brought_up_precision|converse_fallback|read_fallback"
)

every_preset = pytest.mark.parametrize("preset", PRESETS.values(), ids=list(PRESETS))


def test_every_table_of_the_papers_is_there_under_its_own_name():
    assert set(PRESETS) == WANTED
    assert all(name == preset.name for name, preset in PRESETS.items())


@every_preset
def test_every_row_is_an_experiment(preset):
    for row in preset.rows:
        assert isinstance(with_settings(Experiment(), list(row.settings)), Experiment), row.label


@every_preset
def test_no_row_sets_a_setting_twice(preset):
    for row in preset.rows:
        names = [assignment.partition("=")[0] for assignment in row.settings]
        assert len(names) == len(set(names)), row.label


@every_preset
def test_labels_tell_rows_apart(preset):
    labels = [row.label for row in preset.rows]
    assert len(labels) == len(set(labels))


@every_preset
def test_rows_that_can_be_run_are_different_experiments(preset):
    runnable = [with_settings(Experiment(), list(row.settings)) for row in preset.rows if not row.needs]
    assert runnable
    assert all(a != b for n, a in enumerate(runnable) for b in runnable[:n])


@every_preset
def test_rows_of_a_table_set_the_same_settings_so_that_a_changed_default_leaks_into_none(preset):
    runnable = [row for row in preset.rows if not row.needs]
    decisive = {
        "classifier",
        "rerank.classes",
        "given",
        "remembered",
        "granularity",
        "indexed",
        "key",
        "times",
        "outside",
    }
    decisive |= {"simulation.names"}
    named = [{a.partition("=")[0] for a in row.settings} & decisive for row in runnable]
    varying = set().union(*named)
    for row, own in zip(runnable, named, strict=True):
        missing = varying - own
        assert not missing or "given=nothing" in row.settings or "given=oracle" in row.settings, (row.label, missing)


@every_preset
def test_its_metrics_are_known_and_its_source_named(preset):
    assert preset.metrics
    assert not [name for name in preset.metrics if not METRIC.fullmatch(name)]
    assert len(preset.metrics) == len(set(preset.metrics))
    assert preset in BENCHMARKS[preset.benchmark].presets
    assert "arXiv:" in preset.source
    assert preset.title


def test_what_needs_a_language_model_is_listed_but_not_run():
    figure_6 = PRESETS["longmemeval-figure-6"].rows
    assert [row.label for row in figure_6 if row.needs] == [
        "natural language, direct",
        "natural language, Chain-of-Note",
        "JSON, direct",
        "JSON, Chain-of-Note",
    ]


def test_the_nine_systems_of_longmemevals_table_2_run_or_say_what_they_need():
    rows = PRESETS["longmemeval-table-2"].rows
    systems = ("in-context RAG", "MemoryBank", "LD-Agent", "Chain-of-Note", "ChatGPT", "Coze", "RAPTOR", "MemWalker")
    assert all(any(system in row.label for row in rows) for system in (*systems, "HippoRAG"))
    runnable = [with_settings(Experiment(), list(row.settings)) for row in rows if not row.needs]
    assert [(e.granularity, e.key, e.strength_days, e.pipeline.method, e.pipeline.time_filter) for e in runnable] == [
        ("round", "value", 0, "direct", False),
        ("session", "value", 0, "direct", False),
        ("round", "value", 1, "direct", False),
        ("summary", "value", 0, "direct", False),
        ("round", "value", 0, "direct", False),
        ("round", "value", 0, "con", False),
        ("facts", "value", 0, "direct", False),
        ("turn", "value", 0, "direct", False),
        ("round", "value", 0, "direct", False),
        ("round", "value", 0, "direct", False),
        ("round", "value+facts", 0, "con", True),
    ]
    assert {e.system for e in runnable} == {"memoir", "raptor", "hipporag", "ld-agent", "updated-facts"}
    (walker,) = [row for row in rows if row.label == "MemWalker"]
    assert walker.runs_with("http://127.0.0.1:8000/v1#any")
    assert not walker.runs_with("none")


@pytest.mark.parametrize("name", ["longmemeval-table-3", "longmemeval-figure-5", "longmemeval-table-10"])
def test_what_longmemeval_stores_and_indexes_is_read_by_chain_of_note_from_json(name):
    pipelines = [with_settings(Experiment(), list(row.settings)).pipeline for row in PRESETS[name].rows]
    assert {(pipeline.method, pipeline.format) for pipeline in pipelines} == {("con", "json")}


def test_longmemevals_table_9_has_bm25_as_the_script_has_it_and_ours_beside_it():
    rows = [row for row in PRESETS["longmemeval-table-9"].rows if row.label.startswith("BM25")]
    words = [with_settings(Experiment(), list(row.settings)).words for row in rows]
    assert words == ["spaces"] * 8 + ["stems"] * 8
    assert all(("as the script's" in row.label) == (each == "spaces") for row, each in zip(rows, words, strict=True))


def test_madials_table_4_searches_for_the_dialogue_and_beside_it_for_the_last_message():
    rows = [row for row in PRESETS["madial-table-4"].rows if not row.needs]
    asked = {row.label: with_settings(Experiment(), list(row.settings)).questions for row in rows}
    assert {label for label, questions in asked.items() if questions == "own"} == {
        "embeddings, of the last message alone (not in the paper)"
    }


def test_perltqas_tables_have_the_numbers_of_the_paper():
    titles = {number: PRESETS[f"perltqa-table-{number}"].title for number in (3, 4, 5)}
    assert "fusion" in titles[3]
    assert "classification" in titles[4]
    assert "retrieval" in titles[5]
    assert all(f"table {number}" in title for number, title in titles.items())


def test_table_6_of_perltqa_hands_out_nothing_the_wrong_and_the_right():
    rows = [row for row in PRESETS["perltqa-table-6"].rows if not row.needs]
    assert [with_settings(Experiment(), list(row.settings)).given for row in rows] == ["nothing", "wrong", "oracle"]


def test_dialsim_reads_as_many_of_each_store_as_its_authors_do():
    rows = [row for row in PRESETS["dialsim-table-3"].rows if row.label.endswith(", BM25")]
    experiments = [with_settings(Experiment(), list(row.settings)) for row in rows]
    assert [(e.granularity, e.pipeline.search.k, e.pipeline.budget) for e in experiments] == [
        ("turn", 20, 20),
        ("session", 10, 10),
        ("summary", 15, 15),
    ]
    assert {e.pipeline.search.dense_weight for e in experiments} == {0}


def test_bm25_is_the_same_retriever_in_every_table():
    rows = [(row.label, row.settings) for preset in PRESETS.values() for row in preset.rows]
    rows += [(line.settings_label, line.settings) for line in results.LINES]
    named = {label: settings for label, settings in rows if "BM25" in label}
    assert len(named) >= 6
    # PerLTQA's equation 3 orders what BM25 finds by the classes of a question.
    assert all(set(read_names({})["BM25"]) - set(settings) <= {"classifier=none"} for settings in named.values())
    assert not [label for label, _ in rows if "words alone" in label or "meaning alone" in label]


def test_figure_6_runs_by_method_and_format_once_a_model_is_named():
    rows = [row for row in PRESETS["longmemeval-figure-6"].rows if row.needs]
    pipelines = [with_settings(Experiment(), list(row.settings)).pipeline for row in rows]
    assert [(p.format, p.method) for p in pipelines] == [
        ("nl", "direct"),
        ("nl", "con"),
        ("json", "direct"),
        ("json", "con"),
    ]
    assert not any(row.runs_with("none") for row in rows)
    assert all(row.runs_with("http://127.0.0.1:8000/v1#m") for row in rows)


def test_madials_settings_hand_out_its_candidates_with_and_without_a_model():
    rows = PRESETS["madial-settings"].rows
    given = [(with_settings(Experiment(), list(row.settings)).given, bool(row.needs)) for row in rows]
    settings = ["setting-1", "setting-2", "setting-3", "memory"]
    by_model = [(name, True) for name in (*settings, "nothing")]
    assert given == [*by_model, *((name, False) for name in settings)]
