"""Run the rows of the papers' tables, on the benchmark files that are here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from eval.benchmarks import BENCHMARKS, UnknownBenchmark
from eval.benchmarks.types import Benchmark, Preset, Row
from eval.metrics.intervals import INTERVALS
from eval.reporting.render import markdown_table, sweep_rows
from eval.reporting.report import Report, report
from eval.reporting.results import LINES
from eval.runs.evaluator import Evaluator, NoData, RunRequest
from eval.runs.experiment import with_settings
from eval.runs.provenance import code_version, machine
from eval.types import Watch


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rows to run: those that need nothing, or, with a `model`, those that need a chat model and no more.

    `limit` asks the first so many probes; `jobs` is the number of processes.
    """

    jobs: int = 1
    model: str = ""
    limit: int | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that every row gets beside its own."""
        return (f"model={self.model}",) if self.model else ()

    def has(self, row: Row) -> bool:
        """Whether to run this row."""
        return bool(row.needs) and row.runs_with(self.model) if self.model else not row.needs


Tables = Sequence[tuple[Preset, Mapping[str, Report]]]
"""Each table with the reports of its rows by their labels."""


def measure(evaluator: Evaluator, plan: Plan, watch: Watch, names: Sequence[str] = ()) -> Tables:
    """Run the rows of a plan of all benchmarks whose files are here, or of those named.

    Raises `NoData` if no files are here, or not those of a benchmark that is named.
    """
    done: list[tuple[Preset, Mapping[str, Report]]] = []
    for benchmark in _with_tables(names):
        try:
            path = _path(evaluator, benchmark)
        except NoData:
            if names:
                raise
            continue
        for preset in benchmark.presets:
            rows = {
                row.label: RunRequest(
                    benchmark.name,
                    path,
                    with_settings(evaluator.experiment, [*row.settings, *plan.settings]),
                    limit=plan.limit,
                    jobs=plan.jobs,
                )
                for row in preset.rows
                if plan.has(row)
            }
            if rows:
                runs = evaluator.run_rows(rows, watch)
                done.append((preset, {label: report(run) for label, run in runs.items()}))
    if not done:
        raise NoData("no benchmark's files are here")
    return done


def to_markdown(done: Tables, plan: Plan) -> str:
    """The tables, after a paragraph on where they were measured; each names the rows that were not run."""
    chat_model = f"the rows that need a chat model, with {plan.model}" if plan.model else "no chat model"
    probes = f"; the first {plan.limit} probes" if plan.limit else ""
    parts = [f"{machine()}, {date.today()}, code {code_version()}, {chat_model}{probes}. {INTERVALS}."]
    for preset, reports in done:
        header, rows = sweep_rows(reports, *preset.columns)
        left_out = [f"{row.label} ({row.needs})" for row in preset.rows if row.needs and row.label not in reports]
        about = [f"`--preset {preset.name}`: {_sentence(preset.title)}"]
        about += [f"Of the questions of {preset.ability}."] if preset.ability else []
        about += [_sentence(preset.remark)] if preset.remark else []
        about += [f"Not run, for what they need: {'; '.join(left_out)}."] if left_out else []
        parts += [" ".join(about), markdown_table(rows, header)]
    return "\n\n".join(parts)


def _with_tables(names: Sequence[str]) -> list[Benchmark]:
    with_tables = {name: benchmark for name, benchmark in BENCHMARKS.items() if benchmark.presets}
    if unknown := [name for name in names if name not in with_tables]:
        raise UnknownBenchmark(f"{', '.join(unknown)}: no benchmark with tables; there are: {', '.join(with_tables)}")
    return [benchmark for name, benchmark in with_tables.items() if not names or name in names]


def _path(evaluator: Evaluator, benchmark: Benchmark) -> Path:
    """Its files; those of the first edition where the table of results has several."""
    line = next((line for line in LINES if line.benchmark == benchmark.name), None)
    return line.path(evaluator) if line else evaluator.data_of(benchmark)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "?")) else ".")
