"""The result of a run: its metrics, and the way from each of them down to one probe's evidence and trace."""

import json
from typing import Any

import gradio as gr

from eval.metrics.intervals import INTERVALS
from eval.reporting.render import group_rows, to_csv, to_markdown
from eval.runs.experiment import changed_settings
from eval.tab.drill_down import ALL, OpenRun, OpenRuns, group_names, sort_by_metric, trace_evidence
from eval.tab.result_tabs import ResultTabs, default_metric, metric_choices
from eval.tab.screen import Download, connect_download, table
from eval.tab.views import metric_name, render_cards
from eval.types import Sample, ShownHit
from memory.formatting import STORE_NAMES, clip, format_count, to_json_values
from memory.tab.parts import PRIVATE, Update, hint, render

SCROLL_TO_PROBE = "() => document.querySelector('#eval-question').scrollIntoView({ block: 'start' })"
"""Scrolls to the probe that was opened, below the list."""

MAX_LISTED = 500
"""Probes that the list shows."""


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
                self.report = ResultTabs()
                with gr.Tab("Probes", id="probes"):
                    probe = self._build_probes()
        self.listing: list[Any] = [self.tabs, self.metric, self.group, self.where, self.probes, *probe]
        self.outputs: list[Any] = [self.name, self.body, self.heading, self.cards, *self.report.outputs, *self.listing]
        """The components that `show` updates."""
        self._connect(probe)

    def _build_probes(self) -> list[Any]:
        """Build the list of probes and the probe that is open; returns what shows the latter."""
        with gr.Row(elem_classes="memoir-filters"):
            self.metric = gr.Dropdown(label="Metric", min_width=200, elem_id="eval-probe-metric")
            self.group = gr.Dropdown(label="Group", min_width=200, elem_id="eval-probe-group")
        self.where = gr.HTML(padding=False, elem_id="eval-where")
        self.probes = table("probes")
        self.question = gr.HTML(padding=False, elem_id="eval-question")
        self.evidence = gr.HTML(padding=False, elem_id="eval-evidence")
        self.candidates = table("ranking")
        self.trace = gr.HTML(padding=False, elem_id="eval-trace")
        return [self.question, self.evidence, self.candidates, self.trace]

    def _connect(self, probe: list[Any]) -> None:
        report, name, listing = self.report, self.name, self.listing
        axes = [name, report.axis, report.metric]
        gr.on([report.axis.input, report.metric.input], self.show_axis, axes, [report.plot, report.groups], **PRIVATE)
        lists = [name, self.metric, self.group]
        gr.on([self.metric.input, self.group.input], self.list_probes, lists, listing, **PRIVATE)
        report.metrics.select(self.list_of_metric, name, listing, **PRIVATE)
        report.groups.select(self.list_of_group, axes, listing, **PRIVATE)
        report.abstention.select(self.list_of_abstention, [name, report.metric], listing, **PRIVATE)
        report.causes.select(self.list_of_cause, [name, report.metric], listing, **PRIVATE)
        opened = self.probes.select(self.show_probe, name, probe, **PRIVATE)
        opened.then(None, js=SCROLL_TO_PROBE)

    def show(self, name: str) -> Update:
        """Show a run; raises `UnknownRun` if there is none of that name, or it cannot be read."""
        run = self.runs.open(name)
        report = run.report
        return {
            self.name: name,
            self.body: gr.Column(visible=True),
            self.heading: render(
                "run_heading.html",
                report=report,
                settings=", ".join(changed_settings(report.settings)),
                intervals=f"{INTERVALS}.",
            ),
            self.cards: render_cards(report),
            **self.report.show(report),
            **self._list(run, default_metric(report)),
        }

    def hide(self) -> Update:
        """Show no run."""
        return {self.name: "", self.body: gr.Column(visible=False)}

    def export(self, name: str, kind: str) -> Download:
        """Write the report of a run as CSV, JSON or Markdown."""
        report = self.runs.open(name).report
        if kind == "CSV":
            return {"name": f"{name}.csv", "type": "text/csv", "text": to_csv(report)}
        if kind == "JSON":
            text = json.dumps(to_json_values(report), ensure_ascii=False, indent=1)
            return {"name": f"{name}.json", "type": "application/json", "text": text}
        return {"name": f"{name}.md", "type": "text/markdown", "text": to_markdown(report)}

    def show_axis(self, name: str, axis: str | None, metric: str | None) -> Update:
        """Show the groups of an axis."""
        return self.report.show_axis(self.runs.open(name).report, axis, metric)

    def list_probes(self, name: str, metric: str | None, group: str | None) -> Update:
        """Turn to the probes of a group."""
        return {self.tabs: gr.Tabs(selected="probes"), **self._list(self.runs.open(name), metric, group or ALL)}

    def _list(self, run: OpenRun, metric: str | None, group: str = ALL) -> Update:
        """List the probes of a group, lowest metric first; none is open."""
        has_reader = run.run.has_reader
        probes = sort_by_metric(run.scored, metric or "", group, has_reader=has_reader)
        more = f" (only the first {MAX_LISTED:,} are listed)" if len(probes) > MAX_LISTED else ""
        count, name = format_count(len(probes), "probe"), metric_name(metric or "")
        groups = group_names(run.samples, has_reader=has_reader)
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
        header, column = group_rows(self.runs.open(name).report.by[axis], axis, metric)[0], event.index[1]
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
