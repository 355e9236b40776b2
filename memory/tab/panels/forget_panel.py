"""The part of the Memory tab that forgets everything before a date, or everything that mentions something."""

from collections.abc import Iterator

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.queries.deletion import Selector, select_before, select_mentions
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.formatting import parse_date
from memory.progress import Task
from memory.tab.events import PRIVATE, Update
from memory.tab.task_panel import TaskPanel
from memory.tab.templates import error_box, hint, render


class ForgetPanel:
    """The panel's components; `forgotten` gets a new value whenever something was forgotten."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.forgotten: gr.State = gr.State(0)
        with gr.Accordion("Forget in bulk", open=False, elem_id="forget-more"):
            with gr.Row(elem_classes="memoir-filters"):
                self.words = gr.Textbox(
                    label="Everything that mentions",
                    placeholder="A word or a name",
                    min_width=200,
                    elem_id="forget-mentions",
                )
                self.before = gr.Textbox(
                    label="Or everything from before", placeholder="8 May 2023", min_width=200, elem_id="forget-before"
                )
                look = gr.Button("Preview", scale=0, min_width=190, elem_id="forget-look")
            with gr.Group(visible=False, elem_classes="memoir-confirm") as self.confirm:
                self.preview = gr.HTML(padding=False, elem_id="forget-planned")
                with gr.Row():
                    cancel = gr.Button("Cancel", size="md")
                    sure = gr.Button("Forget for good", variant="stop", size="md", elem_id="forget-planned-sure")
            self.task = TaskPanel("forget")
            self.result = gr.HTML(padding=False, elem_id="forget-result")
        fields = [persona, self.words, self.before]
        outputs = [self.confirm, self.preview, self.result, *self.task.outputs]
        gr.on([look.click, self.words.submit, self.before.submit], self.show_preview, fields, outputs, **PRIVATE)
        # Only what was previewed may be forgotten, so any other input hides the button.
        others = [self.words.input, self.before.input, persona.input, cancel.click]
        gr.on(others, lambda: gr.Group(visible=False), None, self.confirm, **PRIVATE)
        sure.click(self.forget, [*fields, self.forgotten], [*outputs, self.forgotten], **PRIVATE)

    def show_preview(self, persona_id: int | None, words: str, before: str, request: gr.Request) -> Iterator[Update]:
        """Show what would be forgotten."""
        if persona_id is None:
            yield {self.result: error_box("There is no persona yet. Create one in Chat.")}
            return

        def work(task: Task) -> Update:
            preview = forget.preview_selected(self.bank, [persona_id], _selector(words, before), task)
            if not (preview.memories or preview.turns):
                return {self.result: hint("No matches, so there is nothing to forget.")}
            return {self.confirm: gr.Group(visible=True), self.preview: render("forget_preview.html", gone=preview)}

        yield {self.confirm: gr.Group(visible=False), self.result: ""}
        yield from self.task.run("Searching", request, work)

    def forget(self, persona_id: int, words: str, before: str, times: int, request: gr.Request) -> Iterator[Update]:
        """Forget what was previewed."""

        def work(task: Task) -> Update:
            with journal.requested_by("Memory tab"):
                gone = forget.forget_selected(self.bank, [persona_id], _selector(words, before), task)
            return {self.result: render("forget_report.html", gone=gone), self.forgotten: times + 1}

        yield {self.confirm: gr.Group(visible=False)}
        yield from self.task.run("Forgetting", request, work)


def _selector(words: str | None, before: str | None) -> Selector:
    mentioned, date = (words or "").strip(), parse_date(before)
    if bool(mentioned) == bool(date):
        raise MemoirError("Enter either a word or a date, not both.")
    return select_before(date.start) if date else select_mentions(mentioned)
