"""Format the measured figures as one table."""

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from eval.reporting.render import markdown_table
from eval.runs.provenance import machine
from eval.speed.measure import ANY, ENCODED, SpeedFigure

PACKAGES = ("numpy", "openvino", "torch", "sentence-transformers", "rank-bm25", "bm25s", "tantivy")
METHOD = (
    f"Synthetic conversations. Vectors: the first {ENCODED:,} turns have their own; all others are mixtures of three "
    "of those, with their mean and spectrum. Questions are encoded by the model."
)


def about() -> dict[str, str]:
    """Where, when, with what and how it was measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "machine": machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": f"Python {platform.python_version()}, {packages}",
        "how": METHOD,
    }


def to_text(figures: Sequence[SpeedFigure]) -> str:
    """The table, after lines on where and how it was measured."""
    return "\n".join([*(f"{name}: {text}" for name, text in about().items()), "", _table(figures)])


def to_markdown(figures: Sequence[SpeedFigure]) -> str:
    """The table, after a paragraph on where and how it was measured."""
    return f"{'; '.join(about().values())}\n\n{_table(figures)}"


def _table(figures: Sequence[SpeedFigure]) -> str:
    """One row for each measure, one column for each size."""
    sizes = [*dict.fromkeys(f.size for f in figures if f.size != ANY), ANY]
    rows: dict[str, dict[str, SpeedFigure]] = {}
    for figure in figures:
        rows.setdefault(f"{figure.measure} ({figure.unit})", {})[figure.size] = figure
    table = [
        [
            _measure(name, by_size),
            *(_cell(by_size.get(size)) for size in sizes),
            " / ".join(dict.fromkeys(f"{figure.n:,}" for figure in by_size.values() if figure.n)),
        ]
        for name, by_size in rows.items()
    ]
    return markdown_table(table, ["measure", *sizes, "n"])


def _measure(name: str, by_size: dict[str, SpeedFigure]) -> str:
    statistics = next((f.values for f in by_size.values() if f.values), {})
    return ", ".join(filter(None, [name, " / ".join(filter(None, statistics))]))


def _cell(figure: SpeedFigure | None) -> str:
    if figure is None:
        return ""
    return figure.note or " / ".join(_number(value) for value in figure.values.values())


def _number(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
