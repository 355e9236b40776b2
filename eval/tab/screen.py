"""Parts of the tab that look as screen.toml says, metrics as the screen has them, and buttons that save a text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr
from markupsafe import Markup

from eval.reporting.render import METRICS, format_fraction, headlines
from eval.reporting.report import Report
from memory import read_table
from memory.tab.parts import PRIVATE, build_table, render

_SCREEN: Mapping[str, Any] = read_table(__file__)
CONTROLS: Mapping[str, Mapping[str, Any]] = _SCREEN["controls"]
"""The settings with a field of their own, by name, and how it looks."""
PLOTS: Mapping[str, Mapping[str, Any]] = _SCREEN["plots"]
TRACES: Mapping[str, dict[str, Any]] = _SCREEN["traces"]
"""The layouts of plots, and how their bars and lines look."""

Download = dict[str, str]
"""A file for the browser: its `name`, its `type` (MIME) and its `text`."""


def look(name: str) -> dict[str, Any]:
    """The id of a component and how it looks, by the end of the id."""
    return {"elem_id": f"eval-{name}", **_SCREEN["components"][name]}


def table(name: str) -> gr.Dataframe:
    """Build a table, by the end of its id."""
    return build_table(f"eval-{name}", _SCREEN["tables"][name])


def table_value(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """The value of a table whose columns depend on the run."""
    return {"headers": list(header), "data": [list(row) for row in rows]}


def connect_download(
    button: gr.Button, make: Callable[..., Download], inputs: Sequence[gr.components.Component]
) -> None:
    """Let a button make a file from the values of some components and save it in the browser, not on the server."""
    file = gr.JSON(visible=False)
    # The function is in assets/web/screen.js.
    button.click(make, inputs, file, **PRIVATE).then(None, file, None, js="(file) => window.saveFile(file)")


# --- metrics in words

CARDS = 8
"""Metrics shown as cards above a report."""

PLAIN_NAMES = {metric: about["name"] for metric, about in METRICS.items() if "name" in about}
"""What the screen calls a metric, those about answers first; its name in papers is beside it or in its tooltip."""


def metric_name(metric: str) -> str:
    """Write a metric's name in words."""
    return PLAIN_NAMES.get(metric, metric.replace("_", " "))


def screen_order(metric: str) -> int:
    """The place of a metric among those with a plain name; all others come after them."""
    return list(PLAIN_NAMES).index(metric) if metric in PLAIN_NAMES else len(PLAIN_NAMES)


def render_cards(report: Report) -> Markup:
    """Render the metrics to look at first."""
    cards = sorted(headlines(report, len(report.metrics)), key=lambda card: screen_order(card[0]))
    shown = [(name, metric_name(name), figure, METRICS[name]["meaning"]) for name, figure in cards[:CARDS]]
    return render("metric_cards.html", cards=shown, fraction=format_fraction)
