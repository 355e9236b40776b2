"""The part of the Memory tab that renames a persona, or deletes it with all that it knows."""

from collections.abc import Iterator

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.progress import Task
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.task_panel import TaskPanel
from memory.tab.templates import render

NO_PERSONA = "There is no persona yet. Create one in Chat."


class PersonaPanel:
    """The panel's components; `renamed` and `deleted` get the id of a persona that was, the latter with a minus."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.renamed: gr.State = gr.State((0, ""))
        self.deleted: gr.State = gr.State(0)
        with gr.Accordion("Rename or delete this persona", open=False, elem_id="persona-edit") as fold:
            with gr.Row(elem_classes="memoir-filters"):
                self.name = gr.Textbox(label="Name", max_length=80, min_width=200, elem_id="persona-new-name")
                rename = gr.Button("Rename", scale=0, min_width=120, elem_id="persona-rename")
                self.delete = gr.Button(
                    "Delete this persona", variant="stop", scale=0, min_width=190, elem_id="persona-delete"
                )
            with gr.Group(visible=False, elem_classes="memoir-confirm") as self.confirm:
                self.preview = gr.HTML(padding=False, elem_id="persona-planned")
                with gr.Row():
                    cancel = gr.Button("Cancel", size="md")
                    sure = gr.Button("Delete for good", variant="stop", size="md", elem_id="persona-delete-sure")
            self.task = TaskPanel("persona-delete")
            self.result = gr.HTML(padding=False, elem_id="persona-result")
        # What was previewed is what the button deletes, whatever is chosen meanwhile.
        self.asked: gr.State = gr.State(None)
        gr.on([fold.expand, persona.change], self.show_name, persona, [self.name, self.confirm], **PRIVATE)
        gr.on(
            [rename.click, self.name.submit], self.rename, [persona, self.name], [self.renamed, self.result], **PRIVATE
        )
        shown = [self.preview, self.confirm, self.asked, self.result]
        self.delete.click(self.show_preview, persona, shown, **PRIVATE)
        cancel.click(lambda: gr.Group(visible=False), None, self.confirm, **PRIVATE)
        outputs = [self.confirm, self.result, self.deleted, *self.task.outputs]
        sure.click(self.delete_persona, self.asked, outputs, **PRIVATE)

    @show_errors
    def show_name(self, persona_id: int | None) -> Update:
        """Show the name of the chosen persona, to be changed."""
        name = self.bank.persona(persona_id).name if persona_id is not None else ""
        return {self.name: name, self.confirm: gr.Group(visible=False)}

    @show_errors
    def rename(self, persona_id: int | None, name: str) -> Update:
        """Give the persona the name in the field."""
        if persona_id is None:
            raise MemoirError(NO_PERSONA)
        with journal.requested_by("Memory tab"):
            renamed = self.bank.rename_persona(persona_id, name)
        return {self.renamed: (renamed.id, renamed.name), self.result: ""}

    @show_errors
    def show_preview(self, persona_id: int | None) -> Update:
        """Say how much would be deleted, and ask."""
        if persona_id is None:
            raise MemoirError(NO_PERSONA)
        persona, gone = self.bank.persona(persona_id), forget.preview_persona(self.bank, persona_id)
        return {
            self.preview: render("persona_delete.html", persona=persona, gone=gone),
            self.confirm: gr.Group(visible=True),
            self.asked: persona.id,
            self.result: "",
        }

    def delete_persona(self, persona_id: int, request: gr.Request) -> Iterator[Update]:
        """Delete the persona that was asked about, with all that it knows."""

        def work(task: Task) -> Update:
            with journal.requested_by("Memory tab"):
                gone = forget.forget_persona(self.bank, persona_id, task)
            return {self.result: render("forget_report.html", gone=gone), self.deleted: -persona_id}

        yield {self.confirm: gr.Group(visible=False)}
        yield from self.task.run("Deleting", request, work)
