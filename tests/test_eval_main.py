"""The command line as a user meets it: one object with --json, errors in a line, and runs that can be looked at."""

import csv
import io
import json
import re
import threading
from pathlib import Path

import pytest

import test_eval_benchmarks_longmemeval as longmemeval
import test_eval_benchmarks_perltqa as perltqa
from eval.__main__ import main
from eval.benchmarks import PRESETS, Preset, Row
from eval.cli.output import marks, progress_bars, write_between_marks
from eval.reporting import results
from eval.reporting.report import report
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import RunRequest, with_settings
from eval.settings import EvalSettings
from graph.models.registry import chat_model
from memory.embedding import minilm
from memory.errors import MemoirError
from memory.search.searcher import Searcher
from support.chat_server import Broken, ChatServer
from support.tiny_models import made_up

ROOT = Path(__file__).parents[1]
KEYS = {"benchmark", "n", "settings", "metrics", "by", "timing"}
ANSWERS = {"exact_match", "token_f1", "containment", "rouge_l", "bleu", "answer_accuracy", "false_refusal_rate"}
RETRIEVAL = {"session_recall@5", "session_recall_any@5", "session_recall_all@5", "turn_recall@10", "ndcg@5"}
NODES = {"classify", "retrieve", "rerank", "time_filter"}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One home for all, so that texts are embedded once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _at_home(home, monkeypatch, tmp_path):
    for name in ("MEMOIR_DATA", "MEMOIR_JUDGE", "MEMOIR_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMOIR_HOME", str(home))
    monkeypatch.chdir(tmp_path)  # no .env of whoever runs the tests


@pytest.fixture
def command(capsys):
    def run(*arguments):
        capsys.readouterr()
        status = main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def evaluator(home):
    return Evaluator(EvalSettings(home=home))


