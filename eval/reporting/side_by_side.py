"""Several runs of one benchmark in one table, each compared with the first: quality, seconds, tokens and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eval.metrics.intervals import INTERVALS
from eval.metrics.significance import SIGNIFICANT, TESTED, holm
from eval.reporting.compare import compare_runs
from eval.reporting.render import format_figure, format_fraction, headlines, markdown_table
from eval.reporting.report import Report, report
from eval.runs.run import Run

MOST_FIGURES = 8
"""Most figures of quality."""

MATCHING = (
    "Search is in milliseconds a question, p50 / p95, the encoder among them. A text without the ids of its turns is "
    "matched to the turn that holds its words in a row or is held by it, else to that with the greatest F1 of words, "
    "from a half on"
)


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The reports of runs by their labels, and which figures of which run differ from the first run's by a test."""

    reports: Mapping[str, Report]
    differing: frozenset[tuple[str, str]]


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
    return SideBySide(reports, frozenset(at for at, p in zip(tests, corrected, strict=True) if p < SIGNIFICANT))


def to_markdown(compared: SideBySide) -> str:
    """The table, with a star where a figure differs from the first run's, and what the rows mean."""
    reports, first = compared.reports, next(iter(compared.reports.values()))
    rows = [[name, *(_cell(compared, label, name) for label in reports)] for name, _ in headlines(first, MOST_FIGURES)]
    for title, cells in _costs(reports).items():
        rows += [[title, *cells]] if any(cells) else []
    measured = f"n = {first.n} of {first.histories} histories; {first.machine}, {first.date}, code {first.code}"
    table = markdown_table(rows, ["", *reports])
    about = f"{INTERVALS}. Compared with {next(iter(reports))}: {TESTED}. {MATCHING}."
    return f"{first.title}, {first.portion}, {measured}.\n\n{table}\n\n{about}"


def _cell(compared: SideBySide, label: str, name: str) -> str:
    figure = compared.reports[label].metrics.get(name)
    if figure is None:
        return ""
    return format_figure(figure) + ("*" if (label, name) in compared.differing else "")


def _costs(reports: Mapping[str, Report]) -> dict[str, list[str]]:
    """What each run cost, by title; empty where it is not known."""
    timings = [each.timing for each in reports.values()]
    search = [timing.get("retrieve", {}) for timing in timings]
    return {
        "seconds to remember": [f"{timing['remember_s']:,.1f}" if "remember_s" in timing else "" for timing in timings],
        "search, ms": [f"{each['p50']} / {each['p95']}" if each else "" for each in search],
        "MB on disk": [f"{timing.get('bytes', 0) / 1e6:,.1f}" for timing in timings],
        "tokens in / out": [
            f"{r.tokens.get('in', 0):,} / {r.tokens.get('out', 0):,}" if any(r.tokens.values()) else ""
            for r in reports.values()
        ],
        "texts matched to turns": [
            format_fraction(timing["matched_share"]) if "matched_share" in timing else "" for timing in timings
        ],
    }
