"""A report holds every figure of a run with its interval, and says where each comes from; on samples made by hand."""

from dataclasses import replace

import pytest

from eval.benchmarks import Preset, find
from eval.making.questions import graph_history
from eval.metrics.intervals import Difference
from eval.play.models import Models
from eval.play.replay import Replay, replay
from eval.reporting import compare, render
from eval.reporting.compare import compare_runs
from eval.reporting.report import report
from eval.runs.evaluator import OWN_FILES, Evaluator
from eval.runs.experiment import Experiment, RunRequest, with_settings
from eval.runs.run import HistoryCosts, Runs, Spec
from eval.settings import EvalSettings
from eval.types import Costs, Gold, Prediction, Probe, RankedHit, Sample, Verdict
from memory.errors import MemoirError
from support.dialsim_show import write_show
from support.invented_history import ASKED

SPEC = Spec(
    "longmemeval", "/data", "c0ffee" * 8, "all", {"search.k": 10, "reader": "extractive"}, "code", {"numpy": "2"}
)
NODES = ("classify", "retrieve", "rerank", "time_filter", "read")


def made(number, *, found=True, right=True, answerable=True, counted=True, ability="multi-session", **prediction):
    """A probe with one session of evidence, found first or not at all."""
    gold = Gold(("Biscuit",) if answerable else (), ("t1",), ("s1",), answerable=answerable)
    populations = ("all", "no_abs") if counted else ("all",)
    probe = Probe(f"q{number}", "Who?", ASKED, gold, ability, "dialogue", populations, counted)
    ranking = (RankedHit(("t1",), "s1", "dialogue", 0.9),) if found else (RankedHit(("t2",), "s2", "dialogue", 0.9),)
    said = {"answer": "Biscuit" if right else "Toast", "stored": ("s1", "t1"), "response_ms": 10.0 * number}
    times = dict.fromkeys(NODES, float(number))
    held = Prediction(probe.id, "h", {}, ranking, **{**said, "milliseconds": times, **prediction})
    verdict = Verdict("right" if right == answerable else "wrong", "rule")
    return Sample(probe, held, verdict)


SAMPLES = [
    made(1),
    made(2, found=False, right=False),
    made(3, ability="temporal"),
    made(4, ability="temporal"),
    made(5, found=False, answerable=False, counted=False, ability="temporal", answer="", abstained=True),
]


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def kept(runs, samples=SAMPLES, spec=SPEC, *, costs=True, done=True):
    run = runs.resume_or_create(spec, afresh=True)
    for sample in samples:
        run.append(sample)
    if costs:
        skips = (("a", "no date"), ("b", "no date"), ("c", "empty"))
        run.append(HistoryCosts("h", Costs(2.0, 100, 110, 1.0, len(samples)), 4.0, 90, 20, 5.0, skips))
    if done:
        run.mark_done()
    return run


def test_figures_of_evidence_are_of_the_counted_and_all_others_of_every_probe(runs):
    held = report(kept(runs))
    assert held.n == 5
    assert (held.metrics["session_recall@5"].value, held.metrics["session_recall@5"].n) == (0.75, 4)
    assert (held.metrics["answer_accuracy"].value, held.metrics["answer_accuracy"].n) == (0.8, 5)
    assert held.metrics["abstention_recall"].value == 1.0


def test_a_table_of_one_ability_has_the_number_of_its_own_probes(runs):
    held = {"a row": report(kept(runs))}
    preset = Preset("a", "A table", "longmemeval", "", ("session_recall@1",), ())
    assert render.sweep_rows(held, preset)[1][0][1] == "5"
    assert render.sweep_rows(held, replace(preset, ability="temporal"))[1][0][1] == "3"


def test_a_group_counts_as_the_whole_does_and_a_population_counts_all_of_its_own(runs):
    held = report(kept(runs))
    assert held.by["ability"]["temporal"]["session_recall@1"].n == 2
    assert held.by["ability"]["temporal"]["session_recall@1"].value == 1.0
    assert held.by["store"]["dialogue"]["session_recall@1"].n == 4
    assert held.by["evidence"]["1"]["session_recall@1"].n == 4
    assert held.by["population"]["all"]["session_recall@1"].value == pytest.approx(3 / 5)
    assert held.by["population"]["no_abs"]["session_recall@1"].n == 4


def test_nothing_about_evidence_is_said_where_nothing_counts(runs):
    held = report(kept(runs, SAMPLES[4:]))
    assert not [name for name in held.metrics if "@" in name]
    assert held.metrics["answer_accuracy"].n == 1


def test_every_figure_has_an_interval_that_holds_it(runs):
    held = report(kept(runs))
    figures = [held.metrics, *(group for axis in held.by.values() for group in axis.values())]
    for name, figure in ((n, f) for group in figures for n, f in group.items()):
        assert 0 <= figure.low <= figure.value <= figure.high <= 1, name
        assert figure.n > 0
    assert held.metrics["session_recall@1"].low < held.metrics["session_recall@1"].high


