"""One command runs the rows of all papers' tables that need no chat model, and says what it did not run."""

from dataclasses import replace

import pytest

from eval.__main__ import main
from eval.benchmarks import BENCHMARKS
from eval.benchmarks.types import BM25, DENSE, READER, Preset, Row
from eval.reporting import papers
from eval.runs.evaluator import OWN_FILES, Evaluator
from eval.settings import EvalSettings
from memory.errors import MemoirError
from support.short_lives import write_short_lives

TABLE = Preset(
    "a-table",
    "Table 7: words and meaning",
    "memoir",
    "a paper",
    ("session_recall@5", "turn_recall@10"),
    (
        Row("words", ("reader=none", *BM25)),
        Row("meaning", ("reader=none", *DENSE)),
        Row("summaries, words", ("reader=none", "granularity=summary", *BM25)),
        Row("a big model", ("reader=auto",), needs=READER),
    ),
    remark="Of invented lives",
)


@pytest.fixture
def one_table(tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    data = write_short_lives(tmp_path / "data", ("ines",), sessions=10, probes=6)
    monkeypatch.setitem(OWN_FILES, "memoir", data)
    monkeypatch.setattr(papers, "BENCHMARKS", {"memoir": replace(BENCHMARKS["memoir"], presets=(TABLE,))})
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return tmp_path


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


def test_rows_that_store_the_same_are_run_together_and_come_in_their_order(one_table, monkeypatch):
    evaluator, together = Evaluator(EvalSettings(home=one_table / "home")), []
    real = evaluator.start_together
    monkeypatch.setattr(evaluator, "start_together", lambda requests: together.append(len(requests)) or real(requests))
    ((_, reports),) = papers.measure(evaluator, 1, lambda *progress: None)
    assert together == [2, 1]
    assert list(reports) == ["words", "meaning", "summaries, words"]


def test_without_files_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(papers, "BENCHMARKS", {name: BENCHMARKS[name] for name in ("locomo", "perltqa")})
    with pytest.raises(MemoirError, match="no benchmark's files"):
        papers.measure(Evaluator(EvalSettings(home=tmp_path, data=None)), 1, lambda *progress: None)


def test_the_tables_of_one_benchmark_can_be_run_alone(one_table):
    evaluator = Evaluator(EvalSettings(home=one_table / "home"))
    with pytest.raises(MemoirError, match="no benchmark's files"):
        papers.measure(evaluator, 1, lambda *progress: None, ["perltqa"])
    assert not evaluator.runs.all()
