"""The result of a run: its metrics, and the way from each of them down to one probe's evidence and trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from eval.metrics.confusion import Curve
from eval.reporting import render as reports
from eval.reporting.report import AXES, Report
from eval.runs.experiment import changed_settings
from eval.tab import screen
from eval.tab.drill_down import ALL, OpenRun, OpenRuns, group_names, sort_by_metric, trace_evidence
from eval.tab.screen import Download, connect_download, metric_name, render_cards, table, table_value
from eval.types import Figure, Sample, ShownHit
from memory.formatting import STORE_NAMES, clip, format_count, to_json_values
from memory.tab.parts import PRIVATE, Update, hint, new_figure, render

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Plot

MAX_LISTED = 500
"""Probes that the list shows."""

MEASURED_BY_OTHERS = "Measured by others, under their own conditions; ours with its 95 % interval."
NOT_PUBLISHED = "There are no published figures for these metrics."
NO_READER = "This run had no reader, so no question was answered or declined."

Row = list[str | int | float]


class ResultPanel:
    """The components of the panel; `name` holds the name of the run that is shown."""

    def __init__(self, runs: OpenRuns) -> None:
        self.runs = runs
        self.name: gr.State = gr.State("")
        with gr.Column(visible=False, elem_id="eval-result") as self.body:
            self.heading = gr.HTML(padding=False, elem_id="eval-heading")
            self.cards = gr.HTML(padding=False, elem_id="eval-summary")
            with gr.Row(elem_classes="memoir-actions memoir-downloads"):
                for kind in ("CSV", "JSON", "Markdown"):
                    name = f"eval-{kind.lower()}"
                    button = gr.Button(f"Download {kind}", size="sm", min_width=160, scale=0, elem_id=name)
                    connect_download(button, lambda run, kind=kind: self.export(run, kind), [self.name])
            with gr.Tabs(elem_id="eval-tabs") as self.tabs:
                self._build_figures()
                with gr.Tab("Probes", id="probes"):
                    self._build_probes()
        self.outputs: list[Any] = [part for part in vars(self).values() if isinstance(part, gr.blocks.Block)]
        """The components that `show` updates."""
        self._connect()

    def _build_figures(self) -> None:
        """Build the tabs of figures, each with its plot."""
        with gr.Tab("Groups", id="groups"):
            with gr.Row(elem_classes="memoir-filters"):
                self.axis = gr.Radio(label="Group by", min_width=250, elem_id="eval-axis")
                self.axis_metric = gr.Dropdown(label="Metric", min_width=220, elem_id="eval-metric")
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

    def _build_probes(self) -> None:
        """Build the list of probes and the probe that is open."""
        with gr.Row(elem_classes="memoir-filters"):
            self.metric = gr.Dropdown(label="Metric", min_width=200, elem_id="eval-probe-metric")
            self.group = gr.Dropdown(label="Group", min_width=200, elem_id="eval-probe-group")
        self.where = gr.HTML(padding=False, elem_id="eval-where")
        self.probes = table("probes")
        self.question = gr.HTML(padding=False, elem_id="eval-question")
        self.evidence = gr.HTML(padding=False, elem_id="eval-evidence")
        self.candidates = table("ranking")
        self.trace = gr.HTML(padding=False, elem_id="eval-trace")

    def _connect(self) -> None:
        name, probe = self.name, [self.question, self.evidence, self.candidates, self.trace]
        listing = [self.tabs, self.metric, self.group, self.where, self.probes, *probe]
        axes = [name, self.axis, self.axis_metric]
        gr.on([self.axis.input, self.axis_metric.input], self.show_axis, axes, [self.plot, self.groups], **PRIVATE)
        lists = [name, self.metric, self.group]
        gr.on([self.metric.input, self.group.input], self.list_probes, lists, listing, **PRIVATE)
        self.metrics.select(self.list_of_metric, name, listing, **PRIVATE)
        self.groups.select(self.list_of_group, axes, listing, **PRIVATE)
        self.abstention.select(self.list_of_abstention, [name, self.axis_metric], listing, **PRIVATE)
        self.causes.select(self.list_of_cause, [name, self.axis_metric], listing, **PRIVATE)
        opened = self.probes.select(self.show_probe, name, probe, **PRIVATE)
        # The probe is below the list.
        opened.then(None, js="() => document.querySelector('#eval-question').scrollIntoView({ block: 'start' })")

    def show(self, name: str) -> Update:
        """Show a run; raises `UnknownRun` if there is none of that name, or it cannot be read."""
        run = self.runs.open(name)
        report, changed = run.report, changed_settings(run.report.settings)
        return {
            self.name: name,
            self.body: gr.Column(visible=True),
            self.heading: render("run_heading.html", report=report, changed=changed, intervals=reports.INTERVALS),
            self.cards: render_cards(report),
            **self._show_figures(report),
            **self._list(run, default_metric(report)),
        }

    def _show_figures(self, report: Report) -> Update:
        """Show the figures of a report, its groups by the first axis that has any."""
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
            self.axis_metric: gr.Dropdown(metric_choices(report), value=metric),
            **self.show_axis(report.run, axis, metric),
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

    def export(self, name: str, kind: str) -> Download:
        """Write the report of a run as CSV, JSON or Markdown."""
        report = self.runs.open(name).report
        if kind == "CSV":
            return {"name": f"{name}.csv", "type": "text/csv", "text": reports.to_csv(report)}
        if kind == "JSON":
            text = json.dumps(to_json_values(report), ensure_ascii=False, indent=1)
            return {"name": f"{name}.json", "type": "application/json", "text": text}
        return {"name": f"{name}.md", "type": "text/markdown", "text": reports.to_markdown(report)}

    def show_axis(self, name: str, axis: str | None, metric: str | None) -> Update:
        """Show the groups of an axis."""
        groups = self.runs.open(name).report.by.get(axis or "", {})
        values = {name: figures[metric] for name, figures in groups.items() if metric and metric in figures}
        header, rows = reports.group_rows(groups, axis or "", metric)
        figure = draw_groups(metric_name(metric or ""), values) if values else None
        return {
            self.plot: _plot(figure),
            self.groups: gr.Dataframe(table_value([metric_name(name) for name in header], rows), visible=bool(rows)),
        }

    def list_probes(self, name: str, metric: str | None, group: str | None) -> Update:
        """Turn to the probes of a group."""
        return {self.tabs: gr.Tabs(selected="probes"), **self._list(self.runs.open(name), metric, group or ALL)}

    def _list(self, run: OpenRun, metric: str | None, group: str = ALL) -> Update:
        """List the probes of a group, lowest metric first; none is open."""
        has_reader = run.run.has_reader
        probes = sort_by_metric(run.scored, metric or "", group, has_reader=has_reader)
        more = f" (only the first {MAX_LISTED:,} are listed)" if len(probes) > MAX_LISTED else ""
        count, name = format_count(len(probes), "probe"), metric_name(metric or "")
        groups = group_names(run.scored, has_reader=has_reader)
        return {
            self.metric: gr.Dropdown(metric_choices(run.report), value=metric),
            self.group: gr.Dropdown(groups, value=group),
            self.where: hint(f"{count}, lowest {name} first{more}. Click one to open it."),
            self.probes: [_probe_row(sample, value, has_reader) for sample, value in probes[:MAX_LISTED]],
            self.question: "",
            self.evidence: "",
            self.candidates: gr.Dataframe(visible=False),
            self.trace: "",
        }

    def list_of_metric(self, name: str, event: gr.SelectData) -> Update:
        """List the probes of the metric that was clicked."""
        return self.list_probes(name, str(event.row_value[-1]), ALL)

    def list_of_group(self, name: str, axis: str, metric: str | None, event: gr.SelectData) -> Update:
        """List the probes of the group that was clicked, by the metric of the column."""
        header, column = reports.group_rows(self.runs.open(name).report.by[axis], axis, metric)[0], event.index[1]
        return self.list_probes(name, header[column] if column > 1 else metric, f"{axis}: {event.row_value[0]}")

    def list_of_abstention(self, name: str, metric: str | None, event: gr.SelectData) -> Update:
        """List the probes of the count that was clicked."""
        column = event.index[1]
        state = "declined" if column == 2 else "answered"
        return self.list_probes(name, metric, f"abstention: {state}, {event.row_value[0]}" if column else ALL)

    def list_of_cause(self, name: str, metric: str | None, event: gr.SelectData) -> Update:
        """List the wrong answers with the cause that was clicked."""
        return self.list_probes(name, metric, f"wrong because: {event.row_value[0]}")

    def show_probe(self, name: str, event: gr.SelectData) -> Update:
        """Open the probe that was clicked."""
        run = self.runs.open(name)
        history, probe = (str(cell) for cell in event.row_value[-2:])
        sample = run.find_sample(history, probe)
        rows = [_candidate_row(rank, hit) for rank, hit in enumerate(sample.prediction.shown, 1)]
        return {
            self.question: render("probe.html", sample=sample, has_reader=run.run.has_reader),
            self.evidence: render("evidence.html", pieces=trace_evidence(sample, self.runs.texts(run, history))),
            self.candidates: gr.Dataframe(rows, visible=bool(rows)),
            self.trace: render("trace.html", prediction=sample.prediction),
        }


def _probe_row(sample: Sample, value: float | None, has_reader: bool) -> Row:
    probe, prediction = sample.probe, sample.prediction
    return [
        "" if value is None else round(value, 3),
        clip(probe.question, 160),
        clip(next(iter(probe.gold.answers), ""), 90) if probe.gold.answerable else "(cannot be answered)",
        clip(prediction.answer, 120) if not prediction.abstained else "(declined)",
        sample.verdict.state if sample.verdict and has_reader else "",
        prediction.history_id,
        probe.id,
    ]


def _candidate_row(rank: int, hit: ShownHit) -> Row:
    scores = " ".join(f"{name} {value:.2f}" for name, value in hit.scores.items())
    speaker = f"{hit.speaker}: " if hit.speaker else ""
    outcome = "read" if hit.kept else hit.why
    return [rank, STORE_NAMES[hit.store], hit.said_at[:10], clip(speaker + hit.text, 260), scores, outcome]


def metric_choices(report: Report) -> list[tuple[str, str]]:
    """The metrics of a report as choices, the headline ones first."""
    known = [name for name, _ in reports.headlines(report, len(report.metrics))]
    first = [name for name in screen.PLAIN_NAMES if name in known]
    return [(metric_name(name), name) for name in dict.fromkeys([*first, *report.metrics])]


def default_metric(report: Report) -> str | None:
    """The metric that is shown first."""
    metrics = [name for _, name in metric_choices(report)]
    return next((name for name in reports.GROUP_METRICS if name in metrics), next(iter(metrics), None))


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
        x=[v.value for v in values], y=labels, error_x=screen.TRACES["interval"] | spread, **screen.TRACES["group"]
    )


def draw_abstention(curve: Curve) -> Plot:
    """Draw precision, recall and F1 of abstaining, and false refusals, by threshold on the reader's confidence."""
    figure = _new_figure("abstention", "If it abstained below this confidence", 340)
    for name in ("precision", "recall", "f1", "false_refusal_rate"):
        figure.add_scatter(x=curve["threshold"], y=curve[name], **screen.TRACES[name])
    return figure


def draw_timing(spread: Mapping[str, Mapping[str, float]]) -> Plot:
    """Draw the milliseconds of each node, median and 95th percentile."""
    figure = _new_figure("timing", "Milliseconds per question", 110 + 40 * len(spread))
    for part in ("p50", "p95"):
        figure.add_bar(x=[took[part] for took in spread.values()], y=list(map(escape, spread)), **screen.TRACES[part])
    return figure


def _new_figure(kind: str, title: str, height: int) -> Plot:
    figure = new_figure(height).update_layout(screen.PLOTS["all"])
    return figure.update_layout(screen.PLOTS[kind]).update_layout(title_text=title)
