"""Run benchmarks; show, judge, rate, export and delete runs."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from eval.benchmarks import BENCHMARKS, PRESETS
from eval.benchmarks.longmemeval.metrics import read_labels
from eval.cli.output import COMMANDS, DATA, HALF, JOBS, JSON, LIMIT, SAMPLE, progress_bars, show
from eval.play.systems import registry
from eval.rating import sheet, summary
from eval.rating.model_rater import rate
from eval.reporting import compare as comparing
from eval.reporting import exports, render
from eval.reporting.report import report
from eval.runs.evaluator import ENGINES, Evaluator
from eval.runs.experiment import Experiment, RunRequest, changed_settings, combinations, with_settings
from eval.runs.run import Run
from graph.models.registry import chat_model, is_named
from memory.cli.program import Arguments, argument, flag, number, path, print_error
from memory.errors import MemoirError
from memory.formatting import to_json_values

RUN = argument("run")
SET = argument("--set", "change a setting", action="append", default=[], metavar="NAME=VALUE", dest="settings")

ENGINE_HELP = "where they run: on this machine, or on the Ray cluster at RAY_ADDRESS"
FORMAT_HELP = "; ".join(f"{name}: {found.about}" for name, found in exports.FORMATS.items())
SYSTEM_HELP = f"the memory to test, several times for a table: {', '.join(registry.names())}, or http://ADDRESS"
MODEL_HELP = "as openai:gpt-4o-mini, or http://127.0.0.1:8000/v1#name"


@COMMANDS.add(
    "run",
    argument("benchmark", "the benchmark's name", choices=BENCHMARKS),
    DATA,
    LIMIT,
    SAMPLE,
    argument("--only", "play this history only", action="append", default=[], metavar="HISTORY"),
    argument("--reader", "the reader; none measures classification and retrieval alone", metavar="READER"),
    SET,
    argument("--sweep", "run every combination", action="append", default=[], metavar="NAME=V,V"),
    argument("--system", SYSTEM_HELP, action="append", default=[], metavar="NAME", dest="systems"),
    argument("--preset", "run the rows of a paper's table", choices=PRESETS, metavar="NAME"),
    HALF,
    JOBS,
    argument("--engine", ENGINE_HELP, choices=ENGINES, default="local"),
    argument("--judge", "let this chat model judge the answers", metavar="MODEL"),
    flag("--afresh", "start a new run instead of resuming an unfinished one"),
    flag("--cold", "use no cached embeddings"),
)
def run(arguments: Arguments, evaluator: Evaluator) -> None:
    """Run a benchmark and score it; an unfinished run is resumed."""
    reader = [f"reader={arguments.reader}"] if arguments.reader else []
    base = with_settings(evaluator.experiment, [*arguments.settings, *reader])
    if judge_name := arguments.judge or evaluator.settings.judge:
        chat_model(judge_name)  # an unknown name must stop the command before anything is asked
    for name in arguments.systems:
        registry.check(name, has_model=is_named(base.pipeline.model))
    systems = list(dict.fromkeys(arguments.systems)) or [base.system]
    is_alone, base = len(systems) == 1, replace(base, system=systems[0])
    if not arguments.preset and not arguments.sweep:
        if is_alone:
            _show_report(arguments, *_run_rows(arguments, evaluator, {arguments.benchmark: base}).values())
        else:
            rows = {name: replace(base, system=name) for name in systems}
            _show_side_by_side(arguments, _run_rows(arguments, evaluator, rows))
        return
    if not is_alone:
        raise MemoirError(
            "a sweep or a paper's table takes one --system; sweep over several: --sweep system=memoir,bm25"
        )
    if preset := PRESETS.get(arguments.preset or ""):
        if preset.benchmark != arguments.benchmark:
            raise MemoirError(f"{preset.name} is a table of {preset.benchmark}, not of {arguments.benchmark}")
        experiments, left_out = preset.experiments(base)
        for row in left_out:
            print_error(f"Skipped the row “{row.label}”: it needs {row.needs}.")
    else:
        experiments = dict(combinations(base, arguments.sweep))
    reports = {label: report(done) for label, done in _run_rows(arguments, evaluator, experiments).items()}
    header, table = render.sweep_rows(reports, preset)
    show(arguments, {"rows": reports}, "\n\n".join([render.narrow_tables(table, header), *render.rules(header)]))


def _run_rows(arguments: Arguments, evaluator: Evaluator, rows: Mapping[str, Experiment]) -> dict[str, Run]:
    """Run rows by their labels, and let a judge see their answers if one is named; returns the run of each."""
    names = ("data", "limit", "sample", "half", "jobs", "engine", "afresh", "cold")
    how: dict[str, Any] = {name: getattr(arguments, name) for name in names}
    requests = {
        label: RunRequest(arguments.benchmark, experiment=experiment, only=tuple(arguments.only), **how)
        for label, experiment in rows.items()
    }
    with progress_bars("probe") as watch:
        runs = evaluator.run_rows(requests, watch)
    judge_name = arguments.judge or evaluator.settings.judge
    for label, done in runs.items():
        print_error(f"kept as {done.name}")
        if judge_name and requests[label].experiment.pipeline.reader != "none":
            _judge_run(evaluator, done, judge_name)
    return runs


def _show_report(arguments: Arguments, reported: Run) -> None:
    done = report(reported)
    show(arguments, done, render.to_markdown(done))


def _show_side_by_side(arguments: Arguments, runs: Mapping[str, Run]) -> None:
    reports, table, notes = comparing.side_by_side(runs)
    header, first = ["", *reports], next(iter(reports.values()))
    text = render.fill_in("systems.md", first=first, header=header, rows=table, notes=notes)
    show(arguments, reports, text)


def _judge_run(evaluator: Evaluator, judged: Run, model: str) -> None:
    with progress_bars("answer") as watch:
        spent = evaluator.judge(judged, model, lambda done, total: watch("judge", done, total))
    print_error(f"judged by {model}: {to_json_values(spent)}")


@COMMANDS.add(
    "report",
    argument("run", "its name or the start of it; the newest by default", nargs="?", default="last"),
    flag("--csv", "print one row for each figure"),
)
def show_report(arguments: Arguments, evaluator: Evaluator) -> None:
    """Show a run's report."""
    reported = evaluator.runs.get(arguments.run)
    if arguments.csv:
        print(render.to_csv(report(reported)), end="")
    else:
        _show_report(arguments, reported)


