"""The earlier runs, as the Evaluate tab lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from eval.benchmarks import BENCHMARKS
from eval.reporting.render import COMPARISON_HEADER
from eval.runs.run import Run
from eval.tab import views as panels
from eval.tab.open_runs import answers
from eval.tab.result_panel import Row, plain_table, widths
from memory.tab.formatting import format_time

RUN_HEADERS = ["Started", "Benchmark", "Portion", "Answers", "State", "Settings that differ", "Run"]


@dataclass(frozen=True, slots=True)
class RunList:
    """The parts that show the earlier runs."""

    listed: gr.Dataframe
    chosen: gr.HTML
    actions: gr.Row
    open: gr.Button
    delete: gr.Button
    confirm: gr.Group
    warning: gr.HTML
    keep: gr.Button
    sure: gr.Button
    other: gr.Dropdown
    compare: gr.Button
    outcome: gr.HTML
    differences: gr.Dataframe
    markdown: gr.Button

    @property
    def outputs(self) -> list[Any]:
        """Every part."""
        return [getattr(self, name) for name in self.__slots__]


def run_list() -> RunList:
    """Lay out the earlier runs."""
    with gr.Accordion("Earlier runs: open, compare, delete", open=False, elem_id="eval-runs"):
        listed = plain_table(
            "list",
            "Runs",
            RUN_HEADERS,
            chosen=True,
            show_label=False,
            max_height=320,
            column_widths=widths(17, 17, 12, 8, 11, 20, 15),
        )
        chosen = gr.HTML(padding=False, elem_id="eval-chosen")
        with gr.Row(visible=False, elem_classes="memoir-filters memoir-chosen") as actions:
            open_ = gr.Button("Open", variant="primary", min_width=100, scale=1, elem_id="eval-open")
            other = gr.Dropdown(label="Compare it with", min_width=250, scale=4, elem_id="eval-other")
            compare = gr.Button("Compare", min_width=110, scale=1, elem_id="eval-compare")
            delete = gr.Button("Delete…", variant="stop", min_width=100, scale=1, elem_id="eval-delete")
        with gr.Group(visible=False, elem_classes="memoir-confirm") as confirm:
            warning = gr.HTML(padding=False)
            with gr.Row():
                keep = gr.Button("Keep it", size="md")
                sure = gr.Button("Delete for good", variant="stop", size="md", elem_id="eval-delete-sure")
        outcome = gr.HTML(padding=False, elem_id="eval-outcome")
        differences = plain_table("differences", "Differences", list(COMPARISON_HEADER), visible=False)
        markdown = gr.Button(
            "Download Markdown", size="sm", scale=0, min_width=160, visible=False, elem_id="eval-compare-markdown"
        )
    return RunList(
        listed,
        chosen,
        actions,
        open_,
        delete,
        confirm,
        warning,
        keep,
        sure,
        other,
        compare,
        outcome,
        differences,
        markdown,
    )


def run_row(run: Run) -> Row:
    """A run as a row of the list."""
    title = BENCHMARKS[run.spec.benchmark].title if run.spec.benchmark in BENCHMARKS else run.spec.benchmark
    state = "finished" if run.is_done else "unfinished"
    changed = panels.differences(run.spec.settings)
    return [format_time(run.created.astimezone()), title, run.spec.portion, answers(run), state, changed, run.name]
