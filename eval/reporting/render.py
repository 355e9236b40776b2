"""Format reports as Markdown, table rows and CSV; the texts around tables are in templates."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from tabulate import tabulate

from eval.benchmarks import Preset
from eval.reporting.report import Report
from eval.runs.run import code_version, machine
from eval.types import Figure
from graph.understanding.sentences import as_sentence
from memory import read_table
from memory.formatting import csv_text, safe_cell

_SHOWN: Mapping[str, Any] = read_table(__file__, "metrics.toml")
HEADLINES: Sequence[str] = _SHOWN["headlines"]
"""The figures to show first, where a benchmark has them."""
GROUP_METRICS: Sequence[str] = _SHOWN["groups"]
METRICS: Mapping[str, Mapping[str, str]] = _SHOWN["metrics"]
"""The `meaning` of a metric, its `rule` and its `name` on the screen, where it has them, in the order of the screen."""
COSTS: Mapping[str, str] = _SHOWN["costs"]
"""How a report's costs are shown, by title."""
INTERVALS, TESTED, MATCHING = (str(_SHOWN[name]) for name in ("intervals", "tested", "matching"))
"""What tables say of their intervals, of their tests and of the costs of systems."""

PUBLISHED_HEADER = ("metric", "ours", "theirs", "who", "under which conditions", "source")

WIDTH = 120
"""Most columns of text in a report, but for a word or a cell that has more."""

_wrapped = partial(fill, width=WIDTH, break_long_words=False, break_on_hyphens=False)


def headlines(report: Report, most: int = 6) -> list[tuple[str, Figure]]:
    """The first `most` figures of `HEADLINES` that a report has."""
    return [(name, report.metrics[name]) for name in HEADLINES if name in report.metrics][:most]


def format_figure(figure: Figure) -> str:
    """Format a figure with its interval: ".874 [.851, .893]"."""
    return f"{format_fraction(figure.value)} [{format_fraction(figure.low)}, {format_fraction(figure.high)}]"


def format_fraction(value: float) -> str:
    """Format a fraction as papers print it: ".874"."""
    return f"{value:.3f}".removeprefix("0") if value >= 0 else f"-{format_fraction(-value)}"


def to_markdown(report: Report) -> str:
    """Format the whole report."""
    parts = fill_in("report.md", report=report).split("\n\n")
    return "\n\n".join(part if part[:1] in "#|-" else _wrapped(part) for part in parts) + "\n"


def rules(names: Iterable[str]) -> list[str]:
    """How figures of these names are counted, where that needs saying: a list in Markdown, in one text or none."""
    bases = dict.fromkeys(name.partition("@")[0] for name in names)
    lines = [f"- {base}: {METRICS[base]['rule']}." for base in bases if "rule" in METRICS.get(base, {})]
    return ["\n".join(_wrapped(line, subsequent_indent="  ") for line in lines)] if lines else []


def narrow_tables(rows: Iterable[Sequence[object]], header: Sequence[str]) -> str:
    """A table as several of at most `WIDTH` columns of text, each of which begins with the table's first column."""
    rows = list(rows)
    widths = [len(cell) + 1 for cell in markdown_table(rows, header).partition("\n")[0].split("|")[1:-1]]
    parts: list[list[int]] = [[0]]
    for column, width in enumerate(widths[1:], start=1):
        if len(parts[-1]) > 1 and 1 + width + sum(widths[n] for n in parts[-1]) > WIDTH:
            parts.append([0])
        parts[-1].append(column)
    tables = (markdown_table([[row[n] for n in part] for row in rows], [header[n] for n in part]) for part in parts)
    return "\n\n".join(tables)


def markdown_table(rows: Iterable[Iterable[object]], header: Sequence[str]) -> str:
    """A table in Markdown, in which numbers stand as they are written; the header of rows by name is "keys"."""
    return tabulate(rows, header, tablefmt="github", disable_numparse=True)


def align(text: str) -> str:
    """A table in Markdown from lines of cells, which begin and end with a bar, the first of them the header."""
    header, *rows = ([cell.strip() for cell in line.strip()[1:-1].split("|")] for line in text.strip().splitlines())
    return markdown_table(rows, header)


def metric_rows(metrics: Mapping[str, Figure]) -> list[tuple[str, str, int]]:
    """One row for each figure."""
    return [(name, format_figure(figure), figure.n) for name, figure in metrics.items()]


def group_rows(
    groups: Mapping[str, Mapping[str, Figure]], axis: str = "", chosen: str | None = None
) -> tuple[list[str], list[list[str]]]:
    """A header, and one row for each group with its main figures and the chosen one."""
    return _figure_table(axis, groups, dict.fromkeys([*GROUP_METRICS, *([chosen] if chosen else [])]), {})


