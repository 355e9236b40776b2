"""Run benchmarks and judge their answers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tabulate import tabulate

from eval.benchmarks import PRESETS
from eval.benchmarks.longmemeval.official_judge import read_labels
from eval.cli.output import progress_bars, show
from eval.reporting import render
from eval.reporting.report import Report, report
from eval.runs.evaluator import Evaluator, RunRequest
from eval.runs.experiment import Experiment, combinations, with_settings
from eval.runs.run import Run
from graph.models.registry import chat_model
from memory.cli.errors import print_error
from memory.errors import MemoirError
from memory.exporting.json_values import to_json_values


def run(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run a benchmark once, for each row of a paper's table, or for each combination of settings."""
    reader = [f"reader={arguments.reader}"] if arguments.reader else []
    base = with_settings(evaluator.experiment, [*arguments.settings, *reader])
    if judge := _judge_name(arguments, evaluator):
        chat_model(judge)  # an unknown name must stop the command before anything is asked
    if not arguments.preset and not arguments.sweep:
        (done,) = _run_rows(arguments, evaluator, [(arguments.benchmark, base)]).values()
        return show(arguments, to_json_values(done), render.to_markdown(done))
    rows = _preset_rows(arguments, base) if arguments.preset else list(combinations(base, arguments.sweep))
    reports = _run_rows(arguments, evaluator, rows)
    preset = PRESETS.get(arguments.preset or "")
    shown = (preset.metrics, preset.ability, preset.by) if preset else ()
    header, table = render.sweep_rows(reports, *shown)
    return show(
        arguments,
        {"rows": {label: to_json_values(each) for label, each in reports.items()}},
        tabulate(table, header, tablefmt="github", disable_numparse=True),
    )


def judge(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Let a chat model judge a run's answers, or read the verdicts of LongMemEval's script."""
    judged = evaluator.runs.get(arguments.run)
    if arguments.labels:
        judged.save_verdicts(read_labels(arguments.labels))
    else:
        model = arguments.model or evaluator.settings.judge
        if not model:
            raise MemoirError("no judge is named. Name a chat model, or set MEMOIR_JUDGE")
        _judge_run(evaluator, judged, model)
    done = report(judged)
    return show(arguments, to_json_values(done), render.to_markdown(done))


def _preset_rows(arguments: argparse.Namespace, base: Experiment) -> list[tuple[str, Experiment]]:
    preset = PRESETS[arguments.preset]
    if preset.benchmark != arguments.benchmark:
        raise MemoirError(f"{preset.name} is a table of {preset.benchmark}, not of {arguments.benchmark}")
    rows = []
    for row in preset.rows:
        if row.runs_with(base.pipeline.model, base.trained_classifier):
            rows.append((row.label, with_settings(base, list(row.settings))))
        else:
            print_error(f"Skipped the row “{row.label}”: it needs {row.needs}.")
    return rows


def _run_rows(
    arguments: argparse.Namespace, evaluator: Evaluator, rows: Sequence[tuple[str, Experiment]]
) -> dict[str, Report]:
    """Run rows, and let a judge see their answers if one is named; returns the report of each, in their order."""
    requests = {
        label: RunRequest(
            arguments.benchmark,
            arguments.data,
            experiment,
            limit=arguments.limit,
            only=tuple(arguments.only),
            half=arguments.half,
            jobs=arguments.jobs,
            engine=arguments.engine,
            afresh=arguments.afresh,
            cold=arguments.cold,
        )
        for label, experiment in rows
    }
    with progress_bars("probe") as watch:
        runs = evaluator.run_rows(requests, watch)
    judge_name = _judge_name(arguments, evaluator)
    for label, run in runs.items():
        print_error(f"kept as {run.name}")
        if judge_name and requests[label].experiment.pipeline.reader != "none":
            _judge_run(evaluator, run, judge_name)
    return {label: report(run) for label, run in runs.items()}


def _judge_name(arguments: argparse.Namespace, evaluator: Evaluator) -> str:
    return str(arguments.judge or evaluator.settings.judge)


def _judge_run(evaluator: Evaluator, judged: Run, model: str) -> None:
    with progress_bars("answer") as watch:
        spent = evaluator.judge(judged, model, lambda done, total: watch("judge", done, total))
    print_error(f"judged by {model}: {to_json_values(spent)}")
