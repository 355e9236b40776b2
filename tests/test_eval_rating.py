"""People or a model rate replies without knowing whose they are; what they wrote is read cell by cell."""

import csv
import json
from datetime import UTC, datetime

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

from eval.__main__ import main
from eval.judging.judge import Agreement
from eval.rating import sheet, summary
from eval.rating.model_rater import rate
from eval.rating.sheet import COLUMNS, REFERENCE, SCORES, Filled, Reply
from eval.runs.run import Runs, Spec
from eval.tab.runs_panel import RatingPanel
from eval.types import Figure, Gold, Prediction, Probe, Sample, ShownHit
from memory.errors import MemoirError
from memory.types import TurnDraft

DAY = datetime(2026, 5, 2, tzinfo=UTC)
BEFORE = TurnDraft("Lisa", "user", "I lost my scarf.")
MEMORY = ShownHit(("m1",), "event", "Lisa", "The scarf was a gift of her aunt.", "2026-01-03", {}, kept=True)
LEFT_OUT = ShownHit(("m2",), "event", "Lisa", "She likes tea.", "2026-01-04", {}, kept=False)


def make_run(home, name, answers, benchmark="madial-bench", shown=(MEMORY, LEFT_OUT)):
    """A finished run that gave these answers, by number of the question."""
    run = Runs(home).resume_or_create(Spec(benchmark, "data", "sum", "all", {"model": name}, "code", {}))
    for number, answer in enumerate(answers):
        gold = Gold((f"Oh no, the scarf of your aunt {number}!",))
        probe = Probe(f"q{number}", f"It is gone for good {number}.", DAY, gold, dialogue=(BEFORE,))
        run.append(Sample(probe, Prediction(probe.id, f"h{number % 2}", {}, (), answer=answer, shown=shown)))
    run.mark_done()
    return run


@pytest.fixture
def runs(tmp_path):
    return [
        make_run(tmp_path, "warm", [f"Oh dear, your aunt's scarf? {n}" for n in range(6)]),
        make_run(tmp_path, "cold", [f"=Noted {n}" for n in range(6)]),
    ]


def lines(file):
    with file.open(encoding="utf-8-sig", newline="") as text:
        return list(csv.DictReader(text))


def fill_in(file, out, scores):
    """Fill a sheet in as a rater would: `scores(line)` gives what is written into its cells."""
    with out.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, COLUMNS)
        writer.writeheader()
        writer.writerows({**line, **scores(line)} for line in lines(file))
    return out


def is_warm(line):
    return "Oh dear" in line["text"]


def test_a_sheet_shows_what_was_said_found_and_replied_but_not_by_whom(runs, tmp_path):
    file = tmp_path / "sheet.csv"
    sheet.write(sheet.empty(sheet.replies_of(runs, reference=True)), file)
    assert len(lines(file)) == 18
    assert not any(run.name in file.read_text("utf-8") or "reference" in file.read_text("utf-8") for run in runs)
    asked = lines(file)
    assert [int(line["question"]) for line in asked] == [n for n in range(1, 7) for _ in range(3)]
    assert all(line["said"] == f"Lisa: I lost my scarf.\n{line['said'].splitlines()[-1]}" for line in asked)
    assert {line["memories"] for line in asked} == {"2026-01-03 The scarf was a gift of her aunt."}
    assert not any(line["expected"] for line in asked)  # it would give the benchmark's own replies away
    assert not any(line[name] for line in asked for name in (*SCORES, "closest", "remembers"))
    # The order of the runs differs from one question to the next.
    assert len({number % 3 for number, line in enumerate(asked) if is_warm(line)}) > 1


def test_a_run_without_memory_is_not_known_by_its_empty_cell(runs, tmp_path):
    without = make_run(tmp_path, "forgetful", [f"Hm {n}." for n in range(6)], shown=())
    asked = sheet.empty(sheet.replies_of([runs[0], without]))
    assert {line["memories"] for line in asked} == {"2026-01-03 The scarf was a gift of her aunt."}
    assert all(str(line["expected"]).startswith("Oh no") for line in asked)