def _figure_table(
    first: str, figures: Mapping[str, Mapping[str, Figure]], wanted: Iterable[str], counts: Mapping[str, int]
) -> tuple[list[str], list[list[str]]]:
    """A header, and a row for each set of figures: its label, its n, and those wanted that any of the sets has.

    Without a count of its own, a set has the most probes of any of its figures.
    """
    names = [name for name in wanted if any(name in own for own in figures.values())]
    most = {label: max((figure.n for figure in own.values()), default=0) for label, own in figures.items()}
    rows = [
        [label, str(counts.get(label, most[label])), *(format_figure(own[n]) if n in own else "" for n in names)]
        for label, own in figures.items()
    ]
    return [first, "n", *names], rows


def abstention_rows(report: Report) -> list[tuple[str, int, int]]:
    """The 2x2 table of answerable and unanswerable probes, answered and abstained from."""
    table = report.abstention
    if table is None:
        return []
    return [
        ("can be answered", table["answered_answerable"], table["refused_answerable"]),
        ("cannot be answered", table["answered_unanswerable"], table["refused_unanswerable"]),
    ]


def timing_rows(timing: Mapping[str, Any]) -> list[tuple[str, object, object]]:
    """Milliseconds of each node, then the single figures."""
    spread = [(name, v["p50"], v["p95"]) for name, v in timing.items() if isinstance(v, Mapping)]
    return [*spread, *((name, v, "") for name, v in timing.items() if not isinstance(v, Mapping))]


def sweep_rows(reports: Mapping[str, Report], preset: Preset | None = None) -> tuple[list[str], list[list[str]]]:
    """A header, and one row for each run, with the figures of a preset's table, or the headlines for a sweep.

    Where a chat model's replies could not be read, a last column has their numbers.
    """
    wanted, ability, by = (preset.metrics, preset.ability, preset.by) if preset else ((), "", "")
    first = dict.fromkeys(name for report in reports.values() for name, _ in headlines(report))
    by_run = {label: r.by["ability"].get(ability, {}) if ability else r.metrics for label, r in reports.items()}
    counts = {} if ability else {label: report.n for label, report in reports.items()}
    names = list(wanted or first)
    if by:
        groups = list(dict.fromkeys(group for report in reports.values() for group in report.by[by]))
        names = [each for name in names for each in (name, *(f"{name}, {group}" for group in groups))]
        for label, report in reports.items():
            of_groups = ((group, *each) for group, figures in report.by[by].items() for each in figures.items())
            by_run[label] = {**by_run[label], **{f"{name}, {group}": figure for group, name, figure in of_groups}}
    header, rows = _figure_table("run", by_run, names, counts)
    unread = [", ".join(f"{by} {n}" for by, n in report.unreadable.items()) for report in reports.values()]
    if any(unread):
        header, rows = [*header, "unreadable replies"], [[*row, last] for row, last in zip(rows, unread, strict=True)]
    return header, rows


def published_rows(report: Report) -> list[tuple[str, ...]]:
    """Our figures with those that others published."""
    return [
        (p.metric, format_figure(report.metrics[p.metric]), format_fraction(p.value), p.system, p.conditions, p.source)
        for p in report.published
    ]


def to_csv(report: Report) -> str:
    """Format every figure of every group as one row of CSV."""
    groups = [("all", "all", report.metrics)]
    groups += [(axis, group, figures) for axis, by_group in report.by.items() for group, figures in by_group.items()]
    rows = (
        (axis, safe_cell(group), name, f.value, f.low, f.high, f.n)
        for axis, group, figures in groups
        for name, f in figures.items()
    )
    return csv_text(("axis", "group", "metric", "value", "low", "high", "n"), rows)


# --- texts

_texts = Environment(
    loader=FileSystemLoader(Path(__file__).with_name("templates")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    auto_reload=False,
)
_texts.filters |= {
    "align": align,
    "figure": format_figure,
    "narrow": narrow_tables,
    "table": markdown_table,
    "fraction": lambda value: "" if value is None else format_fraction(value),
    "sentence": as_sentence,
    "thousands": "{:,}".format,
}
_texts.globals |= {"INTERVALS": INTERVALS, "TESTED": TESTED, "PUBLISHED_HEADER": PUBLISHED_HEADER}
_texts.globals |= {"machine": machine, "today": date.today, "code_version": code_version, "rules": rules}
_texts.globals |= {
    rows.__name__: rows for rows in (metric_rows, group_rows, abstention_rows, timing_rows, published_rows, sweep_rows)
}


def fill_in(template: str, /, **values: object) -> str:
    """A text in Markdown, from a template; paragraphs that come out empty are left out."""
    text = _texts.get_template(template).render(values)
    return "\n\n".join(part.strip("\n") for part in text.split("\n\n") if part.strip())
