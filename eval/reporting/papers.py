"""Run the rows of the papers' tables that need no chat model, on the benchmark files that are here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from tabulate import tabulate

from eval.benchmarks import BENCHMARKS
from eval.benchmarks.types import Preset
from eval.metrics.intervals import INTERVALS
from eval.reporting.render import sweep_rows
from eval.reporting.report import Report, report
from eval.reporting.results import LINES
from eval.runs.evaluator import Evaluator, NoData, RunRequest
from eval.runs.experiment import with_settings
from eval.runs.provenance import code_version, machine
from eval.types import Watch

Tables = Sequence[tuple[Preset, Mapping[str, Report]]]
"""Each table with the reports of its rows by their labels."""


def measure(evaluator: Evaluator, jobs: int, watch: Watch, names: Sequence[str] = ()) -> Tables:
    """Run all rows that need nothing, of all benchmarks or those named; raises `NoData` if no file of them is here."""
    done: list[tuple[Preset, Mapping[str, Report]]] = []
    for benchmark in BENCHMARKS.values():
        line = next((line for line in LINES if line.benchmark == benchmark.name), None)
        if not benchmark.presets or line is None or (names and benchmark.name not in names):
            continue
        with suppress(NoData):
            path = line.path(evaluator)
            for preset in benchmark.presets:
                rows = {
                    row.label: RunRequest(
                        benchmark.name, path, with_settings(evaluator.experiment, list(row.settings)), jobs=jobs
                    )
                    for row in preset.rows
                    if not row.needs
                }
                runs = evaluator.run_rows(rows, watch)
                done.append((preset, {label: report(run) for label, run in runs.items()}))
    if not done:
        raise NoData("no benchmark's files are here")
    return done


def to_markdown(done: Tables) -> str:
    """The tables, after a paragraph on where they were measured; each names the rows that were not run."""
    parts = [f"{machine()}, code {code_version()}, no chat model. {INTERVALS}."]
    for preset, reports in done:
        header, rows = sweep_rows(reports, preset.metrics, preset.ability)
        left_out = [f"{row.label} ({row.needs})" for row in preset.rows if row.needs]
        about = [f"`--preset {preset.name}`: {_sentence(preset.title)}"]
        about += [f"Of the questions of {preset.ability}."] if preset.ability else []
        about += [_sentence(preset.remark)] if preset.remark else []
        about += [f"Not run, for what they need: {'; '.join(left_out)}."] if left_out else []
        parts += [" ".join(about), tabulate(rows, header, tablefmt="github", disable_numparse=True)]
    return "\n\n".join(parts)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