def test_times_are_milliseconds_a_node_and_what_storing_took(runs):
    timing = report(kept(runs)).timing
    assert set(NODES) | {"answer"} <= set(timing)
    assert timing["retrieve"] == {"p50": 3.0, "p95": 4.8}
    assert timing["answer"]["p50"] == 30.0
    assert timing["import_turns_per_s"] == 50.0
    assert (timing["import_ms_per_turn"], timing["probe_s"], timing["encoder_share"]) == (20.0, 1.0, 0.8)
    assert timing["outside_encoder_probe_s"] == 0.2


def test_an_unfinished_run_is_reported_as_such(runs):
    held = report(kept(runs, costs=False, done=False))
    assert not held.done
    assert "import_turns_per_s" not in held.timing
    assert "UNFINISHED" in render.to_markdown(held)
    empty = report(kept(runs, [], costs=False, done=False))
    assert (empty.n, dict(empty.metrics), empty.timing) == (0, {}, {})
    assert "0 probes" in render.to_markdown(empty)


def test_what_was_not_used_and_what_went_wrong_is_counted(runs):
    held = report(kept(runs))
    assert held.skips == {"no date": 2, "empty": 1}
    assert held.causes == {"not stored": 0, "not retrieved": 1, "filtered out": 0, "misread": 0}
    assert (held.abstention["answered_answerable"], held.abstention["refused_unanswerable"]) == (4, 1)


def test_without_a_reader_nothing_is_said_of_answers(runs):
    held = report(kept(runs, spec=replace(SPEC, settings={"reader": "none"})))
    assert held.abstention is held.curve is None
    assert held.causes == {}
    assert all("@" in name or name.startswith("classification") for name in held.metrics)


def test_a_judge_stands_beside_the_rule_with_their_agreement(runs):
    run = kept(runs)
    run.save_verdicts(
        {s.probe.id: Verdict("wrong" if n == 0 else "right", "a-model", "{}") for n, s in enumerate(SAMPLES)}
    )
    held = report(run)
    assert (held.metrics["judge_accuracy"].value, held.metrics["answer_accuracy"].value) == (0.8, 0.8)
    assert (held.agreement.n, held.agreement.share) == (5, 0.6)
    text = render.to_markdown(held)
    assert "judged alike" in text
    assert render.INTERVALS in text
    assert ".600" in text


def test_tokens_are_added_up_and_shown_by_question(runs):
    held = report(kept(runs, [made(1, tokens_in=30, tokens_out=4), made(2, tokens_in=12, tokens_out=2)]))
    assert held.tokens == {"in": 42, "out": 6}
    assert "tokens read 42 (21.0 a question) and written 6 (3.0 a question)." in " ".join(
        render.to_markdown(held).split()
    )
    assert "tokens read 0 (0.0 a question)" in " ".join(render.to_markdown(report(kept(runs))).split())


