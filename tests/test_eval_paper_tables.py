"""One command runs the rows of all papers' tables that need no chat model, and says what it did not run."""

import json
from dataclasses import replace

import pytest

import test_eval_benchmarks_locomo as locomo
import test_eval_benchmarks_longmemeval as longmemeval
import test_eval_benchmarks_madial as madial
import test_eval_benchmarks_perltqa as perltqa
from eval.__main__ import main
from eval.benchmarks import BENCHMARKS, NEEDS, Preset, Row, read_names
from eval.reporting import results
from eval.reporting.results import measure_papers
from eval.runs.evaluator import OWN_FILES, Evaluator
from eval.runs.experiment import RunRequest
from eval.settings import EvalSettings
from memory.errors import MemoirError
from support.chat_server import ChatServer
from support.dialsim_show import write_show
from support.short_lives import write_short_lives

READER = NEEDS["READER"]
BY_A_MODEL = (READER, NEEDS["CLASSIFIER"], NEEDS["TIME_READER"])
READ = '{"notes": [], "answer": "The red one.", "citations": [], "reason": null}'

TABLE = Preset(
    "a-table",
    "Table 7: words and meaning",
    "memoir",
    "a paper",
    ("session_recall@5", "turn_recall@10"),
    (
        Row("words", ("reader=none", *read_names({})["BM25"])),
        Row("meaning", ("reader=none", *read_names({})["DENSE"])),
        Row("summaries, words", ("reader=none", "granularity=summary", *read_names({})["BM25"])),
        Row("a big model", ("reader=auto",), needs=READER),
    ),
    remark="Of invented lives",
)


def tables_of(evaluator, names=()):
    return measure_papers(evaluator, lambda *progress: None, names, "", RunRequest(""))


@pytest.fixture
def one_table(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    data = write_short_lives(tmp_path / "data", ("ines",), sessions=10, probes=6)
    monkeypatch.setitem(OWN_FILES, "memoir", data)
    monkeypatch.setattr(results, "BENCHMARKS", {"memoir": replace(BENCHMARKS["memoir"], presets=(TABLE,))})
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.slow
def test_the_rows_that_need_nothing_are_run_and_the_others_named(one_table, capsys):
    file = one_table / "tables.md"
    file.write_text("Before\n<!-- python -m eval papers -->\nold\n<!-- /python -m eval papers -->\nAfter\n")
    assert main(["papers", "--write", str(file)]) == 0
    written = file.read_text()
    assert written.startswith("Before")
    assert written.endswith("After\n")
    for said in (
        "`--preset a-table`: Table 7: words and meaning. Of invented lives.",
        f"Not run, for what they need: a big model ({READER}).",
        "| words ",
        "| meaning ",
        "| summaries, words ",
        "session_recall@5",
    ):
        assert said in written
    assert "| a big model" not in written
    runs = Evaluator(EvalSettings(home=one_table / "home")).runs.all()
    assert len(runs) == 3
    assert all(run.is_done for run in runs)


@pytest.mark.slow
def test_rows_that_store_the_same_are_run_together_and_come_in_their_order(one_table, monkeypatch):
    evaluator, together = Evaluator(EvalSettings(home=one_table / "home")), []
    real = evaluator.run_together
    monkeypatch.setattr(
        evaluator, "run_together", lambda requests, **how: together.append(len(requests)) or real(requests, **how)
    )
    ((_, reports),) = tables_of(evaluator)
    assert together == [2, 1]
    assert list(reports) == ["words", "meaning", "summaries, words"]


def test_without_files_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "BENCHMARKS", {name: BENCHMARKS[name] for name in ("locomo", "perltqa")})
    with pytest.raises(MemoirError, match="no benchmark's files"):
        tables_of(Evaluator(EvalSettings(home=tmp_path, data=None)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("perltqa", "the files of PerLTQA were not found"),
        ("memor", "memor: no benchmark with tables; there are: memoir, perltqa"),
    ],
)
def test_a_named_benchmark_without_files_or_tables_is_an_error(one_table, monkeypatch, name, said):
    monkeypatch.setitem(results.BENCHMARKS, "perltqa", BENCHMARKS["perltqa"])
    monkeypatch.setitem(results.BENCHMARKS, "locomo", replace(BENCHMARKS["locomo"], presets=()))
    evaluator = Evaluator(EvalSettings(home=one_table / "home"))
    with pytest.raises(MemoirError, match=said):
        tables_of(evaluator, [name])
    assert not evaluator.runs.all()


@pytest.mark.slow
def test_with_a_model_the_rows_that_need_one_are_run_and_no_others(one_table, capsys):
    with ChatServer(READ) as server:
        assert main(["papers", "--model", server.model(), "--limit", "2"]) == 0
        assert server.requests
    written = capsys.readouterr().out
    assert f"the rows that need a chat model, with {server.model()}; the first 2 probes." in written
    assert "| a big model" in written
    assert "| words" not in written
    assert "Not run" not in written


@pytest.mark.slow
def test_replies_that_cannot_be_read_are_counted_beside_the_figures(one_table, capsys):
    with ChatServer("Well.") as server:
        assert main(["papers", "--model", server.model(), "--limit", "2"]) == 0
    header, _, row = (line for line in capsys.readouterr().out.splitlines() if line.startswith("|"))
    assert header.split("|")[-2].strip() == "unreadable replies"
    assert row.split("|")[-2].strip() == "reader 2"


@pytest.mark.slow
def test_every_row_that_needs_a_chat_model_runs_with_a_scripted_one(tmp_path, monkeypatch, capsys):
    """Of all papers; the model reads, classifies, reads times and replies in dialogues."""
    data = tmp_path / "data"
    for name in ("longmemeval", "perltqa", "madial_bench", "dialsim", "locomo"):
        (data / name).mkdir(parents=True)
    longmemeval.write(data / "longmemeval", longmemeval.QUESTION)
    perltqa.write(data / "perltqa", {"Pia Lund": perltqa.CHARACTER}, [{"Pia Lund": perltqa.QUESTIONS}])
    madial.write(data / "madial_bench", [madial.DIALOGUE], madial.MANY)
    line = {key: madial.DIALOGUE[key] for key in ("test-turn", "relevant-id", "user-id")}
    found = line | {"top-20-ids": [4, 3, 5, 6, 7, 8, 1], "bottom-10-ids": [2]}
    (data / "madial_bench" / "en_openai_top_20_bottom.json").write_text(json.dumps(found))
    write_show(data / "dialsim")
    locomo.loaded(data / "locomo", locomo.WHERE)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOIR_DATA", str(data))

    def reply(request):
        said = request["messages"][-1]["content"]
        if "From which day" in said:
            return '{"first": "2024-05-01", "last": "2024-05-02"}'
        if "response_format" not in request:
            return "The red one."
        return READ if "citations" in json.dumps(request["response_format"]) else '{"profile": 1.0}'

    with ChatServer(reply) as server:
        status = main(["papers", "--model", server.model(), "--limit", "1", "--json"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    tables = json.loads(captured.out)
    by_model = {
        preset.name: [row.label for row in preset.rows if row.needs in BY_A_MODEL]
        for benchmark in BENCHMARKS.values()
        for preset in benchmark.presets
    }
    assert {name: list(rows) for name, rows in tables.items()} == {
        name: rows for name, rows in by_model.items() if rows
    }
    for name, rows in tables.items():
        for label, row in rows.items():
            assert row["tokens"]["in"] + row["timing"].get("system_tokens_in", 0) > 0, (name, label)
            assert not row["unreadable"], (name, label)