def test_no_text_becomes_a_formula_of_a_spreadsheet(runs, tmp_path):
    sheet.write(sheet.empty(sheet.replies_of(runs)), tmp_path / "sheet.csv")
    assert {line["text"][:7] for line in lines(tmp_path / "sheet.csv")} == {"Oh dear", "'=Noted"}


def test_a_sheet_is_the_same_for_its_seed_and_holds_no_more_questions_than_asked(runs):
    replies = sheet.replies_of(runs)
    first, same, other = (sheet.empty(replies, seed=seed, limit=4) for seed in (1, 1, 2))
    assert first == same != other
    assert len(first) == 8


def test_a_sheet_never_replaces_a_file(runs, tmp_path):
    (tmp_path / "sheet.csv").write_text("an afternoon's work")
    with pytest.raises(MemoirError, match="exists already"):
        sheet.write(sheet.empty(sheet.replies_of(runs)), tmp_path / "sheet.csv")
    assert (tmp_path / "sheet.csv").read_text() == "an afternoon's work"


def test_only_what_all_runs_replied_to_is_rated(runs, tmp_path):
    short = make_run(tmp_path, "short", ["Hm.", "", "Hm."])
    assert len(sheet.replies_of([*runs, short])) == 3 * 2
    with pytest.raises(MemoirError, match="no question was replied to"):
        sheet.replies_of([*runs, make_run(tmp_path, "silent", [""])])
    with pytest.raises(MemoirError, match="several"):
        sheet.replies_of([*runs, make_run(tmp_path, "other", ["Hm."], benchmark="locomo")])


def test_a_sheet_that_was_filled_in_is_read_and_what_cannot_be_used_is_named(runs, tmp_path):
    replies = sheet.replies_of(runs)
    sheet.write(sheet.empty(replies), tmp_path / "sheet.csv")
    first, second, third, fourth, *_ = [line["reply"] for line in lines(tmp_path / "sheet.csv")]

    def write(line):
        written = {
            first: {"style": "2,5", "closest": "X"},
            second: {"style": "four", "closest": "x", "memory": "1"},
            third: {"style": "1", "emotion": "3.5", "remembers": "maybe"},
            fourth: {"closest": "tie"},
        }
        return written.get(line["reply"], {})

    file = fill_in(tmp_path / "sheet.csv", tmp_path / "ann.csv", write)
    with file.open("a") as more:
        more.write(f"{first},1\nunknown,1\n")
    read = sheet.read(file, replies)
    assert read.rater == "ann"
    assert read.ratings == {
        first: {"style": 2.5, "closest": "x", "remembers": False},
        second: {"memory": 1.0, "remembers": False},
        third: {"style": 1.0},
        fourth: {"closest": "tie"},
    }
    found = "\n".join(read.faults)
    for said in (
        "style: expected a number from 0 to 3, found 'four'",
        "emotion: expected a number from 0 to 3, found '3.5'",
        "remembers: expected x or nothing, found 'maybe'",
        "closest: line 2 is marked for the same question",
        "a second time; the first line is kept",
        "'unknown' is of none of these runs",
    ):
        assert said in found
    assert all(fault.startswith("ann.csv, line ") for fault in read.faults)
    assert len(read.faults) == 6


def test_a_sheet_saved_with_semicolons_is_read_as_well(runs, tmp_path):
    replies = sheet.replies_of(runs)
    sheet.write(sheet.empty(replies), tmp_path / "sheet.csv")
    with (tmp_path / "bo.csv").open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, COLUMNS, delimiter=";")
        writer.writeheader()
        writer.writerows({**line, "style": "1,5"} for line in lines(tmp_path / "sheet.csv"))
    assert {rating["style"] for rating in sheet.read(tmp_path / "bo.csv", replies).ratings.values()} == {1.5}


