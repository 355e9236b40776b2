"""From a figure to one probe's trace: what a click on each part of a result opens."""

from __future__ import annotations

import gradio as gr

from eval.tab.drill_down import ALL
from eval.tab.open_runs import Shelf
from eval.tab.result_panel import Result
from memory.tab.events import PRIVATE, Update, show_errors

TO_PROBE = "() => document.querySelector('#eval-question').scrollIntoView({ block: 'start' })"
"""Brings a probe that was opened into sight, below the list it was chosen from."""


def listen(result: Result, opened: gr.State, shelf: Shelf) -> None:
    """Let the parts of a result answer to clicks; `opened` holds the name of the run that is shown."""

    @show_errors
    def regrouped(name: str, axis: str | None, metric: str | None) -> Update:
        return result.grouped(shelf.open(name).report, axis, metric)

    @show_errors
    def relisted(name: str, metric: str | None, group: str | None) -> Update:
        return result.listed(shelf.open(name), metric, group or ALL)

    def look(name: str, metric: str | None, group: str) -> Update:
        return {result.tabs: gr.Tabs(selected="probes"), **result.listed(shelf.open(name), metric, group)}

    @show_errors
    def from_figure(name: str, event: gr.SelectData) -> Update:
        return look(name, str(event.row_value[0]), ALL)

    @show_errors
    def from_group(name: str, axis: str, metric: str | None, event: gr.SelectData) -> Update:
        header = result.group_header(shelf.open(name).report, axis, metric)
        column = header[event.index[1]]
        return look(name, column if event.index[1] > 1 else metric, f"{axis}: {event.row_value[0]}")

    @show_errors
    def from_abstention(name: str, metric: str | None, event: gr.SelectData) -> Update:
        declined = "declined" if event.index[1] == 2 else "answered"
        return look(name, metric, f"abstention: {declined}, {event.row_value[0]}" if event.index[1] else ALL)

    @show_errors
    def from_cause(name: str, metric: str | None, event: gr.SelectData) -> Update:
        return look(name, metric, f"wrong because: {event.row_value[0]}")

    @show_errors
    def probe_opened(name: str, event: gr.SelectData) -> Update:
        held = shelf.open(name)
        history, probe = (str(cell) for cell in event.row_value[-2:])
        return result.probe(held.sample(history, probe), shelf.words(held, history), answered=held.answered)

    gr.on(
        [result.axis.input, result.metric.input],
        regrouped,
        [opened, result.axis, result.metric],
        [result.plot, result.groups],
        **PRIVATE,
    )
    gr.on(
        [result.probe_metric.input, result.probe_group.input],
        relisted,
        [opened, result.probe_metric, result.probe_group],
        result.outputs,
        **PRIVATE,
    )
    result.figures.select(from_figure, opened, result.outputs, **PRIVATE)
    result.groups.select(from_group, [opened, result.axis, result.metric], result.outputs, **PRIVATE)
    result.abstained.select(from_abstention, [opened, result.metric], result.outputs, **PRIVATE)
    result.causes.select(from_cause, [opened, result.metric], result.outputs, **PRIVATE)
    probe = [result.question, result.evidence, result.ranking, result.trace]
    result.probes.select(probe_opened, opened, probe, **PRIVATE).then(None, js=TO_PROBE)
