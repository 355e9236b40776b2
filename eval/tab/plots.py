"""Plot a report."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from eval.metrics.abstention import Curve
from eval.types import Figure as Value
from memory.tab.figure import new_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SOFT = "#968a76"
"""A grey that can be read on a light and on a dark page."""

INK, RIBBON, MOSS, VIOLET = "#4d86b5", "#c0552f", "#6a9a5f", "#8a74c4"


def draw_groups(metric: str, figures: Mapping[str, Value]) -> Figure:
    """Draw one metric of every group as bars from 0, with 95 % intervals."""
    values = list(figures.values())
    figure = _new_figure(escape(metric), 90 + 34 * len(values))
    figure.add_bar(
        x=[v.value for v in values],
        y=[f"{escape(name)} (n {value.n})" for name, value in figures.items()],
        orientation="h",
        marker={"color": INK},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [v.high - v.value for v in values],
            "arrayminus": [v.value - v.low for v in values],
            "color": RIBBON,
            "thickness": 1.5,
        },
        hovertemplate="%{y}: %{x:.3f}<extra></extra>",
    )
    figure.update_xaxes(range=[0, 1.02], zerolinecolor=SOFT)
    return figure.update_yaxes(autorange="reversed", ticksuffix="  ")


def draw_abstention(curve: Curve) -> Figure:
    """Draw precision, recall and F1 of abstaining, and false refusals, by threshold on the reader's confidence."""
    lines = (
        ("precision", curve.precision, INK),
        ("recall", curve.recall, MOSS),
        ("F1", curve.f1, RIBBON),
        ("false refusals", curve.false_refusal_rate, VIOLET),
    )
    figure = _new_figure("If it abstained below this confidence", 340)
    for name, values, colour in lines:
        figure.add_scatter(x=curve.threshold, y=values, name=name, mode="lines", line={"color": colour})
    figure.update_xaxes(zerolinecolor=SOFT, title={"text": "threshold", "font": {"size": 14}})
    figure.update_yaxes(range=[0, 1.02], zerolinecolor=SOFT)
    return figure.update_layout(legend_y=-0.28)


def draw_timing(spread: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the milliseconds of each node, median and 95th percentile."""
    figure = _new_figure("Milliseconds per question", 110 + 40 * len(spread))
    for part, colour in (("p50", INK), ("p95", RIBBON)):
        figure.add_bar(
            x=[took[part] for took in spread.values()],
            y=[escape(node) for node in spread],
            orientation="h",
            name=part,
            marker={"color": colour},
            hovertemplate="%{y}: %{x:.1f} ms<extra></extra>",
        )
    figure.update_xaxes(zerolinecolor=SOFT, rangemode="tozero")
    figure.update_yaxes(autorange="reversed", ticksuffix="  ")
    return figure.update_layout(barmode="group", legend_y=-0.1)


def _new_figure(title: str, height: int) -> Figure:
    return new_figure(height).update_layout(
        title={"text": title, "font": {"size": 15}, "x": 0.012, "xanchor": "left", "xref": "container"},
        margin={"r": 14, "t": 44},
        font={"color": SOFT, "size": 14, "family": "Source Sans Pro, sans-serif"},
    )
