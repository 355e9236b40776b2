"""Render the progress and the metrics of runs as HTML, from the templates in assets/web/templates."""

from markupsafe import Markup

from eval.reporting.render import METRICS, format_fraction, headlines
from eval.reporting.report import Report
from eval.tab.runner import RunStatus
from memory.formatting import clip, format_count, format_duration
from memory.tab.parts import progress_bar, render

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


def render_status(status: RunStatus) -> Markup:
    """Render the progress of a plan, or how it ended."""
    if status.plan is None or not status.is_active:
        return render("run_status.html", status=status)
    steps = []
    if len(status.plan.requests) > 1:
        label = status.plan.requests[status.position][0]
        others = f" to {status.position + status.together}" if status.together > 1 else ""
        steps.append(
            f"run {status.position + 1}{others} of {len(status.plan.requests)} ({label}{'…' if others else ''})"
        )
    steps.append(_describe_step(status))
    if status.stage == "stopping":
        steps.append("stopping after this probe…")
    elif status.seconds_left is not None:
        steps.append(f"{format_duration(status.seconds_left)} left")
    return progress_bar(status.plan.title, steps, status.share, "Probes answered")


def _describe_step(status: RunStatus) -> str:
    if not status.total:
        return "reading the files…"
    done = f"{status.done:,} of {format_count(status.total, 'probe')}"
    if status.done == status.resumed:
        return f"{done} already answered" if status.resumed else f"{done} · storing the first history…"
    return f"{done} · history {clip(status.history, 40)}"


def render_cards(report: Report) -> Markup:
    """Render the metrics to look at first."""
    cards = sorted(headlines(report, len(report.metrics)), key=lambda card: screen_order(card[0]))
    shown = [(name, metric_name(name), figure, METRICS[name]["meaning"]) for name, figure in cards[:CARDS]]
    return render("metric_cards.html", cards=shown, fraction=format_fraction)
