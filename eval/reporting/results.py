"""Tables of every benchmark whose files are here: results, the encoders side by side, and the papers' tables."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from eval.benchmarks import BENCHMARKS, Benchmark, Preset, expand, find, read_names
from eval.reporting.render import fill_in
from eval.reporting.report import Report, report
from eval.runs.evaluator import Evaluator, NoData, with_label
from eval.runs.experiment import RunRequest, with_settings
from eval.types import Figure, Watch
from memory import read_table
from memory.errors import MemoirError


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


_FILE = read_table(__file__, "results.toml")
FIGURES: Mapping[str, Sequence[str]] = _FILE["figures"]
"""The figures of each benchmark by which constants are chosen; a probe's value is their mean."""


_WORDS = read_names(_FILE["names"])
LINES = tuple(
    ResultLine(
        metrics=tuple(expand(line.pop("metrics"), _WORDS)),
        settings=tuple(expand(line.pop("settings", ""), _WORDS)),
        **line,
    )
    for line in _FILE["lines"]
)

Measured = Sequence[tuple[ResultLine, Mapping[str, Report]]]
"""The reports of each line; by encoder where several are compared."""


def available(evaluator: Evaluator, lines: Iterable[ResultLine]) -> list[tuple[ResultLine, Path]]:
    """Those lines of a table whose files are here, with their folders; raises `NoData` if there are none."""
    here = []
    for line in lines:
        with suppress(NoData):
            here.append((line, line.path(evaluator)))
    if not here:
        raise NoData("no benchmark's files are here")
    return here


def measure_results(evaluator: Evaluator, watch: Watch, how: RunRequest, encoders: Sequence[str] = ()) -> Measured:
    """Run every line whose files are here as the request says; lines of equal data and settings share a run.

    With `encoders`, those with a chat's other settings are run once with each of them, without a reader. Raises
    `NoData` if no files are here, not even Memoir's own.
    """
    chosen = {model: ("reader=none", f"embedding_model={model}") for model in encoders}
    variants: Mapping[str, tuple[str, ...]] = chosen or {"": ()}
    lines = (line for line in LINES if line.shows_all or not encoders)
    done = []
    reports: dict[tuple[Path, tuple[str, ...]], Report] = {}
    for line, path in available(evaluator, lines):
        keys = {label: (path, line.settings + settings) for label, settings in variants.items()}
        for label, key in keys.items():
            if key not in reports:
                experiment = with_settings(evaluator.experiment, list(key[1]))
                request = replace(how, benchmark=line.benchmark, data=path, experiment=experiment)
                shown = ", ".join(filter(None, [line.title, label]))
                reports[key] = report(evaluator.run(request, watch=with_label(watch, shown)))
        done.append((line, {label: reports[key] for label, key in keys.items()}))
    return done


def results_to_markdown(done: Measured) -> str:
    """The table, after a paragraph on where and when it was measured."""
    measured = [(line, line.figures(next(iter(reports.values())))) for line, reports in done]
    names = [name for line, figures in measured for name in line.metrics if name in figures]
    return fill_in("results.md", done=done, measured=measured, names=names)


def encoders_to_markdown(compared: Measured) -> str:
    """The table, after a paragraph on where and when it was measured."""
    by_encoder = {line: [line.figures(each) for each in reports.values()] for line, reports in compared}
    # The value of an encoder on a line: the mean of the figures by which constants are chosen.
    means = [
        [fmean(figures[name].value for name in FIGURES[line.benchmark]) for figures in of_line]
        for line, of_line in by_encoder.items()
        if line.benchmark in FIGURES
    ]
    return fill_in("encoders.md", done=compared, by_encoder=by_encoder, chosen_by=FIGURES, means=means)


# --- the papers' tables


Tables = Sequence[tuple[Preset, Mapping[str, Report]]]
"""Each table with the reports of its rows by their labels."""


def measure_papers(evaluator: Evaluator, watch: Watch, names: Sequence[str], model: str, how: RunRequest) -> Tables:
    """Run the rows of the papers' tables that need nothing; with a `model`, those that need a chat model and no more.

    They are of all benchmarks whose files are here, or of those named, and run as the request says; its data are the
    files of the one that is named, if they are elsewhere. Raises `NoData` if no files are here, or not those of a
    benchmark that is named.
    """
    if how.data and len(names) != 1:
        raise NoData("--data has the files of one benchmark: name it, as in `papers locomo --data FILE`")
    base = with_settings(evaluator.experiment, [f"model={model}"]) if model else evaluator.experiment
    done: list[tuple[Preset, Mapping[str, Report]]] = []
    for benchmark in _with_tables(names):
        try:
            # The files of the first edition where the table of results has several.
            line = next((line for line in LINES if line.benchmark == benchmark.name), ResultLine(benchmark.name, ()))
            path = how.data or line.path(evaluator)
        except NoData:
            if names:
                raise
            continue
        for preset in benchmark.presets:
            needing = {row.label for row in preset.rows if row.needs}
            rows = {
                label: replace(how, benchmark=benchmark.name, data=path, experiment=experiment)
                for label, experiment in preset.experiments(base)[0].items()
                if (label in needing) == bool(model)
            }
            if rows:
                runs = evaluator.run_rows(rows, watch)
                done.append((preset, {label: report(run) for label, run in runs.items()}))
    if not done:
        raise NoData("no benchmark's files are here")
    return done


def _with_tables(names: Sequence[str]) -> list[Benchmark]:
    with_tables = {name: benchmark for name, benchmark in BENCHMARKS.items() if benchmark.presets}
    if unknown := [name for name in names if name not in with_tables]:
        raise MemoirError(f"{', '.join(unknown)}: no benchmark with tables; there are: {', '.join(with_tables)}")
    return [benchmark for name, benchmark in with_tables.items() if not names or name in names]
