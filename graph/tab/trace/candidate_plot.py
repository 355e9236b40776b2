"""Plot the candidates of an answer on a time line."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING

from graph.assistant import Answer
from graph.understanding.times import moment_of
from memory.formatting import STORE_NAMES, clip
from memory.tab.figure import new_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

READ, DROPPED, ASKED = "#c0552f", "#968a76", "#6f9cc6"


def plot_candidates(answer: Answer) -> Figure | None:
    """Plot when the candidates happened, with the times asked about; None if no candidate has a date."""
    figure = new_figure(260)
    for kept, name, colour in ((True, "read", READ), (False, "left out", DROPPED)):
        dated = [(hit, when) for hit in answer.hits if hit.kept == kept and (when := moment_of(hit.memory))]
        if dated:
            figure.add_scatter(
                x=[when for _, when in dated],
                y=[STORE_NAMES[hit.memory.store] for hit, _ in dated],
                text=[escape(clip(hit.memory.text, 70)) for hit, _ in dated],
                hovertemplate="%{x|%-d %b %Y}<br>%{text}<extra></extra>",
                mode="markers",
                name=name,
                marker={"size": 11, "color": colour, "opacity": 0.85},
            )
    if not figure.data:
        return None
    _mark_times(figure, answer)
    figure.update_layout(margin_t=44, font_color=DROPPED, legend_y=1.18, xaxis_range=_range(answer))
    return figure


def _mark_times(figure: Figure, answer: Answer) -> None:
    """Shade the times that were asked about, and mark the moment of asking."""
    first, last = _range(answer)
    for window in answer.window:
        start, end = max(window.span.start, first), min(window.span.end, last)
        if start < end:
            figure.add_vrect(x0=start, x1=end, fillcolor=ASKED, opacity=0.25, line_width=0)
    # Not add_vline with a text, which cannot average dates.
    figure.add_vline(x=answer.ask.as_of, line_dash="dot", line_color=DROPPED)
    figure.add_annotation(x=answer.ask.as_of, y=1, yref="paper", text="asked", showarrow=False, yshift=9)


def _range(answer: Answer) -> tuple[datetime, datetime]:
    """From a little before the first candidate to a little after the moment of asking."""
    moments = [answer.ask.as_of, *(when for hit in answer.hits if (when := moment_of(hit.memory)))]
    margin = max((max(moments) - min(moments)) / 30, timedelta(days=1))
    return min(moments) - margin, max(moments) + margin
