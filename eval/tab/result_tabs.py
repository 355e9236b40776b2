"""The tabs of a result: groups, metrics, published figures, abstention, errors and time; their plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from eval.metrics.confusion import Curve
from eval.reporting import render as reports
from eval.reporting.report import AXES, Report
from eval.tab.screen import PLOTS, TRACES, table
from eval.tab.views import PLAIN_NAMES, metric_name
from eval.types import Figure
from memory.tab.parts import Update, hint, new_figure, render

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Plot

MEASURED_BY_OTHERS = "Measured by others, under their own conditions; ours with its 95 % interval."
NOT_PUBLISHED = "There are no published figures for these metrics."
NO_READER = "This run had no reader, so no question was answered or declined."


def table_value(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """The value of a table whose columns depend on the run."""
    return {"headers": list(header), "data": [list(row) for row in rows]}


def metric_choices(report: Report) -> list[tuple[str, str]]:
    """The metrics of a report as choices, the headline ones first."""
    known = [name for name, _ in reports.headlines(report, len(report.metrics))]
    first = [name for name in PLAIN_NAMES if name in known]
    return [(metric_name(name), name) for name in dict.fromkeys([*first, *report.metrics])]


def default_metric(report: Report) -> str | None:
    """The metric that is shown first."""
    metrics = [name for _, name in metric_choices(report)]
    return next((name for name in reports.GROUP_METRICS if name in metrics), next(iter(metrics), None))


class ResultTabs:
    """The components of the tabs."""

    def __init__(self) -> None:
        with gr.Tab("Groups", id="groups"):
            with gr.Row(elem_classes="memoir-filters"):
                self.axis = gr.Radio(label="Group by", min_width=250, elem_id="eval-axis")
                self.metric = gr.Dropdown(label="Metric", min_width=220, elem_id="eval-metric")
            self.plot = gr.Plot(show_label=False, elem_id="eval-plot")
            self.groups = table("groups")
        with gr.Tab("Metrics", id="metrics"):
            self.metrics = table("figures")
        with gr.Tab("Published", id="published"):
            self.published_remark = gr.HTML(padding=False, elem_classes="memoir-remark")
            self.published = table("published")
        with gr.Tab("Abstention", id="abstention"):
            self.abstention_remark = gr.HTML(padding=False, elem_classes="memoir-remark")
            self.abstention = table("abstained")
            self.curve = gr.Plot(show_label=False, elem_id="eval-curve")
        with gr.Tab("Errors", id="errors"):
            self.errors_remark = gr.HTML(padding=False, elem_classes="memoir-remark")
            self.causes = table("causes")
            self.skips = table("skips")
        with gr.Tab("Time", id="time"):
            self.nodes = gr.Plot(show_label=False, elem_id="eval-nodes")
            self.timing = table("timing")
            self.costs = gr.HTML(padding=False)
        self.outputs: list[Any] = list(vars(self).values())

    def show(self, report: Report) -> Update:
        """Show a report, its groups by the first axis that has any."""
        axes = [
            axis for axis in AXES if len(report.by.get(axis, {})) > 1 or (axis == "ability" and report.by.get(axis))
        ]
        axis, metric = next(iter(axes), None), default_metric(report)
        metrics = {name: report.metrics[name] for _, name in metric_choices(report)}
        rows = [(metric_name(metric), value, n, metric) for metric, value, n in reports.metric_rows(metrics)]
        published = reports.published_rows(report)
        nodes = {node: took for node, took in report.timing.items() if isinstance(took, Mapping)}
        return {
            self.axis: gr.Radio(axes, value=axis),
            self.metric: gr.Dropdown(metric_choices(report), value=metric),
            **self.show_axis(report, axis, metric),
            self.metrics: table_value(("what", "value [95 %]", "questions", "metric"), rows),
            self.published_remark: hint(MEASURED_BY_OTHERS if published else NOT_PUBLISHED),
            self.published: gr.Dataframe(table_value(reports.PUBLISHED_HEADER, published), visible=bool(published)),
            self.abstention_remark: hint("" if report.abstention else NO_READER),
            self.abstention: _table(reports.abstention_rows(report)),
            self.curve: _plot(draw_abstention(report.curve) if report.curve is not None else None),
            self.errors_remark: render("result_errors.html", report=report),
            self.causes: _table([(name, n) for name, n in report.causes.items() if n]),
            self.skips: _table(list(report.skips.items())),
            self.nodes: _plot(draw_timing(nodes) if nodes else None),
            self.timing: table_value(("step", "p50", "p95"), reports.timing_rows(report.timing)),
            self.costs: render("result_costs.html", report=report, fraction=reports.format_fraction),
        }

    def show_axis(self, report: Report, axis: str | None, metric: str | None) -> Update:
        """Show the groups of an axis by a metric."""
        groups = report.by.get(axis or "", {})
        values = {name: figures[metric] for name, figures in groups.items() if metric and metric in figures}
        header, rows = reports.group_rows(groups, axis or "", metric)
        figure = draw_groups(metric_name(metric or ""), values) if values else None
        return {
            self.plot: _plot(figure),
            self.groups: gr.Dataframe(table_value([metric_name(name) for name in header], rows), visible=bool(rows)),
        }


def _table(rows: Sequence[Sequence[object]]) -> gr.Dataframe:
    return gr.Dataframe([list(row) for row in rows], visible=bool(rows))


def _plot(figure: Plot | None) -> gr.Plot:
    return gr.Plot(figure, visible=figure is not None)


# --- plots


def draw_groups(metric: str, figures: Mapping[str, Figure]) -> Plot:
    """Draw one metric of every group as bars from 0, with 95 % intervals."""
    values = list(figures.values())
    spread = {"array": [v.high - v.value for v in values], "arrayminus": [v.value - v.low for v in values]}
    labels = [f"{escape(name)} (n {value.n})" for name, value in figures.items()]
    return _new_figure("groups", escape(metric), 90 + 34 * len(values)).add_bar(
        x=[v.value for v in values], y=labels, error_x=TRACES["interval"] | spread, **TRACES["group"]
    )


def draw_abstention(curve: Curve) -> Plot:
    """Draw precision, recall and F1 of abstaining, and false refusals, by threshold on the reader's confidence."""
    figure = _new_figure("abstention", "If it abstained below this confidence", 340)
    for name in ("precision", "recall", "f1", "false_refusal_rate"):
        figure.add_scatter(x=curve.threshold, y=getattr(curve, name), **TRACES[name])
    return figure


def draw_timing(spread: Mapping[str, Mapping[str, float]]) -> Plot:
    """Draw the milliseconds of each node, median and 95th percentile."""
    figure = _new_figure("timing", "Milliseconds per question", 110 + 40 * len(spread))
    for part in ("p50", "p95"):
        figure.add_bar(x=[took[part] for took in spread.values()], y=list(map(escape, spread)), **TRACES[part])
    return figure


def _new_figure(kind: str, title: str, height: int) -> Plot:
    return new_figure(height).update_layout(PLOTS["all"]).update_layout(PLOTS[kind]).update_layout(title_text=title)
