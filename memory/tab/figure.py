"""The empty figure that all plots begin with, and the colours of those of the memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memory.types import Store

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS: Mapping[Store, str] = {
    "profile": "#4f86b5",
    "relationship": "#b8577a",
    "world": "#5d9455",
    "event": "#c08a2e",
    "dialogue": "#8474b8",
}
"""The stores' colours, of a middle tone that shows on a light and on a dark page."""

QUIET, RULE = "#8a7f6c", "rgba(150,138,118,.25)"


def new_figure(height: int) -> Figure:
    """A figure of this height in pixels, as wide as its place."""
    from plotly.graph_objects import Figure  # takes half a second to import, and only plots need it

    return Figure(
        layout={
            "height": height,
            "margin": {"l": 10, "r": 10, "t": 28, "b": 10},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": QUIET, "size": 13},
            "legend": {"orientation": "h", "y": 1.14, "x": 0},
            "xaxis": {"gridcolor": RULE},
            "yaxis": {"gridcolor": RULE, "automargin": True},
            "dragmode": False,
        }
    )
