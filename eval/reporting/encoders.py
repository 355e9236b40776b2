"""The packaged encoders side by side: what each finds on every benchmark whose files are here, with no reader."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from eval.metrics.intervals import INTERVALS
from eval.play.execute import with_label
from eval.reporting.render import format_fraction, markdown_table
from eval.reporting.report import Report, report
from eval.reporting.results import LINES, ResultLine, available, figure_rows
from eval.reporting.tuning.grid import FIGURES
from eval.runs.evaluator import Evaluator, RunRequest
from eval.runs.experiment import with_settings
from eval.types import Watch
from memory.embedding.embedder import installed

Compared = Sequence[tuple[ResultLine, Mapping[str, Report]]]
"""The reports of each line, by encoder."""


def measure(evaluator: Evaluator, jobs: int, watch: Watch) -> Compared:
    """Run every benchmark once with each encoder that is installed, with a chat's other settings.

    Raises `NoData` if no files are here, not even Memoir's own.
    """
    compared = []
    for line, path in available(evaluator, (line for line in LINES if line.shows_all)):
        reports = {}
        for model in installed():
            experiment = with_settings(evaluator.experiment, ["reader=none", f"embedding_model={model}"])
            request = RunRequest(line.benchmark, path, experiment, jobs=jobs)
            reports[model] = report(evaluator.run(request, watch=with_label(watch, f"{line.title}, {model}")))
        compared.append((line, reports))
    return compared


def to_markdown(compared: Compared) -> str:
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