@pytest.fixture(scope="module")
def name(evaluator):
    """A finished run of four probes, made by the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMOIR_HOME", str(evaluator.settings.home))
        assert main(["run", "memoir", "--limit", "4", "--json"]) == 0
    return evaluator.runs.all()[0].name


def parsed(out):
    """What was printed, if it was one JSON object on a line and nothing else."""
    assert out.count("\n") == 1
    return json.loads(out, parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


def fails(outcome, *words):
    """Whether a command ended with status 1 and one message of these words, nothing on standard output."""
    status, out, err = outcome
    assert status == 1
    assert out == ""
    lines = [line for line in err.splitlines() if line]
    assert lines[-1].startswith("memoir: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err


# --- run


@pytest.mark.slow
def test_json_is_one_object_and_nothing_else(command, name):
    status, out, err = command("run", "memoir", "--limit", 4, "--json")
    held = parsed(out)
    assert status == 0
    assert set(held) >= KEYS
    assert (held["benchmark"], held["n"]) == ("memoir", 4)
    assert set(held["metrics"]) >= ANSWERS | RETRIEVAL
    for figure in held["metrics"].values():
        assert set(figure) == {"value", "low", "high", "n"}
        assert 0 <= figure["low"] <= figure["value"] <= figure["high"] <= 1
    for node in NODES | {"read"}:
        assert set(held["timing"][node]) == {"p50", "p95"}
    assert held["timing"]["import_turns_per_s"] > 0
    assert held["settings"]["search.k"] == 10
    assert "kept as memoir-" in err


@pytest.mark.slow
def test_without_a_reader_no_answer_is_scored(command, name):
    status, out, _ = command("run", "memoir", "--limit", 4, "--reader", "none", "--json")
    held = parsed(out)
    assert status == 0
    assert set(held["metrics"]) >= RETRIEVAL
    assert not set(held["metrics"]) & (ANSWERS | {"judge_accuracy", "similarity"})
    assert set(held["timing"]) >= NODES


@pytest.mark.slow
def test_a_setting_is_changed_by_its_name(command, name):
    arguments = ("run", "memoir", "--limit", 2, "--reader", "none", "--set", "rerank.alpha=0.3", "--set", "search.k=5")
    held = parsed(command(*arguments, "--json")[1])
    assert (held["settings"]["rerank.alpha"], held["settings"]["search.k"]) == (0.3, 5)
    assert held["settings"]["reader"] == "none"


@pytest.mark.slow
def test_without_json_the_report_is_for_people(command, name):
    status, out, _ = command("run", "memoir", "--limit", 2, "--reader", "none")
    assert status == 0
    assert out.startswith("# ")
    assert "2 probes of 1 histories (the first 2)" in out
    assert "session_recall@5" in out


@pytest.mark.slow
def test_a_sweep_runs_every_combination(command, name):
    arguments = ("run", "memoir", "--limit", 2, "--reader", "none", "--sweep", "search.k=5,20")
    _, out, _ = command(*arguments)
    *tables, rules = out.split("\n\n")
    for table in tables:
        assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == ["search.k=5", "search.k=20"]
    assert rules.startswith("- turn_recall: of the turns in the first k hits")
    assert max(map(len, out.splitlines())) <= 120
    rows = parsed(command(*arguments, "--json")[1])["rows"]
    assert [rows[label]["settings"]["search.k"] for label in ("search.k=5", "search.k=20")] == [5, 20]


def test_a_preset_runs_its_rows_and_names_those_that_it_leaves_out(command, name, monkeypatch):
    rows = (
        Row("five", ("search.k=5", "reader=none")),
        Row("by a model", ("reader=none",), "a chat model as reader (model=NAME)"),
    )
    own = Preset("two-rows", "Two rows", "memoir", "nobody", ("session_recall@5",), rows)
    monkeypatch.setitem(PRESETS, own.name, own)
    status, out, err = command("run", "memoir", "--limit", 2, "--preset", own.name)
    assert status == 0
    assert "five" in out
    assert "by a model" not in out
    assert "Skipped the row “by a model”: it needs a chat model as reader" in err


@pytest.mark.slow
def test_one_history_can_be_chosen(command, name):
    held = parsed(command("run", "memoir", "--limit", 2, "--only", "marta", "--reader", "none", "--json")[1])
    assert "marta" in held["portion"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--preset", "longmemeval-table-3"), ("longmemeval-table-3", "not of memoir")),
        (("--set", "rerank.gamma=1"), ("rerank.gamma", "rerank.alpha")),
        (("--set", "rerank.alpha"), ("name=value",)),
        (("--set", "search.k=many"), ("search.k=many",)),
        (("--set", "search.k=-1"), ("search.k=-1",)),
        (("--reader", "oracle"), ("reader=oracle",)),
        (("--sweep", "search.k="), ("search.k",)),
        (("--data", "/nowhere/at-all"), ("/nowhere/at-all", "does not exist")),
        (("--only", "nobody"), ("nobody", "no question")),
        (("--judge", "gpt"), ("openai:",)),
    ],
)
def test_what_cannot_be_run_is_said_in_a_line(command, evaluator, name, arguments, words):
    before = len(evaluator.runs.all())
    fails(command("run", "memoir", *arguments, "--json"), *words)
    assert len(evaluator.runs.all()) == before


def test_a_benchmark_without_another_form_says_so(command):
    fails(command("run", "memoir", "--set", "questions=authors"), "is asked as by its authors already")


def test_files_that_are_not_here_are_asked_for(command):
    fails(command("run", "longmemeval"), "--data FILE", "python -m eval fetch longmemeval")


def test_a_file_of_another_kind_is_named(command, tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text('{"nothing": "of the kind"}')
    fails(command("run", "locomo", "--data", path), str(path))


@pytest.mark.parametrize("arguments", [("run",), ("run", "nonsense"), ("run", "memoir", "--limit", "0"), ("walk",)])
def test_wrong_arguments_end_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_wrong_setting_in_the_environment_is_named(command, monkeypatch):
    monkeypatch.setenv("MEMOIR_K", "many")
    fails(command("list"), "MEMOIR_K")


def test_an_interrupted_command_says_how_to_go_on(command, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Evaluator, "run_together", interrupted)
    status, out, err = command("run", "memoir", "--limit", 2, "--afresh", "--json")
    assert (status, out) == (130, "")
    assert "Run the same command again to continue" in err


# --- what came of it


def test_a_report_is_shown_again(command, name):
    assert parsed(command("report", name, "--json")[1])["run"] == name
    text = command("report", name)[1]
    assert "## Timing" in text
    assert max(map(len, text.splitlines())) <= 120
    rows = list(csv.DictReader(io.StringIO(command("report", name, "--csv")[1])))
    assert {row["metric"] for row in rows if row["axis"] == "all"} >= ANSWERS | RETRIEVAL
    assert {row["axis"] for row in rows} >= {"all", "ability", "population"}
    fails(command("report", "nonsense"), "nonsense", name[:6])


def read_by(run):
    return [
        (sample.probe.id, {(hit.store, hit.units) for hit in sample.prediction.found if hit.place == "read"})
        for sample in run.samples()
    ]


@pytest.mark.slow
def test_a_run_is_read_again_from_what_its_reader_got_without_a_search(command, evaluator, name, monkeypatch):
    monkeypatch.setattr(Searcher, "search", lambda *arguments: pytest.fail("searched"))
    before = evaluator.runs.get(name)
    with ChatServer("It was in Porto. [1]") as server:
        assert command("read", name, "--set", f"model={server.model()}", "--set", "method=direct")[0] == 0
    again = evaluator.runs.get("last")
    assert again.spec.portion == f"those of {name}"
    assert again.spec.settings["model"] != before.spec.settings["model"]
    assert read_by(again) == read_by(before)
    assert all(len(units) > 1 for _, units in read_by(again))
    assert {sample.prediction.answer for sample in again.samples()} != {s.prediction.answer for s in before.samples()}


@pytest.mark.slow
def test_another_system_remembers_nothing_anew_where_its_run_is_read_again(command, evaluator):
    with ChatServer("A summary.") as server:
        run = ("run", "memoir", "--limit", 2, "--system", "raptor", "--reader", "extractive")
        assert command(*run, "--set", f"model={server.model()}")[0] == 0
        before, asked = evaluator.runs.get("last"), len(server.requests)
        assert asked > 0
        assert command("read", before.name)[0] == 0
        assert len(server.requests) == asked
    assert read_by(evaluator.runs.get("last")) == read_by(before)


@pytest.mark.slow
def test_two_runs_are_compared(command, evaluator, name):
    other = parsed(command("run", "memoir", "--limit", 4, "--set", "search.k=3", "--json")[1])["run"]
    held = parsed(command("compare", name, other, "--json")[1])
    assert (held["n"], held["settings"]) == (4, {"search.k": [10, 3]})
    assert set(held["differences"]) >= {"session_recall@5", "token_f1"}
    assert "search.k: 10 / 3" in command("compare", name, other)[1]
    rows = list(csv.DictReader(io.StringIO(command("compare", name, other, "--csv")[1])))
    assert {(row["first"], row["second"]) for row in rows} == {(name, other)}
    differences = {metric: found["difference"] for metric, found in held["differences"].items()}
    assert {row["metric"]: float(row["difference"]) for row in rows} == differences


@pytest.mark.slow
def test_a_sample_has_probes_of_every_history_and_kind_the_same_each_time(command, evaluator):
    asked = []
    for _ in range(2):
        run = parsed(command("run", "memoir", "--sample", 24, "--reader", "none", "--afresh", "--json")[1])["run"]
        samples = evaluator.runs.get(run).samples()
        asked.append({sample.probe.id for sample in samples})
        assert evaluator.runs.get(run).spec.portion == "a sample of 24"
        assert (len(samples), len({sample.prediction.history_id for sample in samples})) == (24, 3)
        assert len({sample.probe.ability for sample in samples}) >= 8
    assert asked[0] == asked[1]


def test_an_unknown_setting_is_told_the_nearest(command):
    fails(command("run", "memoir", "--set", "rerank.alhpa=1"), "no setting 'rerank.alhpa'", "nearest is rerank.alpha=")


def test_files_elsewhere_are_those_of_one_benchmark(command, tmp_path):
    fails(command("papers", "--data", tmp_path), "name it")


def test_where_nobody_sees_bars_a_line_is_printed_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr("eval.cli.output.SECONDS_BETWEEN_LINES", 0.0)
    with progress_bars("probe") as watch:
        watch("memoir", 3, 1200)
    assert "memoir: 3 of 1,200 probes" in capsys.readouterr().err


def test_runs_and_presets_are_listed(command, name):
    runs = parsed(command("list", "--json")[1])["runs"]
    assert name in {run["name"] for run in runs}
    assert name in command("list")[1]
    assert set(parsed(command("presets", "--json")[1])["presets"]) == set(PRESETS)
    assert "longmemeval-table-3: " in command("presets")[1]
    assert all(name.startswith("perltqa-") for name in parsed(command("presets", "perltqa", "--json")[1])["presets"])
    assert command("presets", "memoir")[1] == "memoir has no table\n"


@pytest.mark.slow
def test_a_run_is_deleted_unless_it_goes_on(command, evaluator, name):
    gone = parsed(command("run", "memoir", "--limit", 1, "--reader", "none", "--json")[1])["run"]
    with evaluator.runs.get(gone).lock():
        fails(command("delete", gone), "is running")
    assert parsed(command("delete", gone, "--json")[1]) == {"deleted": gone}
    fails(command("report", gone), "0 runs")


# --- judges


def test_answers_go_to_the_script(command, tmp_path):
    data = longmemeval.write(tmp_path, longmemeval.QUESTION)
    run = parsed(command("run", "longmemeval", "--data", data, "--json")[1])["run"]
    path = tmp_path / "hypotheses.jsonl"
    assert parsed(command("export", run, path, "--json")[1]) == {"written": 1, "format": "hypotheses"}
    (line,) = map(json.loads, path.read_text().splitlines())
    assert line["question_id"] == longmemeval.QUESTION["question_id"]


def test_a_run_of_another_benchmark_has_only_the_formats_that_fit_it(command, name, tmp_path):
    path = tmp_path / "run.txt"
    for chosen in ((), ("--format", "hypotheses"), ("--format", "qa")):
        fails(command("export", name, path, *chosen), "is a run of memoir", "--format: trec-run, trec-qrels")
    assert not path.exists()
    status, out, _ = command("export", name, path, "--format", "trec-run")
    assert (status, "a TREC run" in out) == (0, True)
    assert all(len(line.split(" ")) == 6 for line in path.read_text().splitlines())


@pytest.mark.slow
def test_labels_of_the_script_become_verdicts(command, evaluator, name, tmp_path):
    copy = parsed(command("run", "memoir", "--limit", 4, "--afresh", "--json")[1])["run"]
    labelled = [
        {"question_id": s.probe.id, "autoeval_label": {"model": "judge-1", "label": number != 0}}
        for number, s in enumerate(evaluator.runs.get(copy).samples())
    ]
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(json.dumps(line) + "\n" for line in labelled))
    held = parsed(command("judge", copy, "--labels", labels, "--json")[1])
    assert held["metrics"]["judge_accuracy"]["value"] == 0.75
    assert held["agreement"]["n"] == 4


def test_a_model_judges_once_and_never_again(command, name):
    with ChatServer('{"verdict": "right"}') as server:
        status, out, err = command("judge", name, server.model(), "--json")
        held = parsed(out)
        assert status == 0
        assert held["metrics"]["judge_accuracy"]["value"] == 1.0
        asked = len(server.requests)
        assert 0 < asked <= 4
        assert all(request["temperature"] == 0 for request in server.requests)
        assert command("judge", name, server.model())[0] == 0
        assert len(server.requests) == asked
    assert f"judged by {server.model()}" in err


def test_a_judges_reply_that_cannot_be_read_counts_as_wrong_and_is_counted(command, evaluator, name):
    with ChatServer("Hm.") as server:
        held = parsed(command("judge", name, server.model("other"), "--json")[1])
    assert (held["metrics"]["judge_accuracy"]["value"], held["metrics"]["judge_accuracy"]["n"]) == (0.0, 4)
    assert held["unreadable"] == {"judge": 4}
    assert {s.verdict.state for s in evaluator.runs.get(name).samples()} == {"unreadable"}
    assert "## Replies that could not be read" in command("report", name)[1]


@pytest.mark.slow
def test_a_judge_that_is_missing_or_has_nothing_to_judge_is_an_error(command, evaluator, name, tmp_path):
    fails(command("judge", name), "MEMOIR_JUDGE")
    fails(command("judge", name, "gpt"), "openai:")
    fails(command("judge", name, "--labels", tmp_path / "none"), str(tmp_path / "none"))
    silent = parsed(command("run", "memoir", "--limit", 1, "--reader", "none", "--json")[1])["run"]
    fails(command("judge", silent, "http://127.0.0.1:9/v1#m"), silent, "without a reader")


def test_a_file_that_cannot_be_written_is_an_error(command, name, tmp_path):
    fails(command("export", name, tmp_path / "no" / "such" / "run.txt", "--format", "trec-run"), "run.txt")


@pytest.mark.slow
def test_questions_can_be_made_from_the_historys_own_relations(command):
    status, out, err = command("run", "memoir", "--reader", "none", "--set", "questions=graph", "--limit", 12, "--json")
    assert status == 0, err
    held = parsed(out)
    assert held["n"] == 12
    assert set(held["by"]["ability"]) <= {"one-hop", "two-hop", "before known", "not known"}


def test_a_chat_model_can_tell_the_stores_and_its_tokens_are_counted(command):
    with ChatServer(json.dumps({"event": 1.0})) as server:
        chosen = ("--set", "classifier=llm", "--set", f"model={server.model()}")
        status, out, err = command("run", "memoir", "--reader", "none", *chosen, "--limit", 3, "--json")
        asked = len(server.requests)
    assert status == 0, err
    assert asked == 3
    assert parsed(out)["tokens"]["in"] == 11 * asked


@pytest.mark.slow
def test_a_report_has_the_share_of_questions_and_sessions_that_were_done_without_the_chat_model(command):
    readable = [json.dumps({"event": 1.0}), json.dumps({"items": [], "summary": ""})]

    def reply(request):
        return readable["worth remembering" in str(request)] if readable else "not a word of JSON"

    shares = []
    for _ in range(2):
        with ChatServer(reply) as server:
            chosen = ("--set", "classifier=llm", "--set", "learner=llm", "--set", f"model={server.model()}")
            status, out, err = command("run", "memoir", "--reader", "none", *chosen, "--limit", 2, "--json")
        assert status == 0, err
        held = parsed(out)
        shares.append((held["metrics"]["classify_fallback"]["value"], held["timing"]["learned_by_rules_share"]))
        readable.clear()
    assert shares == [(0.0, 0.0), (1.0, 1.0)]


READ = '{"notes": [], "answer": "A red dinghy.", "citations": [], "reason": null}'


def test_a_chat_model_reads_and_a_run_records_which_one_and_how(command, evaluator):
    with ChatServer(READ) as server:
        chosen = ("--set", f"model={server.model()}", "--set", "method=con", "--set", "format=nl")
        status, out, err = command("run", "memoir", *chosen, "--limit", 3, "--json")
        asked = len(server.requests)
        name = server.model()
    assert status == 0, err
    held = parsed(out)
    assert asked > 0
    assert held["tokens"] == {"in": 11 * asked, "out": 3 * asked}
    run = evaluator.runs.get(held["run"])
    recorded = {key: run.spec.settings[key] for key in ("model", "method", "format", "quantization", "reader")}
    assert recorded == {"model": name, "method": "con", "format": "nl", "quantization": "auto", "reader": "auto"}
    by_model = {s.prediction.answer for s in run.samples() if s.prediction.reader == name}
    assert by_model == {"A red dinghy."}


@pytest.mark.slow
def test_a_run_whose_model_goes_away_stops_and_goes_on_from_there(command, evaluator, monkeypatch):
    monkeypatch.setattr("graph.models.hosted.model.RETRIES", 0)
    with ChatServer(READ, Broken(503, "{}"), READ) as server:
        order = ("run", "memoir", "--set", f"model={server.model()}", "--limit", 4)
        status, _, err = command(*order)
        assert status == 1
        assert "run the same command again to continue" in err
        (run,) = [r for r in evaluator.runs.all() if r.spec.settings["model"] == server.model()]
        assert 0 < len(run.answered()) < 4
        status, out, err = command(*order, "--json")
    assert status == 0, err
    assert run.name == parsed(out)["run"]
    assert "A red dinghy." in {s.prediction.answer for s in run.samples()}
    assert not [s for s in run.samples() if re.search(r"(?<![.\d])503", " ".join(s.prediction.trace))]


@pytest.mark.slow
def test_a_report_says_how_many_answers_another_reader_gave(command):
    with ChatServer("not a word of JSON") as server:
        order = ("run", "memoir", "--set", f"model={server.model()}", "--limit", 3)
        status, out, err = command(*order, "--json")
        shown = command(*order)[1]
    assert status == 0, err
    held = parsed(out)
    assert (held["readers"], held["unreadable"]) == ({"extractive": 3}, {"reader": 3})
    assert held["metrics"]["answer_accuracy"]["value"] == 0.0
    assert held["curve"] is None
    assert "Read by" in shown


def test_figure_6_of_longmemeval_runs_against_a_server(command, tmp_path):
    file = longmemeval.write(tmp_path, longmemeval.QUESTION)
    read = ['{"notes": [], "answer": "The red one.", "citations": [], "reason": null}', "The red one."]
    with ChatServer(lambda r: read["response_format" not in r]) as server:
        chosen = ("--data", file, "--preset", "longmemeval-figure-6", "--set", f"model={server.model()}", "--json")
        status, out, err = command("run", "longmemeval", *chosen)
        said = [" ".join(message["content"] for message in r["messages"]) for r in server.requests]
        asked = ['"memories": [' in text for text in said]
        structured = ["response_format" in r for r in server.requests]
    assert status == 0, err
    assert "Skipped the row" not in err
    rows = parsed(out)["rows"]
    assert list(rows) == [row.label for row in PRESETS["longmemeval-figure-6"].rows]
    assert (asked, structured) == ([False, False, True, True], [False, True, False, True])
    assert [rows[label]["tokens"]["in"] for label in rows] == [0, 11, 11, 11, 11]


@pytest.mark.slow
def test_tables_4_and_8_of_longmemeval_run_against_a_server(command, tmp_path):
    """The model reads the times of table 4, and notes or answers in table 8."""
    file = longmemeval.write(tmp_path, longmemeval.QUESTION)
    days = '{"first": "2024-05-01", "last": "2024-05-02"}'
    read = '{"notes": [], "answer": "The red one.", "citations": [], "reason": null}'

    def answer(request):
        said = request["messages"][-1]["content"]
        return days if "From which day" in said else read if "response_format" in request else "The red one."

    with ChatServer(answer) as server:
        for name in ("longmemeval-table-4", "longmemeval-table-8"):
            chosen = ("--data", file, "--preset", name, "--set", f"model={server.model()}", "--json")
            status, out, err = command("run", "longmemeval", *chosen)
            assert status == 0, err
            assert "Skipped the row" not in err
            assert list(parsed(out)["rows"]) == [row.label for row in PRESETS[name].rows]
        times = [r for r in server.requests if "From which day" in r["messages"][-1]["content"]]
    assert (len(times), len(server.requests)) == (4, 4 + 8)


def test_table_4_of_perltqa_runs_against_a_server(command, tmp_path):
    files = perltqa.write(tmp_path, {"Pia Lund": perltqa.CHARACTER}, [{"Pia Lund": perltqa.QUESTIONS}])
    with ChatServer(json.dumps({"profile": 1.0})) as server:
        chosen = ("--data", files, "--preset", "perltqa-table-4", "--set", f"model={server.model()}", "--json")
        status, out, err = command("run", "perltqa", *chosen)
        assert server.requests
    assert status == 0, err
    rows = parsed(out)["rows"]
    assert {"instruction", "few-shot"} <= set(rows)
    assert rows["instruction"]["tokens"]["in"] > 0


@pytest.mark.slow
def test_a_key_is_in_no_file_of_a_run_and_no_output(command, evaluator, tmp_path, monkeypatch, caplog):
    key = "sk-planted-0123456789abcdef"
    monkeypatch.setenv("MEMOIR_API_KEY", key)
    said = READ.replace("dinghy", key)
    with ChatServer(said) as server, caplog.at_level(0):
        order = ("run", "memoir", "--set", f"model={server.model()}", "--judge", server.model(), "--limit", 3, "--json")
        status, out, err = command(*order)
        assert key in server.keys
    assert status == 0, err
    assert "[key]" in "".join(s.prediction.answer for s in evaluator.runs.get(parsed(out)["run"]).samples())
    assert key not in out + err + caplog.text
    home = evaluator.settings.home
    assert not [path for path in home.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("on_cpu", "settings", "recorded"),
    [
        (False, [], ("con", "none")),
        (True, [], ("direct", "none")),
        (False, ["method=con-separate"], ("con-separate", "model")),
        (True, ["method=con-separate"], ("con-separate", "none")),
        (True, ["method=con", "check=model"], ("con", "model")),
        (True, ["reader=extractive"], ("auto", "auto")),
    ],
)
def test_a_run_records_how_a_chat_model_reads_on_this_machine(evaluator, monkeypatch, on_cpu, settings, recorded):
    monkeypatch.setattr("eval.runs.evaluator.runs_on_cpu", lambda model: on_cpu)
    experiment = with_settings(evaluator.experiment, ["model=http://127.0.0.1:1/v1#tiny", *settings])
    stopped = threading.Event()
    stopped.set()
    run = evaluator.run(RunRequest("memoir", limit=1, experiment=experiment, afresh=True), stop=stopped)
    assert (run.spec.settings["method"], run.spec.settings["check"]) == recorded
    run.delete()


@pytest.mark.slow
def test_a_local_model_is_recorded_in_the_bits_that_it_was_read_in(command, evaluator, tmp_path, monkeypatch):
    monkeypatch.setattr("graph.models.local_model.REPLY_TOKENS", 8)
    name = made_up(tmp_path / "tiny")
    status, out, err = command("run", "memoir", "--set", f"model={name}", "--limit", 1, "--jobs", 2, "--json")
    assert status == 0, err
    run = evaluator.runs.get(parsed(out)["run"])
    assert run.spec.settings["quantization"] in ("nf4", "bf16")
    chat_model(name).weights.unload()


def test_a_table_of_results_is_put_between_its_marks(evaluator, name, tmp_path):
    line = results.ResultLine("memoir", ("turn_recall@5", "no such figure"))
    table = results.results_to_markdown([(line, {"": report(evaluator.runs.get(name))})])
    assert "4 probes of 1 histories" in table
    assert "turn_recall@5" in table
    assert "no such figure" not in table
    file = tmp_path / "RESULTS.md"
    begin, end = marks("results")
    file.write_text(f"Before.\n{begin}\nold\n{end}\nAfter.\n", "utf-8")
    write_between_marks(file, "results", table)
    assert file.read_text("utf-8") == f"Before.\n{begin}\n\n{table}\n\n{end}\nAfter.\n"
    (tmp_path / "other.md").write_text("no marks", "utf-8")
    with pytest.raises(MemoirError, match="no place for the table"):
        write_between_marks(tmp_path / "other.md", "results", table)


@pytest.mark.slow
def test_the_encoders_stand_side_by_side_with_their_means(evaluator, monkeypatch):
    monkeypatch.setattr(results, "LINES", [results.ResultLine("memoir", ("session_recall@5",))])
    ((line, reports),) = results.measure_results(evaluator, lambda *_: None, RunRequest(""), [minilm.NAME])
    figures = reports[minilm.NAME].metrics
    mean = (figures["session_recall_all@5"].value + figures["turn_recall@10"].value) / 2
    rows = results.encoders_to_markdown([(line, {**reports, "other": reports[minilm.NAME]})]).splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows if row.startswith("|")]
    assert cells[0] == ["benchmark", "metric", minilm.NAME, "other", "n"]
    assert [row[1] for row in cells[2:-1]] == ["session_recall@5", "session_recall_all@5", "turn_recall@10"]
    assert cells[-1][2:] == [f"{mean:.3f}".removeprefix("0")] * 2 + ["1"]


@pytest.mark.parametrize(
    ("file", "commands"),
    [
        ("eval/RESULTS.md", ["results", "encoders", "tune"]),
        ("eval/SPEED.md", ["bench", "bench-turn"]),
        ("graph/SETTINGS.md", ["settings"]),
    ],
)
def test_each_file_of_tables_has_the_marks_of_its_commands(file, commands):
    text = (ROOT / file).read_text("utf-8")
    for command in commands:
        begin, end = marks(command)
        assert text.index(begin) < text.index(end)


def test_the_settings_file_is_up_to_date(command):
    status, out, _ = command("settings")
    assert status == 0
    assert out.strip() in (ROOT / "graph/SETTINGS.md").read_text("utf-8"), (
        "run: python -m eval settings --write graph/SETTINGS.md"
    )
    listed = parsed(command("settings", "--json")[1])["settings"]
    assert {row["variable"] for row in listed} >= {"MEMOIR_HOME", "MEMOIR_MODEL", "MEMOIR_DATA"}