@COMMANDS.add(
    "compare",
    argument("first"),
    argument("others", nargs="+", metavar="other"),
    flag("--csv", "print one row for each figure of each run, with its difference from the first"),
)
def compare(arguments: Arguments, evaluator: Evaluator) -> None:
    """Compare two runs, probe by probe, or the figures of several with those of the first."""
    first, *others = (evaluator.runs.get(name) for name in (arguments.first, *arguments.others))
    if arguments.csv:
        print(comparing.comparisons_to_csv([comparing.compare_runs(first, other) for other in others]), end="")
    elif len(others) > 1:
        runs = (first, *others)
        systems = {str(run.spec.settings.get("system")): run for run in runs}
        _show_side_by_side(arguments, systems if len(systems) == len(runs) else {run.name: run for run in runs})
    else:
        comparison = comparing.compare_runs(first, others[0])
        show(arguments, comparison, comparing.comparison_markdown(comparison))


@COMMANDS.add("read", RUN, SET, JOBS)
def read_again(arguments: Arguments, evaluator: Evaluator) -> None:
    """Answer a run's questions again from what its reader got, with other settings of reading; nothing is searched."""
    before = evaluator.runs.get(arguments.run)
    settings = [*changed_settings(before.spec.settings), "given=found", f"found_by={before.folder.resolve()}"]
    experiment = with_settings(Experiment(), [*settings, *arguments.settings])
    request = RunRequest(before.spec.benchmark, Path(before.spec.data), experiment, jobs=arguments.jobs)
    with progress_bars("probe") as watch:
        done = evaluator.run(request, watch=watch)
    _show_report(arguments, done)


@COMMANDS.add(
    "judge",
    RUN,
    argument("model", MODEL_HELP, nargs="?"),
    path("--labels", "the file that LongMemEval's evaluate_qa.py wrote"),
)
def judge(arguments: Arguments, evaluator: Evaluator) -> None:
    """Let a chat model judge a run's answers, or read verdicts of LongMemEval's script."""
    judged = evaluator.runs.get(arguments.run)
    model = arguments.model or evaluator.settings.judge
    if arguments.labels:
        judged.save_verdicts(read_labels(arguments.labels))
    elif model:
        _judge_run(evaluator, judged, model)
    else:
        raise MemoirError("no judge is named. Name a chat model, or set MEMOIR_JUDGE")
    _show_report(arguments, judged)


