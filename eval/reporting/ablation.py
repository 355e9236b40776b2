"""What each factor of recall is worth: every benchmark with one of them off at a time, against the default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from tabulate import tabulate

from eval.benchmarks import find
from eval.evaluator import Evaluator, NoData, RunRequest
from eval.experiment import with_settings
from eval.metrics.significance import Difference
from eval.play.execute import Progress
from eval.reporting.compare import compare_runs
from eval.reporting.report import Report, report
from eval.reporting.results import LINES, Line
from memory.search import scoring

BEGIN, END = "<!-- ablation: python -m eval ablate -->", "<!-- /ablation -->"

FACTORS = {
    "words (meaning alone)": "search.dense_weight=1",
    "meaning (words alone)": "search.dense_weight=0",
    "coverage": "search.coverage=0",
    "views of the dialogue": "views=False",
    "voice": "search.voice=False",
    **{name: f"search.{name}=0" for name in scoring.FACTORS},
    "time": "time_filter=False",
    "class of the question": "rerank.alpha=0",
}
"""What is switched off, and the setting that does it."""

METRICS = {
    "memoir": ("session_recall_all@5", "turn_recall@10"),
    "longmemeval": ("session_recall_all@5", "turn_recall@10"),
    "locomo": ("session_recall_all@5", "turn_recall@10"),
    "perltqa": ("recall@1", "recall@5"),
    "madial-bench": ("mrr@5", "recall@5"),
}
"""The figures that are compared: those of single probes, which can be paired."""


@dataclass(frozen=True, slots=True)
class Ablation:
    """One benchmark's default report, and for each factor the differences that its absence makes."""

    title: str
    metrics: tuple[str, ...]
    default: Report
    without: dict[str, dict[str, Difference]]


def measure(
    evaluator: Evaluator, jobs: int, watch: Callable[[str, Progress], None], limit: int | None = None
) -> list[Ablation]:
    """Run every benchmark whose files are here, without a reader, with all factors and with each of them off.

    With `limit`, only the first so many probes of each.

    Raises:
        NoData: no files at all.
    """
    done = [_ablation(evaluator, line, jobs, watch, limit) for line in _lines(evaluator)]
    if not done:
        raise NoData("no benchmark's files are here")
    return done


def _lines(evaluator: Evaluator) -> Iterator[Line]:
    for line in LINES:
        if line.benchmark in METRICS and line.edition in ("", "en") and not line.settings and not line.ability:
            try:
                evaluator.data_of(find(line.benchmark))
            except NoData:
                continue
            yield line


def _ablation(
    evaluator: Evaluator, line: Line, jobs: int, watch: Callable[[str, Progress], None], limit: int | None
) -> Ablation:
    path = evaluator.data_of(find(line.benchmark))
    path = path / line.edition if (path / line.edition).is_dir() else path
    order = RunRequest(line.benchmark, path, with_settings(evaluator.experiment, ["reader=none"]), limit, jobs=jobs)
    whole = evaluator.run(order, watch=partial(watch, line.benchmark))
    without = {}
    for factor, setting in FACTORS.items():
        less = replace(order, experiment=with_settings(order.experiment, [setting]))
        run = evaluator.run(less, watch=partial(watch, f"{line.benchmark} without {factor}"))
        differences = compare_runs(whole, run).differences
        without[factor] = {name: differences[name] for name in METRICS[line.benchmark]}
    return Ablation(line.benchmark, METRICS[line.benchmark], report(whole), without)


def to_markdown(done: list[Ablation]) -> str:
    """A row a factor: how many points each figure changes without it; figures that rise say that it is in the way."""
    about = done[0].default
    header = ["", *(f"{held.title} {name}" for held in done for name in held.metrics)]
    rows = [["with all"] + [f"{100 * held.default.metrics[name].value:.1f}" for held in done for name in held.metrics]]
    for factor in FACTORS:
        rows.append([f"no {factor}", *(_points(held.without[factor][name]) for held in done for name in held.metrics)])
    counts = ", ".join(f"{held.title} n = {held.without['voice'][held.metrics[0]].n}" for held in done)
    return (
        f"{about.machine}, {about.date}, code {about.code}; points of 100, differences with their paired 95 % "
        f"bootstrap interval, * where a paired randomisation test gives p < .05. {counts}.\n\n"
        + tabulate(rows, header, tablefmt="github", disable_numparse=True)
    )


def _points(found: Difference) -> str:
    if not found.difference and not found.low and not found.high:
        return "0"
    star = "*" if found.p < 0.05 else ""
    return f"{100 * found.difference:+.1f}{star} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
