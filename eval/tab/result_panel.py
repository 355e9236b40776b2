"""What came of a run, as the Evaluate tab shows it: from the figures down to one probe's evidence and trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from eval.reporting.render import (
    GROUP_METRICS,
    PUBLISHED_HEADER,
    abstention_rows,
    format_figure,
    group_rows,
    headlines,
    metric_rows,
    published_rows,
    timing_rows,
)
from eval.reporting.report import AXES, Report
from eval.tab import drill_down as drill
from eval.tab import plots
from eval.tab import views as panels
from eval.tab.drill_down import ALL
from eval.tab.open_runs import Opened
from eval.types import Sample, ShownHit
from memory.tab.events import Update
from memory.tab.formatting import STORE_NAMES, clip, format_count
from memory.tab.templates import hint

LISTED = 500
"""Probes that the drill-down lists at most."""

PROBE_HEADERS = ["Score", "Question", "Right answer", "Answer", "Verdict", "History", "Probe"]
RANKING_HEADERS = ["Place", "Kind", "When", "Memory", "Scores", "Outcome"]

Row = list[str | int | float]


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> dict[str, Any]:
    """The value of a table whose columns depend on the run."""
    return {"headers": list(header), "data": [list(row) for row in rows]}


def plain_table(
    name: str,
    label: str,
    headers: list[str] | None = None,
    *,
    chosen: bool = False,
    **more: Any,  # noqa: ANN401  # whatever gr.Dataframe takes
) -> gr.Dataframe:
    """A table to read; `chosen` says that a click on a row does something."""
    return gr.Dataframe(
        headers=headers,
        label=label,
        type="array",
        interactive=False,
        wrap=True,
        buttons=[],
        elem_id=f"eval-{name}",
        elem_classes="memoir-table" if chosen else "memoir-plain-table",
        **{"max_height": 460, **more},
    )


@dataclass(frozen=True, slots=True)
class Result:
    """The parts that show one run."""

    body: gr.Column
    heading: gr.HTML
    summary: gr.HTML
    csv: gr.Button
    json: gr.Button
    markdown: gr.Button
    tabs: gr.Tabs
    axis: gr.Radio
    metric: gr.Dropdown
    plot: gr.Plot
    groups: gr.Dataframe
    figures: gr.Dataframe
    published_head: gr.HTML
    published: gr.Dataframe
    abstention_head: gr.HTML
    abstained: gr.Dataframe
    curve: gr.Plot
    errors_head: gr.HTML
    causes: gr.Dataframe
    skips: gr.Dataframe
    nodes: gr.Plot
    timing: gr.Dataframe
    notes: gr.HTML
    probe_metric: gr.Dropdown
    probe_group: gr.Dropdown
    where: gr.HTML
    probes: gr.Dataframe
    question: gr.HTML
    evidence: gr.HTML
    ranking: gr.Dataframe
    trace: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """Every part that `show` fills."""
        return [getattr(self, name) for name in self.__slots__]

    def show(self, opened: Opened) -> Update:
        """A run, from its figures to the first list of its probes."""
        held = opened.report
        axes = [axis for axis in AXES if len(held.by.get(axis, {})) > 1 or (axis == "ability" and held.by.get(axis))]
        metrics = _by_weight(held)
        first = next((m for m in GROUP_METRICS if m in held.metrics), next(iter(metrics), None))
        axis = next(iter(axes), None)
        spread = {node: took for node, took in held.timing.items() if isinstance(took, Mapping)}
        return {
            self.body: gr.Column(visible=True),
            self.heading: panels.heading(held),
            self.summary: panels.summary(held),
            self.axis: gr.Radio(axes, value=axis),
            self.metric: gr.Dropdown([(panels.named(m), m) for m in metrics], value=first),
            **self.grouped(held, axis, first),
            self.figures: table(
                ("figure", "value [95 %]", "n"), metric_rows({name: held.metrics[name] for name in metrics})
            ),
            **self._published(held),
            **self._abstention(held),
            **self._errors(held),
            self.nodes: gr.Plot(plots.timing(spread) if spread else None, visible=bool(spread)),
            self.timing: table(("what", "p50", "p95"), timing_rows(held.timing)),
            self.notes: _notes(held),
            **self.listed(opened, first, ALL),
        }

    def grouped(self, held: Report, axis: str | None, metric: str | None) -> Update:
        """One axis: its groups as bars of one metric, and as a table of those that tell them apart."""
        groups = held.by.get(axis or "", {})
        values = {name: figures[metric] for name, figures in groups.items() if metric and metric in figures}
        rows = group_rows(groups)[1]
        header = self.group_header(held, axis, metric)
        rows = [
            [*row, *([format_figure(values[row[0]]) if row[0] in values else ""] * (len(header) - len(row)))]
            for row in rows
        ]
        figure = plots.groups(panels.named(metric or ""), values) if values else None
        return {
            self.plot: gr.Plot(figure, visible=figure is not None),
            self.groups: gr.Dataframe(table(header, rows), visible=bool(rows)),
        }

    def group_header(self, held: Report, axis: str | None, metric: str | None) -> list[str]:
        """The columns of the table of groups: the axis, n, the figures that tell groups apart and the one chosen."""
        header = group_rows(held.by.get(axis or "", {}))[0]
        return [axis or "", *header[1:], *([metric] if metric and metric not in header else [])]

    def _published(self, held: Report) -> Update:
        rows = published_rows(held)
        none = "No figure that others published has the name of one of these."
        head = "What others published, under their own conditions; ours with its 95 % interval." if rows else none
        return {
            self.published_head: hint(head),
            self.published: gr.Dataframe(table(PUBLISHED_HEADER, rows), visible=bool(rows)),
        }

    def _errors(self, held: Report) -> Update:
        causes = [[name, n] for name, n in held.causes.items() if n]
        none = "No answer is wrong whose evidence is known." if held.causes else "There was no reader to go wrong."
        return {
            self.errors_head: hint("" if causes else none),
            self.causes: gr.Dataframe(causes, visible=bool(causes)),
            self.skips: gr.Dataframe([[reason, n] for reason, n in held.skips.items()], visible=bool(held.skips)),
        }

    def _abstention(self, held: Report) -> Update:
        figure = plots.abstention(held.curve) if held.curve is not None else None
        rows = abstention_rows(held)
        return {
            self.abstention_head: hint("" if rows else "There was no reader, so nothing was answered or declined."),
            self.abstained: gr.Dataframe(rows, visible=bool(rows)),
            self.curve: gr.Plot(figure, visible=figure is not None),
        }

    def listed(self, opened: Opened, metric: str | None, group: str) -> Update:
        """The probes behind a figure, the lowest first."""
        answered = opened.answered
        found = drill.lowest_first(opened.samples, opened.benchmark, metric or "", group, answered=answered)
        more = f", the first {LISTED:,} of them listed" if len(found) > LISTED else ""
        probes = format_count(len(found), "probe")
        said = f"{probes}, the lowest {panels.named(metric or '')} first{more}. A click opens one."
        return {
            self.probe_metric: gr.Dropdown([(panels.named(m), m) for m in _by_weight(opened.report)], value=metric),
            self.probe_group: gr.Dropdown(drill.groups(opened.samples, answered=answered), value=group),
            self.where: hint(said),
            self.probes: [_probe_row(sample, value, answered) for sample, value in found[:LISTED]],
            **self.nothing_chosen(),
        }

    def nothing_chosen(self) -> Update:
        """No probe is open."""
        return {self.question: "", self.evidence: "", self.ranking: gr.Dataframe(visible=False), self.trace: ""}

    def probe(self, sample: Sample, words: Mapping[str, str], *, answered: bool) -> Update:
        """One probe, down to its evidence and its trace."""
        rows = [_ranked(place, s) for place, s in enumerate(sample.prediction.shown, 1)]
        return {
            self.question: panels.question(sample, answered=answered),
            self.evidence: panels.section("Evidence", panels.evidence(drill.evidence(sample, words))),
            self.ranking: gr.Dataframe(rows, visible=bool(rows)),
            self.trace: panels.section("Trace", panels.trace(sample)),
        }


def _by_weight(held: Report) -> list[str]:
    """The names of a report's figures, those to look at first before the others."""
    first = [name for name, _ in headlines(held, len(held.metrics))]
    return [*first, *(name for name in held.metrics if name not in first)]


