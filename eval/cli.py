"""What each command of `python -m eval` does: it prints what came of it, and gives the status to end with.

Each raises `MemoirError` where it cannot do what was asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tabulate import tabulate
from tqdm import tqdm

from eval.benchmarks import PRESETS
from eval.benchmarks.longmemeval.official_judge import read_labels, write_hypotheses
from eval.evaluator import Evaluator, RunRequest
from eval.experiment import Experiment, combinations, with_settings
from eval.fetching.fetch import fetch
from eval.play.execute import Progress
from eval.reporting import ablation, render, results
from eval.reporting.compare import compare_runs
from eval.reporting.report import Report, report
from eval.runs.run import Run
from eval.speed import measure, table, turn
from graph.models import chat_model
from memory.cli.errors import INTERRUPTED, print_error
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.exporting.json_values import to_json_values

# --- run


def replay(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Replay a benchmark, the rows of a table or all combinations, and show what came of it."""
    settings = [*arguments.settings, *([f"reader={arguments.reader}"] if arguments.reader else [])]
    base = with_settings(evaluator.experiment, settings)
    if judge := _judge_of(arguments, evaluator):
        chat_model(judge)  # a name that is none must not come to light when all has been answered
    if not arguments.preset and not arguments.sweep:
        return _show(_one(arguments, evaluator, base), arguments)
    rows = _of_preset(arguments, base) if arguments.preset else list(combinations(base, arguments.sweep))
    done = {label: _one(arguments, evaluator, experiment, label) for label, experiment in rows}
    if arguments.json:
        print(json.dumps({"rows": {label: render.as_json(held) for label, held in done.items()}}, ensure_ascii=False))
        return 0
    preset = PRESETS.get(arguments.preset or "")
    header, table = render.sweep_rows(done, preset.metrics if preset else None, preset.ability if preset else "")
    print(tabulate(table, header, tablefmt="github", disable_numparse=True))
    return 0


def _of_preset(arguments: argparse.Namespace, base: Experiment) -> list[tuple[str, Experiment]]:
    preset = PRESETS[arguments.preset]
    if preset.benchmark != arguments.benchmark:
        raise MemoirError(f"{preset.name} is a table of {preset.benchmark}, not of {arguments.benchmark}")
    for row in preset.rows:
        if not row.runs_with(base.pipeline.model):
            print(f"memoir: left out: {row.label}; it needs {row.needs}", file=sys.stderr)
    return [
        (row.label, with_settings(base, list(row.settings)))
        for row in preset.rows
        if row.runs_with(base.pipeline.model)
    ]


def _one(arguments: argparse.Namespace, evaluator: Evaluator, experiment: Experiment, label: str = "") -> Report:
    order = RunRequest(
        arguments.benchmark,
        arguments.data,
        experiment,
        arguments.limit,
        tuple(arguments.only),
        arguments.jobs,
        arguments.afresh,
        arguments.cold,
    )
    started = evaluator.start(order)
    with tqdm(total=started[1], unit="probe", desc=label or order.benchmark, disable=None) as bar:

        def watch(progress: Progress) -> None:
            bar.total = progress.total
            bar.update(progress.done - bar.n)

        run = evaluator.run(order, watch=watch, started=started)
    print(f"memoir: kept as {run.name}", file=sys.stderr)
    judge = _judge_of(arguments, evaluator)
    if judge and experiment.pipeline.reader != "none":
        _judged(evaluator, run, judge)
    return report(run)


def _judge_of(arguments: argparse.Namespace, evaluator: Evaluator) -> str:
    return str(arguments.judge or evaluator.settings.judge)


def _show(held: Report, arguments: argparse.Namespace) -> int:
    print(json.dumps(render.as_json(held), ensure_ascii=False) if arguments.json else render.to_markdown(held))
    return 0


# --- what came of it


