"""Several runs of one benchmark in one table, each compared with the first: quality, seconds, tokens and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.metrics.intervals import INTERVALS
from eval.metrics.significance import SIGNIFICANT, TESTED, holm
from eval.play.systems.registry import WITHOUT_MODEL
from eval.reporting.compare import compare_runs
from eval.reporting.render import format_figure, headlines, markdown_table
from eval.reporting.report import Report, report
from eval.runs.provenance import versions
from eval.runs.run import Run
from graph.models.registry import is_named

MOST_FIGURES = 8
"""Most figures of quality."""

MATCHING = (
    "Search is in milliseconds a question, p50 / p95, the encoder among them. A text without the ids of its turns is "
    "matched to the turn that holds its words in a row or is held by it, else to that with the greatest F1 of words, "
    "from a half on"
)

COSTS: Mapping[str, str] = {
    "seconds to remember": "{remember_s:,.1f}",
    "search, ms": "{retrieve[p50]} / {retrieve[p95]}",
    "MB on disk": "{mb:,.1f}",
    "tokens of the reader, in / out": "{in:,} / {out:,}",
    "calls of a model by the system": "{system_calls:,}",
    "tokens of these, in / out": "{system_tokens_in:,} / {system_tokens_out:,}",
    "texts matched to turns": "{matched_share:.0%}",
}
"""How a report's costs are shown, by title."""


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The reports of runs by their labels, and which figures of which run differ from the first run's by a test.

    `packages` are those that a run needed beside Memoir's own, with their versions.
    """

    reports: Mapping[str, Report]
    differing: frozenset[tuple[str, str]]
    packages: Mapping[str, str]


def side_by_side(runs: Mapping[str, Run]) -> SideBySide:
    """Compare the headline figures of each run with those of the first; Holm corrects for all these tests."""
    reports = {label: report(run) for label, run in runs.items()}
    first, *others = runs
    names = [name for name, _ in headlines(reports[first], MOST_FIGURES)]
    tests = {
        (label, name): difference.p
        for label in others
        for name, difference in compare_runs(runs[first], runs[label]).differences.items()
        if name in names
    }
    corrected = holm(list(tests.values()))
    differing = frozenset(at for at, p in zip(tests, corrected, strict=True) if p < SIGNIFICANT)
    own = versions()
    brought = {
        label: {name: n for name, n in run.spec.versions.items() if name not in own} for label, run in runs.items()
    }
    return SideBySide(
        reports, differing, {label: ", ".join(map(" ".join, each.items())) for label, each in brought.items()}
    )


def to_rows(compared: SideBySide) -> list[list[str]]:
    """A row for each figure and each cost, with a star where a figure differs from the first run's."""
    reports, first = compared.reports, next(iter(compared.reports.values()))
    rows = [[name, *(_cell(compared, label, name) for label in reports)] for name, _ in headlines(first, MOST_FIGURES)]
    about = [("package", *compared.packages.values()), *zip(COSTS, *map(_costs, reports.values()), strict=True)]
    return rows + [list(row) for row in about if any(row[1:])]


def notes(compared: SideBySide) -> str:
    """What the rows mean, and which systems had no chat model."""
    used = {str(each.settings.get("system")): str(each.settings.get("model", "")) for each in compared.reports.values()}
    remarks = (
        f"{s} had no chat model: {WITHOUT_MODEL[s]}." for s in used if s in WITHOUT_MODEL and not is_named(used[s])
    )
    about = f"{INTERVALS}. Compared with {next(iter(compared.reports))}: {TESTED}. {MATCHING}."
    return " ".join([about, *remarks])


def to_markdown(compared: SideBySide) -> str:
    """The table, and what its rows mean."""
    first = next(iter(compared.reports.values()))
    measured = f"n = {first.n} of {first.histories} histories; {first.machine}, {first.date}, code {first.code}"
    table = markdown_table(to_rows(compared), ["", *compared.reports])
    return f"{first.title}, {first.portion}, {measured}.\n\n{table}\n\n{notes(compared)}"


def _cell(compared: SideBySide, label: str, name: str) -> str:
    figure = compared.reports[label].metrics.get(name)
    star = "*" if (label, name) in compared.differing else ""
    return f"{format_figure(figure)}{star}" if figure else ""


def _costs(report: Report) -> list[str]:
    """What a run cost, for each of `COSTS`; empty where it is not known."""
    known = {**report.timing, **{kind: n for kind, n in report.tokens.items() if n}}
    if stored := report.timing.get("bytes"):  # what a system keeps elsewhere is not known
        known["mb"] = stored / 1e6
    cells = []
    for form in COSTS.values():
        try:
            cells.append(form.format_map(known))
        except KeyError:
            cells.append("")
    return cells
