"""Reports, comparisons, and the measurements whose tables can be written into files."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.cli.output import progress_bars, show, write_between_marks
from eval.reporting import encoders, papers, render, results, settings_table
from eval.reporting.compare import compare_runs
from eval.reporting.report import report
from eval.reporting.tuning import measure as tuning
from eval.reporting.tuning import table as tuning_table
from eval.runs.evaluator import Evaluator
from eval.speed import measure, turn
from eval.speed import table as speed_table
from memory.cli.errors import INTERRUPTED, print_error
from memory.embedding.embedder import Embedder
from memory.exporting.json_values import to_json_values


def show_report(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Show a run's report."""
    done = report(evaluator.runs.get(arguments.run))
    if arguments.csv:
        print(render.to_csv(done), end="")
        return 0
    return show(arguments, to_json_values(done), render.to_markdown(done))


def compare(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Compare two runs, probe by probe."""
    comparison = compare_runs(evaluator.runs.get(arguments.first), evaluator.runs.get(arguments.second))
    return show(arguments, to_json_values(comparison), render.comparison_markdown(comparison))


def measure_results(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark whose files are here."""
    with progress_bars("probe") as watch:
        done = results.measure(evaluator, arguments.jobs, watch, arguments.half)
    table = results.to_markdown(done)
    write_between_marks(arguments.write, "results", table)
    return show(arguments, {line.title: to_json_values(measured) for line, measured in done}, table)


def measure_encoders(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run every benchmark with each packaged encoder."""
    with progress_bars("probe") as watch:
        done = encoders.measure(evaluator, arguments.jobs, watch)
    table = encoders.to_markdown(done)
    write_between_marks(arguments.write, "encoders", table)
    return show(arguments, {line.title: to_json_values(reports) for line, reports in done}, table)


def measure_papers(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Run the rows of all papers' tables that need no chat model, or those that need one."""
    plan = papers.Plan(arguments.jobs, arguments.model, arguments.limit)
    with progress_bars("probe") as watch:
        done = papers.measure(evaluator, plan, watch, arguments.benchmark)
    table = papers.to_markdown(done, plan)
    write_between_marks(arguments.write, "papers", table)
    values = {preset.name: {label: to_json_values(each) for label, each in rows.items()} for preset, rows in done}
    return show(arguments, values, table)


def measure_tuning(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Choose the constants of retrieval on all benchmarks but one, and measure that one."""
    with progress_bars("setting") as watch:
        found = tuning.measure(evaluator, arguments.jobs, watch, arguments.limit)
    table = tuning_table.to_markdown(found)
    write_between_marks(arguments.write, "tune", table)
    return show(arguments, to_json_values(found), table)


def show_settings(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List every setting of the program."""
    table = settings_table.settings_table()
    write_between_marks(arguments.write, "settings", table)
    return show(arguments, {"settings": settings_table.settings_rows()}, table)


def measure_sizes(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure speed, memory and exactness at growing sizes."""
    request = measure.SpeedRequest(arguments.sizes, arguments.personas, arguments.questions, arguments.seed)
    embedder = Embedder(evaluator.settings.embedding_model)
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(TemporaryDirectory(prefix="memoir-bench-")))
        watch = stack.enter_context(progress_bars("it"))
        try:
            figures = list(measure.measure(request, folder, embedder, watch))
        except KeyboardInterrupt:
            print_error("Interrupted. Run the same command again; unfinished banks are built again.")
            return INTERRUPTED
    write_between_marks(arguments.write, "bench", speed_table.to_markdown(figures))
    values = {**speed_table.about(), "figures": to_json_values(figures)}
    return show(arguments, values, speed_table.to_text(figures))


def measure_turn(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure a chat turn, the app's start and its idle memory."""
    figures = turn.run(evaluator.settings, arguments.memories, arguments.turns, with_app=not arguments.no_app)
    write_between_marks(arguments.write, "bench-turn", turn.to_markdown(figures))
    return show(arguments, figures, "\n".join(f"{name}: {value}" for name, value in figures.items()))
