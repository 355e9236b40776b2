"""The part of the Memory tab that edits a persona, or deletes it with all that it knows."""

from collections.abc import Iterator

import gradio as gr
from markupsafe import Markup

from memory.bank import journal
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.importers.generic.character_card import MAX_CHARACTERS
from memory.progress import Task
from memory.tab.card_fields import FIELDS, CardFields
from memory.tab.events import PRIVATE, Update
from memory.tab.task_panel import TaskPanel
from memory.tab.templates import hint, render

NO_PERSONA = "There is no persona yet. Create one in Chat."


class PersonaPanel:
    """The panel's components; `renamed` and `deleted` get the id of a persona that was, the latter with a minus."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.renamed: gr.State = gr.State((0, ""))
        self.deleted: gr.State = gr.State(0)
        with gr.Accordion("Edit or delete this persona", open=False, elem_id="persona-edit") as fold:
            with gr.Row(elem_classes="memoir-filters"):
                self.name = gr.Textbox(label="Name", max_length=80, min_width=200, elem_id="persona-new-name")
                rename = gr.Button("Rename", scale=0, min_width=120, elem_id="persona-rename")
                self.delete = gr.Button(
                    "Delete this persona", variant="stop", scale=0, min_width=190, elem_id="persona-delete"
                )
            self.description = gr.Textbox(
                label="Description", lines=2, max_length=MAX_CHARACTERS, elem_id="persona-about"
            )
            self.card = CardFields("persona-edit")
            save = gr.Button("Save changes", size="md", scale=0, min_width=160, elem_id="persona-save")
            with gr.Group(visible=False, elem_classes="memoir-confirm") as self.confirm:
                self.preview = gr.HTML(padding=False, elem_id="persona-planned")
                with gr.Row():
                    cancel = gr.Button("Cancel", size="md")
                    sure = gr.Button("Delete for good", variant="stop", size="md", elem_id="persona-delete-sure")
            self.task = TaskPanel("persona-delete")
            self.result = gr.HTML(padding=False, elem_id="persona-result")
        # What was previewed is what the button deletes, whatever is chosen meanwhile.
        self.asked: gr.State = gr.State(None)
        texts = [self.description, *self.card.inputs]
        # Both events come when the fold is opened first; the later one must not undo what is typed in between.
        self.shown: gr.State = gr.State(None)
        outputs = [self.name, *texts, self.confirm, self.shown]
        gr.on([fold.expand, persona.change], self.show_texts, [persona, self.shown], outputs, **PRIVATE)
        save.click(self.save, [persona, *texts], self.result, **PRIVATE)
        gr.on(
            [rename.click, self.name.submit], self.rename, [persona, self.name], [self.renamed, self.result], **PRIVATE
        )
        shown = [self.preview, self.confirm, self.asked, self.result]
        self.delete.click(self.show_preview, persona, shown, **PRIVATE)
        cancel.click(lambda: gr.Group(visible=False), None, self.confirm, **PRIVATE)
        outputs = [self.confirm, self.result, self.deleted, *self.task.outputs]
        sure.click(self.delete_persona, self.asked, outputs, **PRIVATE)

    def show_texts(self, persona_id: int | None, shown: int | None) -> Update:
        """Show the name and the card of the chosen persona, to be changed, unless they are shown."""
        if persona_id == shown:
            return {self.confirm: gr.Group(visible=False)}
        persona = self.bank.persona(persona_id) if persona_id is not None else None
        return {
            self.shown: persona_id,
            self.name: persona.name if persona else "",
            self.description: persona.description if persona else "",
            **self.card.show(persona),
            self.confirm: gr.Group(visible=False),
        }

    def save(self, persona_id: int | None, description: str, *card: str) -> Markup:
        """Store the texts in the fields."""
        if persona_id is None:
            raise MemoirError(NO_PERSONA)
        texts = dict(zip(FIELDS, card, strict=True))
        with journal.requested_by("Memory tab"):
            persona = self.bank.edit_card(persona_id, description=description, **texts)
        return hint(f"Saved. It applies from your next message to {persona.name} on.")

    def rename(self, persona_id: int | None, name: str) -> Update:
        """Give the persona the name in the field."""
        if persona_id is None:
            raise MemoirError(NO_PERSONA)
        with journal.requested_by("Memory tab"):
            renamed = self.bank.rename_persona(persona_id, name)
        return {self.renamed: (renamed.id, renamed.name), self.result: ""}

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
