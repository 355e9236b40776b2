"""The part of the Memory tab that forgets all before a date, or all that mentions something."""

from __future__ import annotations

from collections.abc import Iterator

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.dates.expressions import read_date
from memory.errors import MemoirError
from memory.forgetting import forget, selection
from memory.forgetting.selection import Selector
from memory.progress import Task
from memory.tab.events import PRIVATE, Update
from memory.tab.task_panel import task_bar
from memory.tab.templates import error_box, hint, render


def forgetting_panel(bank: Bank, persona: gr.Dropdown) -> gr.State:
    """Build the panel; the state it gives changes whenever something was forgotten."""
    done: gr.State = gr.State(0)
    with gr.Accordion("Forget more at once", open=False, elem_id="forget-more"):
        with gr.Row(elem_classes="memoir-filters"):
            words = gr.Textbox(
                label="All that mentions", placeholder="A word or a name", min_width=200, elem_id="forget-mentions"
            )
            before = gr.Textbox(
                label="Or all said before", placeholder="8 May 2023", min_width=200, elem_id="forget-before"
            )
            look = gr.Button("Show what would go", scale=0, min_width=190, elem_id="forget-look")
        with gr.Group(visible=False, elem_classes="memoir-confirm") as confirm:
            planned = gr.HTML(padding=False, elem_id="forget-planned")
            with gr.Row():
                keep = gr.Button("Keep it", size="md")
                sure = gr.Button("Forget for good", variant="stop", size="md", elem_id="forget-planned-sure")
        bar = task_bar("forget")
        result = gr.HTML(padding=False, elem_id="forget-result")

    def consider(persona_id: int | None, mentioned: str, day: str, request: gr.Request) -> Iterator[Update]:
        if persona_id is None:
            yield {result: error_box("There is no persona yet.")}
            return

        def work(task: Task) -> Update:
            plan = forget.preview_selected(bank, [persona_id], _scope(mentioned, day), task)
            if not (plan.memories or plan.turns):
                return {result: hint("Nothing fits; there is nothing to forget.")}
            return {confirm: gr.Group(visible=True), planned: render("forget_preview.html", gone=plan)}

        yield {confirm: gr.Group(visible=False), result: ""}
        yield from bar.watch("Looking for what would go", request, work)

    def remove(persona_id: int, mentioned: str, day: str, times: int, request: gr.Request) -> Iterator[Update]:
        def work(task: Task) -> Update:
            with journal.requested("Memory tab"):
                gone = forget.forget_selected(bank, [persona_id], _scope(mentioned, day), task)
            return {result: render("forget_report.html", gone=gone), done: times + 1}

        yield {confirm: gr.Group(visible=False)}
        yield from bar.watch("Forgetting", request, work)

    fields = [persona, words, before]
    looked = [confirm, planned, result, *bar.parts]
    gr.on([look.click, words.submit, before.submit], consider, fields, looked, **PRIVATE)
    # What would go is what was shown: another wish has to be looked at first.
    gr.on(
        [words.input, before.input, persona.input, keep.click],
        lambda: gr.Group(visible=False),
        None,
        confirm,
        **PRIVATE,
    )
    sure.click(remove, [*fields, done], [confirm, result, done, *bar.parts], **PRIVATE)
    return done


def _scope(words: str | None, day: str | None) -> Selector:
    mentioned, before = (words or "").strip(), (day or "").strip()
    if bool(mentioned) == bool(before):
        raise MemoirError("Fill in one of the two: a word that is mentioned, or a date.")
    if mentioned:
        return selection.select_mentions(mentioned)
    span = read_date(before)
    if span is None:
        raise MemoirError(f"“{before}” is no date. Write for example 8 May 2023, May 2023 or 2023.")
    return selection.select_before(span.start)
