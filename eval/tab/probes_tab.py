"""The Probes tab of a result: the probes behind a metric, and one probe with its evidence and trace."""

from collections.abc import Mapping
from typing import Any

import gradio as gr

from eval.tab import drill_down
from eval.tab.drill_down import ALL, trace_evidence
from eval.tab.open_runs import OpenRun
from eval.tab.result_tabs import metric_choices
from eval.tab.views import metric_name, render_evidence, render_probe, render_trace
from eval.types import Sample, ShownHit
from memory.formatting import STORE_NAMES, clip, format_count
from memory.tab.events import Update
from memory.tab.tables import build_table
from memory.tab.templates import hint

MAX_LISTED = 500
"""Probes that the list shows."""

HEADERS = ("Score", "Question", "Right answer", "Answer", "Verdict", "History", "Probe")
CANDIDATE_HEADERS = ("Rank", "Kind", "When", "Memory", "Scores", "Outcome")

Row = list[str | int | float]


class ProbesTab:
    """The list of probes, and the probe that is open."""

    def __init__(self) -> None:
        with gr.Row(elem_classes="memoir-filters"):
            self.metric = gr.Dropdown(label="Metric", min_width=200, elem_id="eval-probe-metric")
            self.group = gr.Dropdown(label="Group", min_width=200, elem_id="eval-probe-group")
        self.where = gr.HTML(padding=False, elem_id="eval-where")
        self.table = build_table(
            "eval-probes", "Probes", HEADERS, widths=(8, 36, 22, 24, 10, 0, 0), clickable=True, show_label=False
        )
        self.question = gr.HTML(padding=False, elem_id="eval-question")
        self.evidence = gr.HTML(padding=False, elem_id="eval-evidence")
        widths = (7, 12, 11, 40, 18, 12)
        self.candidates = build_table(
            "eval-ranking", "Candidates, best first", CANDIDATE_HEADERS, widths=widths, visible=False
        )
        self.trace = gr.HTML(padding=False, elem_id="eval-trace")
        self.probe_outputs: list[Any] = [self.question, self.evidence, self.candidates, self.trace]
        self.outputs: list[Any] = [self.metric, self.group, self.where, self.table, *self.probe_outputs]

    def show(self, run: OpenRun, metric: str | None, group: str = ALL) -> Update:
        """List the probes of a group, lowest metric first; none is open."""
        has_reader = run.run.has_reader
        probes = drill_down.sort_by_metric(run.scored, metric or "", group, has_reader=has_reader)
        more = f" (only the first {MAX_LISTED:,} are listed)" if len(probes) > MAX_LISTED else ""
        count, name = format_count(len(probes), "probe"), metric_name(metric or "")
        groups = drill_down.group_names(run.samples, has_reader=has_reader)
        return {
            self.metric: gr.Dropdown(metric_choices(run.report), value=metric),
            self.group: gr.Dropdown(groups, value=group),
            self.where: hint(f"{count}, lowest {name} first{more}. Click one to open it."),
            self.table: [_probe_row(sample, value, has_reader) for sample, value in probes[:MAX_LISTED]],
            self.question: "",
            self.evidence: "",
            self.candidates: gr.Dataframe(visible=False),
            self.trace: "",
        }

    def show_probe(self, sample: Sample, texts: Mapping[str, str], *, has_reader: bool) -> Update:
        """Open a probe; `texts` are the texts of its history by id."""
        rows = [_candidate_row(rank, hit) for rank, hit in enumerate(sample.prediction.shown, 1)]
        return {
            self.question: render_probe(sample, has_reader=has_reader),
            self.evidence: render_evidence(trace_evidence(sample, texts)),
            self.candidates: gr.Dataframe(rows, visible=bool(rows)),
            self.trace: render_trace(sample),
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