@pytest.mark.parametrize("content", [b"", b"reply,question\n1,2\n", b"\xff\xfe\x00x", b"\x00"])
def test_what_is_no_sheet_is_refused_with_its_name(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(MemoirError, match=r"x\.csv"):
        sheet.read(tmp_path / "x.csv", [])
    with pytest.raises(MemoirError, match=r"none\.csv"):
        sheet.read(tmp_path / "none.csv", [])


# --- what the raters say


def reply(run, number):
    return Reply(run, f"h{number % 3}", f"q{number}", "said", (), "expected", f"{run} {number}")


def rated_by(name, ratings):
    return Filled(name, dict(ratings), ())


def test_means_matches_and_agreement_are_those_of_the_raters():
    replies = [reply(run, n) for n in range(8) for run in ("a", "b")]
    high = [(r.id, {"memory": 3.0, "support": 2.0, "closest": "x", "remembers": True}) for r in replies if r.run == "a"]
    low = [(r.id, {"memory": 1.0, "support": 1.0, "remembers": False}) for r in replies if r.run == "b"]
    same = summary.summarise([rated_by("ann", high + low), rated_by("bo", high + low)], replies)
    assert same.raters == ("ann", "bo")
    assert same.means["a"]["memory"].value == 3
    assert same.means["b"]["memory"] == Figure(1, 1, 1, 8)  # a score of 1 is no share
    assert same.means["a"]["remembers"].value == 1
    assert same.agreement["memory"] == Agreement(16, alpha=1.0)
    assert same.agreement["remembers"] == Agreement(16, kappa=1.0)
    assert same.agreement["closest"].kappa is None  # both always chose the same run
    (match,) = same.matches
    assert (match.first, match.second, match.wins, match.losses, match.ties) == ("a", "b", 16, 0, 0)
    assert match.p < 0.001
    assert same.memory_and_support == pytest.approx(1)


def test_raters_who_contradict_each_other_do_not_agree():
    replies = [reply(run, n) for n in range(8) for run in ("a", "b")]
    best = {"style": 3.0, "closest": "x", "remembers": True}
    worst = {"style": 0.0, "remembers": False}
    for_a = [(r.id, best if r.run == "a" else worst) for r in replies]
    for_b = [(r.id, best if r.run == "b" else worst) for r in replies]
    found = summary.summarise([rated_by("ann", for_a), rated_by("bo", for_b)], replies)
    assert found.agreement["style"].alpha < 0
    assert found.agreement["remembers"].kappa == pytest.approx(-1)
    assert found.agreement["closest"] == Agreement(8, kappa=0.0)
    assert found.means["a"]["style"].value == 1.5
    assert (found.matches[0].wins, found.matches[0].losses, found.matches[0].p) == (8, 8, 1.0)


def test_ties_are_counted_apart_and_unrated_questions_not_at_all():
    replies = [reply(run, n) for n in range(3) for run in ("a", "b")]
    ratings = [
        (replies[0].id, {"closest": "tie", "remembers": False}),
        (replies[3].id, {"closest": "x", "remembers": False}),
        (replies[2].id, {"style": 1.0, "remembers": False}),
    ]
    found = summary.summarise([rated_by("ann", ratings)], replies)
    assert [(m.wins, m.losses, m.ties) for m in found.matches] == [(0, 1, 1)]


@given(
    st.lists(st.tuples(st.floats(0, 3), st.floats(0, 3), st.sampled_from(["x", "tie", ""]), st.booleans()), max_size=12)
)
def test_any_ratings_are_summarised(drawn):
    replies = [reply(run, n) for n in range(6) for run in ("a", "b")]
    ratings = [
        (r.id, {"memory": m, "support": s, "remembers": x} | ({"closest": c} if c else {}))
        for r, (m, s, c, x) in zip(replies, drawn, strict=False)
    ]
    found = summary.summarise([rated_by("ann", ratings), rated_by("bo", ratings[::2])], replies)
    assert all(0 <= f.low <= f.value <= f.high <= 3 for of in found.means.values() for f in of.values())
    assert found.memory_and_support is None or -1.001 <= found.memory_and_support <= 1.001


def test_the_evaluate_tab_gives_the_sheet_and_reads_it(runs, tmp_path):
    with gr.Blocks():
        panel = RatingPanel(Runs(tmp_path), gr.State(), gr.Dropdown())
    warm, cold = (run.name for run in runs)
    made = panel.export(warm, cold, both=True, reference=False)
    (tmp_path / made["name"]).write_text(made["text"], "utf-8")
    assert len(lines(tmp_path / made["name"])) == 12
    assert len(panel.export(warm, cold, both=False, reference=True)["text"]) < len(made["text"]) * 2
    file = fill_in(tmp_path / made["name"], tmp_path / "ann.csv", lambda line: {"style": "3" if is_warm(line) else "?"})
    found = panel.read([str(file)], warm, cold, both=True, reference=False)
    assert "Rater: ann." in found
    assert "- ann.csv, line " in found
    assert str(tmp_path) not in found
    assert panel.read(None, warm, cold, both=True, reference=False) == ""


# --- a model as a rater


def scores(**changed):
    return json.dumps({**dict.fromkeys(SCORES, 2), "remembers": True, **changed})


def test_a_model_fills_a_sheet_in_which_is_then_read_like_anybodys(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOIR_QUANTIZATION", "fp32")
    names, empty, out = [run.name for run in runs], tmp_path / "sheet.csv", tmp_path / "model.csv"
    assert main(["rate", "sheet", *names, "--reference", "--limit", "2", "--out", str(empty)]) == 0
    assert "wrote 6 replies" in capsys.readouterr().out
    model = FakeListChatModel(responses=['{"closest": "B"}', scores(), "I would rather not", "no", scores(memory=1.5)])
    loaded = []
    monkeypatch.setattr("eval.cli.runs.chat_model", lambda name, **how: loaded.append(how) or model)
    judged = ["rate", "judge", *names, "--reference", "--sheet", str(empty), "--model", "fake", "--out", str(out)]
    assert main([*judged, "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["asked"] > counts["unreadable"] > 0
    assert main(judged) == 1
    assert "exists already" in capsys.readouterr().err
    assert loaded == [{"quantization": "fp32"}]
    assert main(["rate", "read", *names, "--reference", "--sheet", str(out), "--sheet", str(empty)]) == 0
    text = capsys.readouterr().out
    assert "Raters: model, sheet" in text
    assert "| run" in text
    assert REFERENCE in text


def test_what_a_model_does_not_say_as_asked_stays_empty(runs):
    replies = [r for r in sheet.replies_of(runs) if r.probe == "q0"]
    model = FakeListChatModel(responses=['{"closest": "Z"}', scores(style=7), scores(style=8), scores()])
    told = []
    ratings, counts = rate(replies, model, lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]
    assert [(r["style"], r.get("closest"), r["remembers"]) for r in ratings.values()] == [(2, None, True)]
    assert (counts.asked, counts.unreadable, counts.failed) == (4, 2, 0)


def test_a_model_is_told_what_to_rate_as_data_not_as_instructions(runs):
    prompts = []

    class Listening(FakeListChatModel):
        async def _astream(self, messages, *args, **kwargs):
            prompts.append(messages[0].content)
            async for piece in super()._astream(messages, *args, **kwargs):
                yield piece

    replies = [r for r in sheet.replies_of(runs) if r.probe == "q0"]
    rate(replies, Listening(responses=['{"closest": "tie"}', scores(), scores()]), lambda done, total: None)
    assert len(prompts) == 3
    assert all("Lisa: I lost my scarf.\\n" in prompt for prompt in prompts)
    assert not any(run.name in prompt for run in runs for prompt in prompts)