def show_report(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Show a run's report."""
    held = report(evaluator.runs.get(arguments.run))
    if arguments.csv:
        print(render.to_csv(held), end="")
        return 0
    return _show(held, arguments)


def measure_all(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark whose files are here."""
    with _watched() as watch:
        done = results.measure(evaluator, arguments.jobs, watch)
    table = results.to_markdown(done)
    if arguments.write:
        results.write_into(arguments.write, table)
    print(json.dumps({title: render.as_json(held) for title, _, held in done}) if arguments.json else table)
    return 0


def ablate(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark with each factor of recall off."""
    with _watched() as watch:
        done = ablation.measure(evaluator, arguments.jobs, watch, arguments.limit)
    table = ablation.to_markdown(done)
    if arguments.write:
        results.write_into(arguments.write, table, ablation.BEGIN, ablation.END)
    print(json.dumps({held.title: to_json_values(held.without) for held in done}) if arguments.json else table)
    return 0


@contextmanager
def _watched() -> Iterator[Callable[[str, Progress], None]]:
    with tqdm(unit="probe", disable=None) as bar:

        def watch(title: str, progress: Progress) -> None:
            bar.desc, bar.total = title, progress.total
            bar.update(progress.done - bar.n)

        yield watch


def compare(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Compare two runs, probe by probe."""
    held = compare_runs(evaluator.runs.get(arguments.first), evaluator.runs.get(arguments.second))
    print(json.dumps(to_json_values(held), ensure_ascii=False) if arguments.json else render.comparison_markdown(held))
    return 0


def list_runs(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List the runs."""
    runs = evaluator.runs.all()
    if arguments.json:
        print(json.dumps({"runs": [_about(run) for run in runs]}, ensure_ascii=False))
        return 0
    rows = [[run.name, run.spec.portion, "done" if run.is_done else "unfinished", _differs(run)] for run in runs]
    print(
        tabulate(rows, ["run", "portion", "state", "settings that differ from the default"]) if rows else "no runs yet"
    )
    return 0


def _about(run: Run) -> Mapping[str, Any]:
    about: Mapping[str, Any] = to_json_values(
        {"name": run.name, "done": run.is_done, "created": run.created, "spec": run.spec}
    )
    return about


def _differs(run: Run) -> str:
    default = Experiment().settings
    return " ".join(f"{k}={v}" for k, v in run.spec.settings.items() if default.get(k) != v)


def list_presets(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List the papers' tables."""
    if arguments.json:
        print(json.dumps({"presets": to_json_values(dict(PRESETS))}, ensure_ascii=False))
        return 0
    for preset in PRESETS.values():
        print(f"{preset.name}: {preset.title} [{preset.benchmark}]")
        for row in preset.rows:
            print(
                f"    {row.label}: {' '.join(row.settings) or 'as it is'}{f' (needs {row.needs})' if row.needs else ''}"
            )
    return 0


def delete(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Delete a run."""
    run = evaluator.runs.get(arguments.run)
    run.delete()
    print(json.dumps({"deleted": run.name}) if arguments.json else f"deleted {run.name}")
    return 0


# --- files and judges


def fetch_files(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Download a benchmark's official files."""
    folder = evaluator.settings.home / "benchmarks" / arguments.benchmark
    bars: dict[str, Any] = {}

    def progress(name: str, done: int, total: int) -> None:
        bar = bars.setdefault(name, tqdm(total=total, unit="B", unit_scale=True, desc=name, disable=None))
        bar.update(done - bar.n)

    paths = fetch(arguments.benchmark, folder, progress)
    for bar in bars.values():
        bar.close()
    print(json.dumps({"files": [str(p) for p in paths]}) if arguments.json else "\n".join(map(str, paths)))
    return 0


def judge(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Let a chat model judge a run's answers, or take verdicts from a file."""
    run = evaluator.runs.get(arguments.run)
    if arguments.labels:
        run.save_verdicts(read_labels(arguments.labels))
    else:
        model = arguments.model or evaluator.settings.judge
        if not model:
            raise MemoirError("name the chat model that is to judge, or set MEMOIR_JUDGE")
        _judged(evaluator, run, model)
    return _show(report(run), arguments)


def _judged(evaluator: Evaluator, run: Run, model: str) -> None:
    with tqdm(unit="answer", desc="judge", disable=None) as bar:

        def watch(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        spent = evaluator.judge(run, model, watch)
    print(f"memoir: judged by {model}: {to_json_values(spent)}", file=sys.stderr)


def export(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Write a run's answers for LongMemEval's own judge script."""
    written = write_hypotheses(evaluator.runs.get(arguments.run).samples(), arguments.file)
    print(json.dumps({"written": written}) if arguments.json else f"wrote {written} answers to {arguments.file}")
    return 0


# --- speed


def measure_speed(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure speed, memory and exactness at growing sizes."""
    order = measure.Order(arguments.sizes, arguments.personas, arguments.questions, arguments.seed)
    embedder = Embedder(evaluator.settings.embedding_model)
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(TemporaryDirectory(prefix="memoir-bench-")))
        bars: dict[str, Any] = {}

        def watch(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = stack.enter_context(tqdm(total=total, desc=what, disable=None))
            bars[what].update(done - bars[what].n)

        try:
            figures = list(measure.measure(order, folder, embedder, watch))
        except KeyboardInterrupt:
            print_error("Interrupted. Run the same command again; unfinished banks are built anew.")
            return INTERRUPTED
    print(
        json.dumps({**table.about(), "figures": to_json_values(figures)}) if arguments.json else table.to_text(figures)
    )
    return 0


def measure_turn(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure a chat turn, the app's start and its idle memory."""
    figures = turn.run(evaluator.settings, arguments.memories, arguments.turns, with_app=not arguments.no_app)
    print(json.dumps(figures, indent=2) if arguments.json else "\n".join(f"{k}: {v}" for k, v in figures.items()))
    return 0
