"""Ablation: run every benchmark with one factor of retrieval off at a time, and compare with the default."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice

from tabulate import tabulate

from eval.metrics.intervals import INTERVALS
from eval.metrics.significance import SIGNIFICANT, TESTED, Difference, holm
from eval.play.execute import with_label
from eval.reporting.compare import compare_runs
from eval.reporting.report import Report, report
from eval.reporting.results import LINES, available
from eval.runs.evaluator import Evaluator, RunRequest
from eval.runs.experiment import with_settings
from eval.types import Watch
from memory.formatting import format_count
from memory.search import scoring

SWITCHES = {
    "words": "search.dense_weight=1",
    "meaning": "search.dense_weight=0",
    "views of the dialogue": "views=False",
    "voice": "search.voice=False",
    **{name: f"search.{name}=0" for name in scoring.FACTORS},
    "time": "time_filter=False",
}
"""The factors, and the setting that switches each off."""

METRICS = {
    **dict.fromkeys(("memoir", "longmemeval", "locomo"), ("session_recall_all@5", "turn_recall@10")),
    "perltqa": ("recall@1", "recall@5"),
    "madial-bench": ("mrr@5", "recall@5"),
}
"""The figures compared, by benchmark; all are means over probes, so that runs can be paired."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """One benchmark: the default report, and the differences that switching each factor off makes."""

    title: str
    metrics: tuple[str, ...]
    default: Report
    without: dict[str, dict[str, Difference]]


def measure(evaluator: Evaluator, jobs: int, watch: Watch, limit: int | None = None) -> list[Ablation]:
    """Run every benchmark whose files are here, without a reader, with all factors and without each of them.

    `limit` asks the first so many probes of each benchmark only. Raises `NoData` if there are no files at all.
    """
    lines = [line for line in LINES if line.benchmark in METRICS and line.edition in ("", "en") and line.shows_all]
    experiment = with_settings(evaluator.experiment, ["reader=none"])
    return [
        _ablate(evaluator, RunRequest(line.benchmark, path, experiment, limit, jobs=jobs), watch)
        for line, path in available(evaluator, lines)
    ]


def _ablate(evaluator: Evaluator, request: RunRequest, watch: Watch) -> Ablation:
    name, metrics = request.benchmark, METRICS[request.benchmark]
    default = evaluator.run(request, watch=with_label(watch, name))
    without = {}
    for factor, setting in SWITCHES.items():
        changed = replace(request, experiment=with_settings(request.experiment, [setting]))
        run = evaluator.run(changed, watch=with_label(watch, f"{name} without {factor}"))
        differences = compare_runs(default, run).differences
        without[factor] = {metric: differences[metric] for metric in metrics}
    return Ablation(name, metrics, report(default), without)


def to_markdown(done: list[Ablation]) -> str:
    """The table: for each factor, how many points each figure changes without it; a rise means that it does harm."""
    about = done[0].default
    changes = [each.without[factor][name] for factor in SWITCHES for each in done for name in each.metrics]
    corrected = holm([change.p for change in changes])
    cells = iter([_points(change, p) for change, p in zip(changes, corrected, strict=True)])
    header = ["", *(f"{each.title} {name}" for each in done for name in each.metrics)]
    default = (f"{100 * each.default.metrics[name].value:.1f}" for each in done for name in each.metrics)
    rows = [["with all", *default], *([f"no {factor}", *islice(cells, len(header) - 1)] for factor in SWITCHES)]
    counts = ", ".join(_count(each) for each in done)
    return (
        f"{about.machine}, {about.date}, code {about.code}; points of 100, differences with their paired interval. "
        f"{counts}. {INTERVALS}. {TESTED}.\n\n" + tabulate(rows, header, tablefmt="github", disable_numparse=True)
    )


def _count(each: Ablation) -> str:
    change = next(iter(each.without.values()))[each.metrics[0]]
    return f"{each.title} n = {change.n} of {format_count(change.histories, 'history', 'histories')}"


def _points(change: Difference, corrected: float) -> str:
    if not change.difference and not change.low and not change.high:
        return "0"
    star = "*" if corrected < SIGNIFICANT else ""
    return f"{100 * change.difference:+.1f}{star} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
