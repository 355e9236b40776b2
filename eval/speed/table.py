"""What was measured, as one table."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version

from tabulate import tabulate

from eval.runs.provenance import machine
from eval.speed.measure import ANY, ENCODED, Figure

PACKAGES = ("numpy", "openvino", "torch", "sentence-transformers", "rank-bm25", "bm25s")
SAID = (
    f"Made-up talk. Vectors: the first {ENCODED:,} turns' own; all others are mixtures of three of those, with their "
    "mean and spectrum. Questions are encoded for real. Theirs is the ten best alone, ours the best of each store, "
    "read from the bank."
)


def about() -> dict[str, str]:
    """Where, when and with what it was measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "machine": machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": f"Python {platform.python_version()}, {packages}",
        "how": SAID,
    }


def to_text(figures: Sequence[Figure]) -> str:
    """A line on where and how, and the table: a row a measure, a column a size."""
    sizes = [*dict.fromkeys(f.size for f in figures if f.size != ANY), ANY]
    rows: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        rows.setdefault(f"{figure.measure} ({figure.unit})", {})[figure.size] = figure
    table = [
        [_measure(name, held), *(_cell(held.get(size)) for size in sizes), _n(held)] for name, held in rows.items()
    ]
    header = ["measure", *sizes, "n"]
    lines = [f"{name}: {said}" for name, said in about().items()]
    return "\n".join([*lines, "", tabulate(table, header, tablefmt="github", disable_numparse=True)])


def _measure(name: str, held: dict[str, Figure]) -> str:
    statistics = next((f.values for f in held.values() if f.values), {})
    return ", ".join(filter(None, [name, " / ".join(filter(None, statistics))]))


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return ""
    return figure.note or " / ".join(_number(value) for value in figure.values.values())


def _number(value: float) -> str:
    """Three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _n(held: dict[str, Figure]) -> str:
    return " / ".join(dict.fromkeys(f"{figure.n:,}" for figure in held.values() if figure.n))
