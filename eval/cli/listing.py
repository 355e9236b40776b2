"""List, export and delete runs; list presets; download benchmark files."""

from __future__ import annotations

import argparse

from tabulate import tabulate

from eval.benchmarks import PRESETS
from eval.benchmarks.longmemeval.official_judge import write_hypotheses
from eval.cli.output import progress_bars, show
from eval.fetching.fetch import fetch
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import changed_settings
from memory.exporting.json_values import to_json_values


def list_runs(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List the runs, newest first."""
    runs = evaluator.runs.all()
    described = [{"name": run.name, "done": run.is_done, "created": run.created, "spec": run.spec} for run in runs]
    rows = [
        [
            run.name,
            run.spec.portion,
            "done" if run.is_done else "unfinished",
            " ".join(changed_settings(run.spec.settings)),
        ]
        for run in runs
    ]
    table = tabulate(rows, ["run", "portion", "state", "settings that differ from the default"])
    return show(arguments, {"runs": to_json_values(described)}, table if rows else "no runs yet")


def delete_run(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Delete a run."""
    run = evaluator.runs.get(arguments.run)
    run.delete()
    return show(arguments, {"deleted": run.name}, f"deleted {run.name}")


def export_answers(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Write a run's answers for LongMemEval's own judge script."""
    written = write_hypotheses(evaluator.runs.get(arguments.run).samples(), arguments.file)
    return show(arguments, {"written": written}, f"wrote {written} answers to {arguments.file}")


def list_presets(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """List the papers' tables that can be run by name."""
    lines = []
    for preset in PRESETS.values():
        lines.append(f"{preset.name}: {preset.title} [{preset.benchmark}]")
        for row in preset.rows:
            needs = f" (needs {row.needs})" if row.needs else ""
            lines.append(f"    {row.label}: {' '.join(row.settings) or 'default settings'}{needs}")
    return show(arguments, {"presets": to_json_values(dict(PRESETS))}, "\n".join(lines))


def fetch_files(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Download a benchmark's official files."""
    folder = evaluator.settings.home / "benchmarks" / arguments.benchmark
    with progress_bars("B", unit_scale=True) as watch:
        paths = fetch(arguments.benchmark, folder, watch)
    return show(arguments, {"files": [str(p) for p in paths]}, "\n".join(map(str, paths)))
