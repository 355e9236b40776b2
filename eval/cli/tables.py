"""Reports, comparisons and the tables that are written into files."""

from __future__ import annotations

import argparse
from pathlib import Path

from eval.cli.output import progress_bars, show
from eval.reporting import ablation, render, results, settings_table
from eval.reporting.compare import compare_runs
from eval.reporting.marks import write_between_marks
from eval.reporting.report import report
from eval.runs.evaluator import Evaluator
from memory.exporting.json_values import to_json_values


def show_report(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Show a run's report."""
    found = report(evaluator.runs.get(arguments.run))
    if arguments.csv:
        print(render.to_csv(found), end="")
        return 0
    return show(arguments, to_json_values(found), render.to_markdown(found))


def compare(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Compare two runs, probe by probe."""
    found = compare_runs(evaluator.runs.get(arguments.first), evaluator.runs.get(arguments.second))
    return show(arguments, to_json_values(found), render.comparison_markdown(found))


def measure_results(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark whose files are here."""
    with progress_bars("probe") as watch:
        done = results.measure(evaluator, arguments.jobs, lambda label, p: watch(label, p.done, p.total))
    table = results.to_markdown(done)
    _write(arguments.write, "results", table)
    return show(arguments, {line.title: to_json_values(found) for line, found in done}, table)


def measure_ablation(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark with each factor of retrieval off."""
    with progress_bars("probe") as watch:
        done = ablation.measure(
            evaluator, arguments.jobs, lambda label, p: watch(label, p.done, p.total), arguments.limit
        )
    table = ablation.to_markdown(done)
    _write(arguments.write, "ablate", table)
    return show(arguments, {each.title: to_json_values(each.without) for each in done}, table)


def show_settings(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List every setting of the program."""
    table = settings_table.settings_table()
    _write(arguments.write, "settings", table)
    return show(arguments, {"settings": settings_table.settings_rows()}, table)


def _write(file: Path | None, command: str, table: str) -> None:
    if file:
        write_between_marks(file, command, table)