def test_a_wide_table_becomes_several_that_begin_alike():
    header = ["run", *(f"metric_{n}" for n in range(12))]
    tables = render.narrow_tables([["one", *range(12)], ["two", *range(12, 24)]], header).split("\n\n")
    cells = [[[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()] for table in tables]
    assert len(tables) == 2
    assert all(len(line) <= render.WIDTH for table in tables for line in table.splitlines())
    assert [names[0] for names, *_ in cells] == ["run", "run"]
    assert [name for names, *_ in cells for name in names[1:]] == header[1:]
    assert [value for *_, last in cells for value in last[1:]] == [str(n) for n in range(12, 24)]


def test_published_figures_stand_beside_ours_with_their_source(runs):
    held = report(kept(runs))
    assert {p.metric for p in held.published} <= set(held.metrics)
    assert any(p.metric == "session_recall_all@5" for p in held.published)
    text = render.to_markdown(held)
    assert all(p.system in text for p in held.published)


def test_the_order_of_the_file_changes_nothing(runs):
    one, other = report(kept(runs)), report(kept(runs, SAMPLES[::-1]))
    assert one.metrics == other.metrics
    assert one.by == other.by


def test_a_comparison_shows_the_figures_of_the_reports_and_all_that_differs(runs):
    first = kept(runs)
    better = [replace(s, prediction=made(1).prediction) if n == 1 else s for n, s in enumerate(SAMPLES)]
    spec = replace(SPEC, settings={**SPEC.settings, "search.k": 20}, checksum="0" * 48, portion="the first 5")
    second = kept(runs, better, spec)
    held = compare_runs(first, second)
    for name in ("session_recall@5", "answer_accuracy"):
        assert held.differences[name].value_a == report(first).metrics[name].value
        assert held.differences[name].value_b == report(second).metrics[name].value
        assert held.differences[name].n == report(first).metrics[name].n
    assert held.differences["session_recall@5"].histories == 1
    assert held.settings == {
        "search.k": (10, 20),
        "data": ("c0ffeec0ffee", "000000000000"),
        "portion": ("all", "the first 5"),
    }
    assert "portion" in compare.comparison_markdown(held)
    assert "Holm" in compare.comparison_markdown(held)


def test_a_star_of_a_comparison_is_corrected_for_the_number_of_figures(runs):
    held = compare_runs(kept(runs), kept(runs))
    differ = Difference(0.0, 1.0, 1.0, 1.0, 1.0, 0.01, 9, 9)
    few = {"one": differ, **{str(n): replace(differ, p=1.0) for n in range(3)}}
    many = {"one": differ, **{str(n): replace(differ, p=1.0) for n in range(9)}}
    assert [compare.comparison_rows(replace(held, differences=d))[0][-1] for d in (few, many)] == ["*", ""]


def test_a_comparison_begins_with_the_questions_that_became_wrong_or_right(runs):
    first = kept(runs)
    changes = {0: made(1, right=False), 1: made(2), 4: made(5, answerable=False, answer="Toast")}
    held = compare_runs(first, kept(runs, [changes.get(n, sample) for n, sample in enumerate(SAMPLES)]))
    changed = [(flip.probe.id, flip.fixed) for flip in held.flips]
    assert changed == [("q1", False), ("q2", True)]
    assert compare.flip_rows(held) == [
        ("became wrong", "Who?", "Biscuit", "Biscuit", "Toast"),
        ("became right", "Who?", "Biscuit", "Toast", "Biscuit"),
    ]
    text = compare.comparison_markdown(held)
    assert text.index("Flipped questions") < text.index("Figures")


def test_probes_of_two_histories_that_share_an_id_are_compared_each_with_itself(runs):
    def asked(**right):
        of_histories = ((name, made(1, right=is_right)) for name, is_right in right.items())
        return [replace(s, prediction=replace(s.prediction, history_id=name)) for name, s in of_histories]

    compared = compare_runs(kept(runs, asked(ines=True, marta=False)), kept(runs, asked(ines=True, marta=True)))
    assert compared.n == 2
    assert [(flip.first.history_id, flip.fixed) for flip in compared.flips] == [("marta", True)]


def test_runs_of_other_probes_cannot_be_compared(runs):
    with pytest.raises(MemoirError, match="no probe in common"):
        compare_runs(kept(runs, SAMPLES[:2]), kept(runs, SAMPLES[2:]))


# --- real files, played by the real stage


def complete(held, *expected):
    """Whether a report has all that a run without a reader comes to."""
    assert held.done
    assert held.n > 0
    for name in expected:
        assert held.metrics[name].low <= held.metrics[name].value <= held.metrics[name].high
    assert set(held.timing) >= {"classify", "retrieve", "rerank", "time_filter", "answer", "import_turns_per_s"}
    assert render.to_markdown(held)
    assert render.to_csv(held).count("\n") > len(expected)


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "inside", "expected"),
    [
        ("longmemeval", "", ("session_recall_any@5", "session_recall_all@50", "turn_ndcg@10", "ndcg_official@10")),
        ("locomo", "", ("session_recall@10", "turn_recall@10", "mrr@10")),
        ("perltqa", "", ("recall@1", "recall@5", "classification_f1")),
        ("madial-bench", "en", ("geometric_mean@5", "ndcg_official@3", "precision@1")),
    ],
)
def test_a_benchmarks_own_files_give_a_complete_report(tmp_path, benchmark_data, embedder, name, inside, expected):
    evaluator = Evaluator(EvalSettings(home=tmp_path, data=benchmark_data))
    folder = evaluator.data_of(find(name)) / inside
    asking = RunRequest(name, folder, with_settings(Experiment(), ["reader=none"]), limit=3)
    complete(report(evaluator.run(asking, encoder=embedder)), *expected)


def test_a_show_gives_a_complete_report(tmp_path, embedder):
    evaluator = Evaluator(EvalSettings(home=tmp_path / "home"))
    held = report(evaluator.run(RunRequest("dialsim", write_show(tmp_path)), encoder=embedder))
    complete(held, "choice_accuracy", "answer_accuracy")
    assert held.n == 6
    assert set(held.by["population"]) == {"easy", "hard"}
    assert held.timing["read"]["p50"] > 0


@pytest.mark.slow
def test_questions_from_a_knowledge_graph_are_played_like_any_other(tmp_path, embedder, classifier):
    history = graph_history(next(find("memoir").load(OWN_FILES["memoir"])))
    tools = Models(_cached(tmp_path, embedder), classifier)
    task = Replay(history, {0: history.probes[:6]})
    *samples, spent = (outcome for _, outcome in replay(task, [Experiment()], tools))
    assert len(samples) == spent.costs.probes == 6
    assert all(s.prediction.found for s in samples)
    assert any(s.verdict and s.verdict.state == "right" for s in samples)


def _cached(folder, embedder):
    from eval.play.models import CachedEmbedder

    return CachedEmbedder(folder / "embeddings.db", embedder)
