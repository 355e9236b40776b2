"""Runs in the formats of other programs: what these compute from the files is what the report says."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import ir_measures
import pytest

from eval.play.simulation.choices import show
from eval.reporting import exports
from eval.reporting.report import report
from eval.runs.run import Runs, Spec
from eval.types import Gold, Prediction, Probe, RankedHit, Sample, Verdict
from memory.errors import MemoirError


def run_of(folder, benchmark, *samples):
    run = Runs(folder).resume_or_create(Spec(benchmark, "/data", "c0ffee", "all", {"reader": "extractive"}, "code", {}))
    for sample in samples:
        run.append(sample)
    return run


def answered(name, answer, gold, ability="", *found, question="Where?", **said):
    probe = Probe(name, question, datetime(2024, 6, 3, tzinfo=UTC), gold, ability, populations=("all",))
    return Sample(probe, Prediction(name, "h", {}, found, answer, **said))


def hit(*units, place="read"):
    return RankedHit(units, units[0].rpartition("_")[0], "dialogue", 1.0, place)


def written(run, folder, name=""):
    path = folder / "exported"
    exports.write(run, path, name)
    return path.read_text(encoding="ascii")


MARKED = Gold(("Porto",), user_turns=("answer_b_3",), user_sessions=("answer_b",))
RANKING = (hit("a_1", "a_3"), hit("answer_b_1", "answer_b_3"), hit("a_5"), hit("c_1", place="filtered"))


def test_the_retrieval_log_of_longmemeval_holds_the_figures_of_the_report(tmp_path):
    other = replace(MARKED, user_turns=("answer_d_1",), user_sessions=("answer_d",))
    samples = (
        answered("q1", "In Porto.", MARKED, "multi-session", *RANKING),
        answered("q2", "", other, "multi-session", hit("answer_d_1")),
        answered("q3", "", Gold(("No evidence",)), "multi-session", hit("a_1")),
    )
    run = run_of(tmp_path, "longmemeval", *samples)
    lines = [json.loads(line) for line in written(run, tmp_path, "retrieval-log").splitlines()]
    assert [line["question_id"] for line in lines] == ["q1", "q2"]
    found = [item["corpus_id"] for item in lines[0]["retrieval_results"]["ranked_items"]]
    assert found == ["a_1", "a_3", "noans_b_1", "answer_b_3", "a_5"]
    figures = report(run).metrics
    of_level = {"session": ("session_recall_all", "ndcg"), "turn": ("turn_recall_all", "turn_ndcg")}
    for level, (recall, ndcg) in of_level.items():
        for k in (5, 10) if level == "session" else (5, 10, 50):
            for name, ours in ((f"recall_all@{k}", recall), (f"ndcg_any@{k}", ndcg)):
                values = [line["retrieval_results"]["metrics"][level][name] for line in lines]
                assert sum(values) / 2 == pytest.approx(figures[f"{ours}_official@{k}"].value), (level, name)


def test_longmemevals_answers_are_written_where_no_format_is_named(tmp_path):
    run = run_of(tmp_path, "longmemeval", answered("q1_abs", "你好\u2028\n!", MARKED))
    assert written(run, tmp_path) == '{"question_id": "q1_abs", "hypothesis": "\\u4f60\\u597d\\u2028\\n!"}\n'


def test_locomos_answers_stand_beside_their_questions(tmp_path):
    gold = Gold(("On the lake",), turns=("D1:1", "D2:1"))
    choices = {"choices": ("Not mentioned in the conversation", "At sea")}
    asked = answered("q2", "(a)", Gold(answerable=False), "adversarial")
    run = run_of(
        tmp_path,
        "locomo",
        answered("q1", " On the lake. [1]", gold, "single-hop", hit("D1:1"), hit("D1:3", place="beyond")),
        replace(asked, probe=replace(asked.probe, **choices)),
        answered("q3", "By another reader", gold, "temporal", unreadable=True),
    )
    one, two, three = json.loads(written(run, tmp_path))["qa"]
    assert one == {
        "question": "Where?",
        "answer": "On the lake",
        "category": 4,
        "evidence": ["D1:1", "D2:1"],
        "prediction": "On the lake. [1]",
        "prediction_context": ["D1:1"],
    }
    assert (two["category"], two["prediction"]) == (5, "not mentioned in the conversation")
    assert (three["category"], three["prediction"], "prediction_context" in three) == (2, "", False)


def test_dialsims_answers_stand_beside_the_letters_that_its_judge_compares_them_with(tmp_path):
    choices = ("Ann", "Bo", "I don't know.")
    gold = Gold(("Bo",), choice=1)
    lettered = answered("q1", "(B) Bo", gold, question=show("Mo: Who rows?", choices, "multiple-choice"))
    in_words = answered("q2", "Ann", gold, question=show("Mo: Who rows?", choices, "unstructured"))
    samples = (replace(s, probe=replace(s.probe, choices=choices)) for s in (lettered, in_words))
    run = run_of(tmp_path, "dialsim", *samples)
    assert json.loads(written(run, tmp_path)) == {"answer_list": ["(B) Bo", "Ann"], "gold_answer_list": ["(B)", "Bo"]}


def test_beams_answers_are_those_of_one_chat_in_the_order_of_its_questions(tmp_path):
    asked = [answered(f"q{n}", f"answer {n}", Gold(("x",)), kind) for n, kind in enumerate(("one", "two", "one"))]
    run = run_of(tmp_path, "beam", *asked)
    assert json.loads(written(run, tmp_path)) == {
        "one": [{"question": "Where?", "llm_response": f"answer {n}"} for n in (0, 2)],
        "two": [{"question": "Where?", "llm_response": "answer 1"}],
    }
    run.append(replace(asked[0], prediction=replace(asked[0].prediction, history_id="other")))
    with pytest.raises(MemoirError, match="--only: h, other"):
        exports.write(run, tmp_path / "exported")


def test_a_trec_run_scores_with_its_qrels_what_the_report_says(tmp_path):
    gold = Gold(("Porto",), sessions=("answer b", "c"))
    samples = [
        answered("q 1", "", gold, "", hit("a_1"), hit("answer b_1"), hit("a_2"), hit("c_1")),
        answered("q2", "", replace(gold, sessions=("a",)), "", hit("a_1")),
        answered("q3", "", Gold(("Nothing to find",)), "", hit("a_1")),
    ]
    run = run_of(tmp_path, "locomo", *(replace(s, probe=replace(s.probe, ability="single-hop")) for s in samples))
    for name in ("trec-run", "trec-qrels"):
        (tmp_path / name).write_text(written(run, tmp_path, name))
    found = list(ir_measures.read_trec_run(str(tmp_path / "trec-run")))
    qrels = list(ir_measures.read_trec_qrels(str(tmp_path / "trec-qrels")))
    assert [each.doc_id for each in found if each.query_id == "q_1"] == ["a", "answer_b", "c"]
    figures = report(run).metrics
    for measure, ours in (("R@1", "session_recall@1"), ("nDCG@3", "ndcg@3"), ("RR", "mrr@10")):
        parsed = ir_measures.parse_measure(measure)
        value = ir_measures.calc_aggregate([parsed], qrels, found)[parsed]
        assert value == pytest.approx(figures[ours].value), measure


def test_inspects_log_has_the_figures_of_the_report_and_each_probes_scores_beside_its_answer(tmp_path):
    judged = Verdict("right", "openai:any", "Yes.")
    one = answered("q1", "In Porto.", MARKED, "multi-session", *RANKING, tokens_in=20, tokens_out=3)
    run = run_of(tmp_path, "longmemeval", replace(one, verdict=judged), answered("q2", "", MARKED, reader="extractive"))
    log = json.loads(written(run, tmp_path, "inspect"))
    assert (log["version"], log["status"], log["eval"]["task"]) == (2, "cancelled", "longmemeval")
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
    assert means == {name: figure.value for name, figure in report(run).metrics.items()}
    first, second = log["samples"]
    assert (first["id"], first["input"], first["target"]) == ("h/q1", "Where?", ["Porto"])
    assert first["output"]["choices"][0]["message"]["content"] == "In Porto."
    assert first["output"]["usage"] == {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    score = first["scores"]["memoir"]
    assert (score["value"]["answer_accuracy"], score["value"]["judge_accuracy"], score["explanation"]) == (1, 1, "Yes.")
    assert second["output"]["model"] == "extractive"
    run.mark_done()
    assert json.loads(written(run, tmp_path, "inspect"))["status"] == "success"
