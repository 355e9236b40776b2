"""Plot a report; plotly takes half a second to import, so it is imported only to draw."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from eval.metrics.abstention import Curve
from eval.types import Figure as Value

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SOFT, GRID = "#968a76", "rgba(150,138,118,.25)"
"""A grey and its wash that can be read on a light and on a dark page."""

INK, RIBBON, MOSS, VIOLET = "#4d86b5", "#c0552f", "#6a9a5f", "#8a74c4"


def draw_groups(metric: str, figures: Mapping[str, Value]) -> Figure:
    """Draw one metric of every group as bars from 0, with 95 % intervals."""
    from plotly.graph_objects import Bar, Figure

    values = list(figures.values())
    bars = Bar(
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
    return _styled(
        Figure(bars),
        height=90 + 34 * len(values),
        title=escape(metric),
        xaxis={"range": [0, 1.02], "gridcolor": GRID, "zerolinecolor": SOFT},
        yaxis={"autorange": "reversed", "automargin": True, "ticksuffix": "  "},
    )


def draw_abstention(curve: Curve) -> Figure:
    """Draw precision, recall and F1 of abstaining, and false refusals, by threshold on the reader's confidence."""
    from plotly.graph_objects import Figure, Scatter

    lines = (
        ("precision", curve.precision, INK),
        ("recall", curve.recall, MOSS),
        ("F1", curve.f1, RIBBON),
        ("false refusals", curve.false_refusal_rate, VIOLET),
    )
    drawn = [
        Scatter(x=curve.threshold, y=values, name=name, mode="lines", line={"color": colour})
        for name, values, colour in lines
    ]
    return _styled(
        Figure(drawn),
        height=340,
        title="If it abstained below this confidence",
        xaxis={"gridcolor": GRID, "zerolinecolor": SOFT, "title": {"text": "threshold", "font": {"size": 14}}},
        yaxis={"range": [0, 1.02], "gridcolor": GRID, "zerolinecolor": SOFT},
        legend={"orientation": "h", "y": -0.28, "x": 0},
    )


def draw_timing(spread: Mapping[str, Mapping[str, float]]) -> Figure:
    """Draw the milliseconds of each node, median and 95th percentile."""
    from plotly.graph_objects import Bar, Figure

    bars = [
        Bar(
            x=[took[part] for took in spread.values()],
            y=[escape(node) for node in spread],
            orientation="h",
            name=part,
            marker={"color": colour},
            hovertemplate="%{y}: %{x:.1f} ms<extra></extra>",
        )
        for part, colour in (("p50", INK), ("p95", RIBBON))
    ]
    return _styled(
        Figure(bars),
        height=110 + 40 * len(spread),
        title="Milliseconds per question",
        barmode="group",
        xaxis={"gridcolor": GRID, "zerolinecolor": SOFT, "rangemode": "tozero"},
        yaxis={"autorange": "reversed", "automargin": True, "ticksuffix": "  "},
        legend={"orientation": "h", "y": -0.1, "x": 0},
    )


def _styled(figure: Figure, *, title: str, **layout: Any) -> Figure:  # noqa: ANN401  # what plotly takes
    return figure.update_layout(
        title={"text": title, "font": {"size": 15}, "x": 0.012, "xanchor": "left", "xref": "container"},
        margin={"l": 10, "r": 14, "t": 44, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": SOFT, "size": 14, "family": "Source Sans Pro, sans-serif"},
        dragmode=False,
        **layout,
    )