def _notes(held: Report) -> str:
    spent = f"{held.tokens['in']:,} tokens read and {held.tokens['out']:,} written by a language model. "
    agreed = f"Judge and rule agree: {panels.agreement(held.agreement)}. " if held.agreement else ""
    return hint((spent if any(held.tokens.values()) else "") + agreed + f"Measured on {held.machine}.")


def _probe_row(sample: Sample, value: float | None, answered: bool) -> Row:
    probe, prediction = sample.probe, sample.prediction
    return [
        "" if value is None else round(value, 3),
        clip(probe.question, 160),
        clip(next(iter(probe.gold.answers), ""), 90) if probe.gold.answerable else "(cannot be answered)",
        clip(prediction.answer, 120) if not prediction.abstained else "(declined)",
        sample.verdict.state if sample.verdict and answered else "",
        prediction.history_id,
        probe.id,
    ]


def _ranked(place: int, found: ShownHit) -> Row:
    scores = " ".join(f"{name} {value:.2f}" for name, value in found.scores.items())
    teller = f"{found.speaker}: " if found.speaker else ""
    outcome = "read" if found.kept else found.why
    return [place, STORE_NAMES[found.store], found.said_at[:10], clip(teller + found.text, 260), scores, outcome]


def result_panel() -> Result:
    """Lay out what shows a run."""
    with gr.Column(visible=False, elem_id="eval-result") as body:
        heading = gr.HTML(padding=False, elem_id="eval-heading")
        summary = gr.HTML(padding=False, elem_id="eval-summary")
        with gr.Row(elem_classes="memoir-actions memoir-downloads"):
            csv, as_json, markdown = (
                gr.Button(f"Download {name}", size="sm", min_width=160, scale=0, elem_id=f"eval-{name.lower()}")
                for name in ("CSV", "JSON", "Markdown")
            )
        with gr.Tabs(elem_id="eval-tabs") as tabs:
            with gr.Tab("Groups", id="groups"):
                with gr.Row(elem_classes="memoir-filters"):
                    axis = gr.Radio(label="Apart by", min_width=250, elem_id="eval-axis")
                    metric = gr.Dropdown(label="Figure", min_width=220, elem_id="eval-metric")
                plot = gr.Plot(show_label=False, elem_id="eval-plot")
                groups = plain_table("groups", "A click on a cell lists its probes", chosen=True)
            with gr.Tab("Figures", id="figures"):
                figures = plain_table("figures", "A click on a figure lists its probes", chosen=True)
            with gr.Tab("Published", id="published"):
                published_head = gr.HTML(padding=False, elem_classes="memoir-remark")
                published = plain_table(
                    "published", "Published figures beside ours", column_widths=widths(13, 15, 7, 14, 28, 23)
                )
            with gr.Tab("Abstention", id="abstention"):
                abstention_head = gr.HTML(padding=False, elem_classes="memoir-remark")
                abstained = plain_table(
                    "abstained",
                    "A click on a count lists its probes",
                    ["The question", "answered", "declined"],
                    chosen=True,
                )
                curve = gr.Plot(show_label=False, elem_id="eval-curve")
            with gr.Tab("Errors", id="errors"):
                errors_head = gr.HTML(padding=False, elem_classes="memoir-remark")
                causes = plain_table(
                    "causes",
                    "Wrong answers, by where they went wrong; a click lists them",
                    ["Cause", "Answers"],
                    chosen=True,
                )
                skips = plain_table("skips", "What of the files was not used", ["Reason", "How often"])
            with gr.Tab("Time", id="time"):
                nodes = gr.Plot(show_label=False, elem_id="eval-nodes")
                timing = plain_table("timing", "Milliseconds a question, and what storing took")
                notes = gr.HTML(padding=False)
            with gr.Tab("Probes", id="probes"):
                with gr.Row(elem_classes="memoir-filters"):
                    probe_metric = gr.Dropdown(label="Figure", min_width=200, elem_id="eval-probe-metric")
                    probe_group = gr.Dropdown(label="Group", min_width=200, elem_id="eval-probe-group")
                where = gr.HTML(padding=False, elem_id="eval-where")
                probes = plain_table(
                    "probes",
                    "Probes",
                    PROBE_HEADERS,
                    chosen=True,
                    show_label=False,
                    column_widths=widths(8, 36, 22, 24, 10, 0, 0),
                )
                question = gr.HTML(padding=False, elem_id="eval-question")
                evidence = gr.HTML(padding=False, elem_id="eval-evidence")
                ranking = plain_table(
                    "ranking",
                    "What was found, in order",
                    RANKING_HEADERS,
                    visible=False,
                    column_widths=widths(7, 12, 11, 40, 18, 12),
                )
                trace = gr.HTML(padding=False, elem_id="eval-trace")
    return Result(
        body, heading, summary, csv, as_json, markdown, tabs, axis, metric, plot, groups, figures, published_head,
        published, abstention_head, abstained, curve, errors_head, causes, skips, nodes, timing, notes, probe_metric,
        probe_group, where, probes, question, evidence, ranking, trace,
    )  # fmt: skip


def widths(*percents: int) -> list[str | int]:
    """Shares of a table's width, a column each."""
    return [f"{percent}%" for percent in percents]
