"""Tables of every benchmark whose files are here: results, the encoders side by side, and the papers' tables."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from statistics import fmean

from eval.benchmarks import BENCHMARKS, UnknownBenchmark, find
from eval.benchmarks.types import Benchmark, Preset, Row, at_cutoffs, expand, read_names
from eval.metrics.intervals import INTERVALS
from eval.play.execute import with_label
from eval.reporting.render import format_figure, format_fraction, markdown_table, rules, sweep_rows
from eval.reporting.report import Report, report
from eval.reporting.tuning.choice import FIGURES
from eval.runs.evaluator import Evaluator, NoData, RunRequest
from eval.runs.experiment import with_settings
from eval.runs.halves import Half
from eval.runs.provenance import code_version, machine
from eval.types import Figure, Watch
from memory.embedding.embedder import installed


@dataclass(frozen=True, slots=True)
class ResultLine:
    """One benchmark of the table: its edition, and the figures that its protocol reports first.

    `settings` are those that differ from a chat's, `settings_label` names them in the table; `ability` limits the
    figures to the probes of one ability.
    """

    benchmark: str
    metrics: tuple[str, ...]
    edition: str = ""
    settings: tuple[str, ...] = ()
    ability: str = ""
    settings_label: str = ""

    @property
    def title(self) -> str:
        """Its name in the table."""
        name = f"{self.benchmark} {self.edition}".strip()
        return ", ".join(filter(None, [name, self.ability, self.settings_label]))

    @property
    def shows_all(self) -> bool:
        """Whether it shows all probes, with a chat's settings."""
        return not self.settings and not self.ability

    def figures(self, report: Report) -> Mapping[str, Figure]:
        """The figures of its probes."""
        return report.by["ability"].get(self.ability, {}) if self.ability else report.metrics

    def path(self, evaluator: Evaluator) -> Path:
        """The folder of its edition; raises `NoData` if the benchmark's files are not here."""
        path = evaluator.data_of(find(self.benchmark))
        return path / self.edition if (path / self.edition).is_dir() else path


def _read_lines() -> Iterator[ResultLine]:
    file = tomllib.loads(Path(__file__).with_name("results.toml").read_text("utf-8"))
    names = read_names(file["names"])
    for line in file["lines"]:
        line["metrics"] = at_cutoffs(expand(line["metrics"], names))
        yield ResultLine(**line | {"settings": tuple(expand(line.get("settings", ""), names))})


LINES = tuple(_read_lines())

HEADER = ("benchmark", "metric", "value [95 %]", "n")

Results = Sequence[tuple[ResultLine, Report]]


def available(evaluator: Evaluator, lines: Iterable[ResultLine]) -> list[tuple[ResultLine, Path]]:
    """Those lines of a table whose files are here, with their folders; raises `NoData` if there are none."""
    here = []
    for line in lines:
        with suppress(NoData):
            here.append((line, line.path(evaluator)))
    if not here:
        raise NoData("no benchmark's files are here")
    return here


def measure_results(evaluator: Evaluator, jobs: int, watch: Watch, half: Half | None = None) -> Results:
    """Run every benchmark whose files are here, or one half of each.

    Raises `NoData` if none are here, not even Memoir's own.
    """
    done: list[tuple[ResultLine, Report]] = []
    reports: dict[tuple[Path, tuple[str, ...]], Report] = {}
    for line, path in available(evaluator, LINES):
        if (path, line.settings) not in reports:
            request = RunRequest(line.benchmark, path, half=half, jobs=jobs)
            reports[path, line.settings] = _report(evaluator, request, line.settings, with_label(watch, line.title))
        done.append((line, reports[path, line.settings]))
    return done


def _report(evaluator: Evaluator, request: RunRequest, settings: Iterable[str], watch: Watch) -> Report:
    experiment = with_settings(evaluator.experiment, list(settings))
    return report(evaluator.run(replace(request, experiment=experiment), watch=watch))


def results_to_markdown(done: Results) -> str:
    """The table, after a paragraph on where and when it was measured."""
    about = done[0][1]
    rows = [row for line, measured in done for row in figure_rows(line, line.metrics, [measured])]
    portions = "; ".join(
        f"{line.title}: {each.n} probes of {each.histories} histories ({each.portion})"
        for line, each in done
        if line.shows_all
    )
    return (
        f"{about.machine}, {about.date}, code {about.code}; settings as a chat has them, no language model. {portions}."
        f" {INTERVALS}."
        "\n\n" + "\n\n".join([markdown_table(rows, HEADER), *rules(row[1] for row in rows)])
    )


def figure_rows(line: ResultLine, metrics: Iterable[str], reports: Iterable[Report]) -> list[list[str]]:
    """A row for each metric that was measured: the line's title in the first, each report's figure, and its n."""
    figures = [line.figures(each) for each in reports]
    names = [name for name in metrics if name in figures[0]]
    titles = [line.title, *[""] * len(names)]
    return [
        [title, name, *(format_figure(each[name]) for each in figures), str(figures[0][name].n)]
        for title, name in zip(titles, names, strict=False)
    ]


Compared = Sequence[tuple[ResultLine, Mapping[str, Report]]]
"""The reports of each line, by encoder."""


def measure_encoders(evaluator: Evaluator, jobs: int, watch: Watch) -> Compared:
    """Run every benchmark once with each encoder that is installed, with a chat's other settings.

    Raises `NoData` if no files are here, not even Memoir's own.
    """
    compared = []
    for line, path in available(evaluator, (line for line in LINES if line.shows_all)):
        request, reports = RunRequest(line.benchmark, path, jobs=jobs), {}
        for model in installed():
            settings = ["reader=none", f"embedding_model={model}"]
            reports[model] = _report(evaluator, request, settings, with_label(watch, f"{line.title}, {model}"))
        compared.append((line, reports))
    return compared


def encoders_to_markdown(compared: Compared) -> str:
    """The table, after a paragraph on where and when it was measured."""
    models = list(compared[0][1])
    about = compared[0][1][models[0]]
    header = ["benchmark", "metric", *models, "n"]
    rows = [
        row
        for line, reports in compared
        for row in figure_rows(line, dict.fromkeys((*line.metrics, *FIGURES.get(line.benchmark, ()))), reports.values())
    ]
    values = [_values(compared, model) for model in models]
    figures = "the mean over these lines of the figures by which constants are chosen (see `eval tune`)"
    rows.append(["mean", figures, *(format_fraction(fmean(each)) for each in values), str(len(values[0]))])
    return (
        f"{about.machine}, {about.date}, code {about.code}; a chat's settings, no reader. Both halves of each portion; "
        f"the constants were chosen on them with {models[0]}. {INTERVALS}."
        "\n\n" + markdown_table(rows, header)
    )


def _values(compared: Compared, model: str) -> list[float]:
    """An encoder's value on each line that has one: the mean of the figures by which constants are chosen."""
    return [
        fmean(line.figures(reports[model])[name].value for name in FIGURES[line.benchmark])
        for line, reports in compared
        if line.benchmark in FIGURES
    ]


# --- the papers' tables


@dataclass(frozen=True, slots=True)
class PaperPlan:
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


def measure_papers(evaluator: Evaluator, plan: PaperPlan, watch: Watch, names: Sequence[str] = ()) -> Tables:
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


def papers_to_markdown(done: Tables, plan: PaperPlan) -> str:
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
        parts += [" ".join(about), markdown_table(rows, header), *rules(preset.metrics)]
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
