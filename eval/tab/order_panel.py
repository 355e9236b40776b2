"""What is filled in on the Evaluate tab: which benchmark, how much of it, and with which settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

import gradio as gr

from eval.benchmarks import BENCHMARKS
from eval.evaluator import Evaluator
from eval.tab.orders import CONTROLS, Control, Form, initial
from graph.settings import ReaderEngine
from memory.tab.task_panel import TaskPanel

READERS = {"auto": "As in a chat", "extractive": "Extractive", "none": "None: retrieval only"}
OWN = next(iter(BENCHMARKS))
"""Memoir's own benchmark, which is chosen at first."""


@dataclass(frozen=True, slots=True)
class OrderForm:
    """What says which run to make."""

    benchmark: gr.Dropdown
    limit: gr.Textbox
    reader: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    data: gr.Textbox
    missing: gr.Row
    source: gr.Dropdown
    fetch: gr.Button
    fetching: TaskPanel
    about: gr.HTML
    fetched: gr.HTML
    status: gr.HTML
    controls: list[gr.Number | gr.Dropdown]
    lines: gr.Textbox
    sweep: gr.Textbox
    preset: gr.Dropdown

    @property
    def fields(self) -> list[Any]:
        """The components whose values `filled` takes, in its order."""
        return [
            *(self.benchmark, self.data, self.limit, self.reader, self.lines, self.sweep, self.preset),
            *self.controls,
        ]


def filled(*values: Any) -> Form:  # noqa: ANN401  # what the components hold
    """What is filled in, from the values of `OrderForm.fields`."""
    benchmark, data, limit, reader, lines, sweep, preset, *controls = values
    set_to = {control.setting: value for control, value in zip(CONTROLS, controls, strict=True)}
    return Form(benchmark, data or "", limit or "", reader, set_to, lines or "", sweep or "", preset or "")


def order_form(evaluator: Evaluator) -> OrderForm:
    """Lay out what is filled in."""
    with gr.Row(elem_classes="memoir-filters memoir-order"):
        known = [(b.title, b.name) for b in BENCHMARKS.values()]
        benchmark = gr.Dropdown(known, value=OWN, label="Benchmark", scale=3, min_width=200, elem_id="eval-benchmark")
        data = gr.Textbox(label="Its files", scale=3, min_width=200, max_lines=1, elem_id="eval-data")
        limit = gr.Textbox(label="Probes", placeholder="all", scale=1, min_width=90, max_lines=1, elem_id="eval-limit")
        engines = [(READERS.get(name, name), name) for name in get_args(ReaderEngine)]
        reader = gr.Dropdown(
            engines, value=engines[0][1], label="Reader", scale=2, min_width=150, elem_id="eval-reader"
        )
        with gr.Column(scale=1, min_width=110, elem_classes="memoir-go"):
            run = gr.Button("Run", variant="primary", elem_id="eval-run")
            stop = gr.Button("Stop", variant="stop", visible=False, elem_id="eval-stop")
    about = gr.HTML(padding=False, elem_id="eval-about")
    with gr.Row(visible=False, elem_classes="memoir-filters") as missing:
        source = gr.Dropdown(label="Which files", scale=3, min_width=200, elem_id="eval-source")
        fetch = gr.Button("Get the official files", scale=0, min_width=220, elem_id="eval-fetch")
    fetching = TaskPanel("eval-fetch")
    fetched = gr.HTML(padding=False, elem_id="eval-fetched")
    status = gr.HTML(padding=False, elem_id="eval-status")
    with gr.Accordion("Settings, sweeps and papers' tables", open=False, elem_id="eval-settings"):
        usual = initial(evaluator)
        with gr.Row(elem_classes="memoir-controls"):
            controls = [_control(control, usual[control.setting]) for control in CONTROLS]
        with gr.Row(elem_classes="memoir-filters"):
            lines = gr.Textbox(
                label="Other settings, NAME=VALUE a line",
                placeholder="simulation.names=swapped",
                lines=2,
                min_width=250,
                elem_id="eval-lines",
            )
            sweep = gr.Textbox(
                label="Sweep, NAME=VALUE,VALUE a line",
                placeholder="rerank.alpha=0,0.25,0.5",
                lines=2,
                min_width=250,
                elem_id="eval-sweep",
            )
            preset = gr.Dropdown(label="A paper's table, a run a row", min_width=250, elem_id="eval-preset")
    return OrderForm(
        benchmark,
        limit,
        reader,
        run,
        stop,
        data,
        missing,
        source,
        fetch,
        fetching,
        about,
        fetched,
        status,
        controls,
        lines,
        sweep,
        preset,
    )


def _control(control: Control, value: object) -> gr.Number | gr.Dropdown:
    name = f"eval-{control.setting.replace('.', '-')}"
    if control.choices:
        return gr.Dropdown(list(control.choices), value=str(value), label=control.label, min_width=165, elem_id=name)
    assert isinstance(value, int | float)
    return gr.Number(
        float(value),
        label=control.label,
        minimum=control.lowest,
        maximum=control.highest,
        step=control.step,
        min_width=165,
        elem_id=name,
    )
