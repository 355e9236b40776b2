"""Metrics as the screen has them: their names in words, their order, and the cards of those to look at first."""

from markupsafe import Markup

from eval.reporting.render import METRICS, format_fraction, headlines
from eval.reporting.report import Report
from memory.tab.parts import render

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