@COMMANDS.add("list")
def list_runs(arguments: Arguments, evaluator: Evaluator) -> None:
    """List the runs, newest first."""
    values, rows = [], []
    for each in evaluator.runs.all():
        values.append({"name": each.name, "done": each.is_done, "created": each.created, "spec": each.spec})
        state, changed = "done" if each.is_done else "unfinished", " ".join(changed_settings(each.spec.settings))
        rows.append([each.name, each.spec.portion, state, changed])
    table = tabulate(rows, ["run", "portion", "state", "settings that differ from the default"])
    show(arguments, {"runs": values}, table if rows else "no runs yet")


@COMMANDS.add(
    "export",
    RUN,
    argument("file", type=Path),
    argument("--format", FORMAT_HELP, choices=exports.FORMATS, default="", metavar="FORMAT"),
)
def export_run(arguments: Arguments, evaluator: Evaluator) -> None:
    """Write a run's answers or rankings as other programs read them."""
    name, written = exports.write(evaluator.runs.get(arguments.run), arguments.file, arguments.format)
    about = exports.FORMATS[name].about
    show(arguments, {"written": written, "format": name}, f"wrote {written} lines to {arguments.file}, {about}")


@COMMANDS.add("delete", RUN)
def delete_run(arguments: Arguments, evaluator: Evaluator) -> None:
    """Delete a run."""
    deleted = evaluator.runs.get(arguments.run)
    deleted.delete()
    show(arguments, {"deleted": deleted.name}, f"deleted {deleted.name}")


RATE = COMMANDS.add_group(
    "rate",
    "Rate replies of runs, by people or by a chat model.",
    "Rate replies of runs, by people or by a chat model, without showing whose they are.",
    JSON,
    argument("run", "runs of one benchmark; what all of them replied to is rated", nargs="+"),
    flag("--reference", "rate the benchmark's own replies, too"),
)


@RATE.add(
    "sheet",
    path("--out", "the sheet to write", dest="file", required=True),
    number("--limit", "of N questions only, chosen at random"),
    argument("--seed", "seed of the order", type=int, default=0),
)
def write_sheet(arguments: Arguments, evaluator: Evaluator) -> None:
    """Write a sheet to fill in: a CSV file with a line for each reply."""
    lines = sheet.empty(_replies(arguments, evaluator), seed=arguments.seed, limit=arguments.limit)
    sheet.write(lines, arguments.file)
    value = {"replies": len(lines), "file": arguments.file}
    show(arguments, value, render.fill_in("sheet.md", columns=sheet.COLUMNS_TO_FILL, **value))


@RATE.add(
    "judge",
    path("--sheet", "a sheet of these runs", required=True),
    argument("--model", MODEL_HELP, required=True),
    path("--out", "the filled sheet to write", dest="file", required=True),
)
def let_model_rate(arguments: Arguments, evaluator: Evaluator) -> None:
    """Let a chat model fill a sheet in."""
    sheet.check_is_new(arguments.file)
    model = chat_model(arguments.model, quantization=evaluator.settings.quantization)
    replies, asked_for = _replies(arguments, evaluator), {line["reply"] for _, line in sheet.lines(arguments.sheet)}
    chosen = [reply for reply in replies if reply.id in asked_for]
    with progress_bars("reply") as watch:
        given, counts = rate(chosen, model, lambda done, total: watch(arguments.model, done, total))
    sheet.write(sheet.filled(arguments.sheet, given), arguments.file)
    value = {"rated": len(given), **asdict(counts)}
    show(arguments, value, render.fill_in("rated.md", file=arguments.file, **value))


@RATE.add("read", path("--sheet", "a filled sheet; its rater is called like it", action="append", required=True))
def read_sheets(arguments: Arguments, evaluator: Evaluator) -> None:
    """Read sheets that were filled in, each by one rater."""
    replies = _replies(arguments, evaluator)
    found = summary.summarise([sheet.read(file, replies) for file in arguments.sheet], replies)
    show(arguments, found, summary.to_markdown(found))


def _replies(arguments: Arguments, evaluator: Evaluator) -> list[sheet.Reply]:
    return sheet.replies_of([evaluator.runs.get(name) for name in arguments.run], reference=arguments.reference)
