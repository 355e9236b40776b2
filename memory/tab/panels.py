"""The parts of the Memory tab below its list: forgetting in bulk, export and backup, the journal, and the persona."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
from markupsafe import Markup

from memory.bank import backup, journal
from memory.bank.bank import Bank
from memory.bank.queries.deletion import Selector, select_before, select_everything, select_mentions
from memory.errors import MemoirError
from memory.exporting import downloads
from memory.exporting.export import write_export
from memory.forgetting import forget
from memory.formatting import parse_date
from memory.importers.generic.character_card import MAX_CHARACTERS
from memory.progress import Task
from memory.tab.parts import (
    CARD_FIELDS,
    PRIVATE,
    CardFields,
    Confirm,
    Pager,
    TaskPanel,
    Update,
    build_table,
    error_box,
    hint,
    look,
    read_picture,
    render,
)
from memory.types import Persona, PersonaDraft

NO_PERSONA = "There is no persona yet. Create one in Chat."

PAGE = 20
"""Entries of a page of the journal."""


def build_forget_panel(bank: Bank, persona: gr.Dropdown) -> gr.State:
    """Build the panel that forgets all before a date, or all that mentions something.

    Returns the state that gets a new value each time it did.
    """
    forgotten: gr.State = gr.State(0)
    with gr.Accordion("Forget in bulk", open=False, elem_id="forget-more"):
        with gr.Row(elem_classes="memoir-filters"):
            words = gr.Textbox(**look("forget-mentions"))
            before = gr.Textbox(**look("forget-before"))
            preview = gr.Button("Preview", scale=0, min_width=190, elem_id="forget-look")
        confirm = Confirm("forget")
        tasks = TaskPanel("forget")
        result = gr.HTML(padding=False, elem_id="forget-result")

    def show_preview(task: Task, persona_id: int | None, words: str, before: str) -> Update:
        if persona_id is None:
            return {result: error_box(NO_PERSONA)}
        gone = forget.preview_selected(bank, [persona_id], _selector(words, before), task)
        if not (gone.memories or gone.turns):
            return {result: hint("No matches, so there is nothing to forget.")}
        return confirm.ask(render("forget_preview.html", gone=gone, is_fact=False))

    @journal.requested_by("Memory tab")
    def forget_previewed(task: Task, persona_id: int, words: str, before: str, times: int) -> Update:
        gone = forget.forget_selected(bank, [persona_id], _selector(words, before), task)
        return {result: render("forget_report.html", gone=gone), forgotten: times + 1}

    fields, outputs = [persona, words, before], [*confirm.outputs, result]
    look_up = partial(gr.on, [preview.click, words.submit, before.submit])
    tasks.connect(look_up, "Searching", show_preview, fields, outputs, lambda: {**confirm.close(), result: ""})
    # Only what was previewed may be forgotten, so any other input hides the button.
    confirm.close_on(words.input, before.input, persona.input)
    sure, both = confirm.sure.click, [*outputs, forgotten]
    tasks.connect(sure, "Forgetting", forget_previewed, [*fields, forgotten], both, confirm.close)
    return forgotten


def _selector(words: str | None, before: str | None) -> Selector:
    mentioned, date = (words or "").strip(), parse_date(before)
    if bool(mentioned) == bool(date):
        raise MemoirError("Enter either a word or a date, not both.")
    return select_before(date.start) if date else select_mentions(mentioned)


def build_export_panel(bank: Bank, persona: gr.Dropdown) -> None:
    """Build the panel that exports a persona or the whole bank, or backs the bank up."""
    with gr.Accordion("Export and backup", open=False, elem_id="take"):
        gr.HTML(render("about_export.html"), padding=False)
        with gr.Row():
            one = gr.Button("Export this persona", min_width=170, elem_id="take-persona")
            everything = gr.Button("Export everything", min_width=170, elem_id="take-bank")
            copy = gr.Button("Back up the bank", min_width=170, elem_id="take-backup")
        tasks = TaskPanel("take")
        file = _download_field("take-file")

    def export(task: Task, name: str, personas: Sequence[Persona]) -> Update:
        return {file: _offer_file(bank, name, "jsonl", lambda path: write_export(bank, personas, path, task.report))}

    def export_persona(task: Task, persona_id: int | None) -> Update:
        chosen = bank.persona(_required(persona_id))
        return export(task, chosen.name, [chosen])

    def export_all(task: Task, _: int | None) -> Update:
        return export(task, "bank", bank.personas())

    def back_up(task: Task, _: int | None) -> Update:
        return {file: _offer_file(bank, "bank", "db", lambda path: backup.backup(bank, path, task))}

    # One at a time: each new file deletes the one before.
    in_turn: dict[str, Any] = {"outlives_page": False, "concurrency_id": "take", "concurrency_limit": 1}
    making = (persona, [file], lambda: {file: gr.File(visible=False)})
    tasks.connect(one.click, "Exporting this persona", export_persona, *making, **in_turn)
    tasks.connect(everything.click, "Exporting everything", export_all, *making, **in_turn)
    tasks.connect(copy.click, "Backing up the bank", back_up, *making, **in_turn)


def build_journal_panel(bank: Bank) -> None:
    """Build the panel that shows what was done to the bank; it reads the journal when it is opened."""
    with gr.Accordion("Journal", open=False, elem_id="journal") as fold:
        gr.HTML(render("about_journal.html"), padding=False)
        table = build_table("journal-table")
        pages = Pager("journal", PAGE, "Newer", "Older")
        download = gr.Button("Download as CSV", size="sm", elem_id="journal-csv")
        file = _download_field("journal-file")

    def show(page: int) -> Update:
        total = journal.count(bank)
        page = pages.last(page, total)
        entries = journal.read(bank, PAGE, page * PAGE)
        text = f"{total:,}" if total else "No entries yet."
        return {table: [list(entry.cells) for entry in entries], **pages.show(page, total, text)}

    def export() -> gr.File:
        text = journal.to_csv(journal.read(bank))
        return _offer_file(bank, "journal", "csv", lambda path: path.write_text(text, "utf-8", newline=""))

    outputs = [table, *pages.outputs]
    fold.expand(lambda: 0, None, pages.page, **PRIVATE).then(show, pages.page, outputs, **PRIVATE)
    pages.connect(show, [pages.page], outputs)
    download.click(export, None, file, **PRIVATE)


class PersonaPanel:
    """Edits a persona, or deletes it with all that it knows.

    `renamed` and `deleted` get the id of a persona that was, the latter with a minus.
    """

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.renamed: gr.State = gr.State((0, ""))
        self.deleted: gr.State = gr.State(0)
        with gr.Accordion("Edit or delete this persona", open=False, elem_id="persona-edit") as fold:
            with gr.Row(elem_classes="memoir-filters"):
                self.name = gr.Textbox(label="Name", max_length=80, min_width=200, elem_id="persona-new-name")
                rename = gr.Button("Rename", scale=0, min_width=120, elem_id="persona-rename")
                delete = gr.Button(**look("persona-delete"))
            self.description = gr.Textbox(max_length=MAX_CHARACTERS, **look("persona-about"))
            self.card = CardFields("persona-edit")
            save = gr.Button("Save changes", size="md", scale=0, min_width=160, elem_id="persona-save")
            self.confirm = Confirm("persona-delete", "Delete for good")
            self.task = TaskPanel("persona-delete")
            self.result = gr.HTML(padding=False, elem_id="persona-result")
        # What was previewed is what the button deletes, whatever is chosen meanwhile.
        self.asked: gr.State = gr.State(None)
        texts = [self.description, self.card.picture, *self.card.inputs]
        # Both events come when the fold is opened first; the later one must not undo what is typed in between.
        self.shown: gr.State = gr.State(None)
        outputs = [self.name, *texts, self.confirm.group, self.shown]
        gr.on([fold.expand, persona.change], self.show_texts, [persona, self.shown], outputs, **PRIVATE)
        save.click(self.save, [persona, *texts], self.result, **PRIVATE)
        gr.on(
            [rename.click, self.name.submit], self.rename, [persona, self.name], [self.renamed, self.result], **PRIVATE
        )
        delete.click(self.show_preview, persona, [*self.confirm.outputs, self.asked, self.result], **PRIVATE)
        self.confirm.close_on()
        outputs, sure = [self.confirm.group, self.result, self.deleted], self.confirm.sure.click
        self.task.connect(sure, "Deleting", self.delete_persona, self.asked, outputs, self.confirm.close)

    def show_texts(self, persona_id: int | None, shown: int | None) -> Update:
        """Show the name and the card of the chosen persona, to be changed, unless they are shown."""
        if persona_id == shown:
            return self.confirm.close()
        persona = self.bank.persona(persona_id) if persona_id is not None else PersonaDraft("")
        return {
            self.shown: persona_id,
            self.name: persona.name,
            self.description: persona.description,
            **self.card.show(persona),
            **self.confirm.close(),
        }

    def save(self, persona_id: int | None, description: str, picture: str | None, *card: str) -> Markup:
        """Store the texts in the fields, and the picture if one was chosen."""
        texts = dict(zip(CARD_FIELDS, card, strict=True))
        if picture:
            texts["picture"] = read_picture(picture)
        with journal.requested_by("Memory tab"):
            persona = self.bank.change_persona(_required(persona_id), description=description, **texts)
        return hint(f"Saved. It applies from your next message to {persona.name} on.")

    def rename(self, persona_id: int | None, name: str) -> Update:
        """Give the persona the name in the field."""
        with journal.requested_by("Memory tab"):
            renamed = self.bank.change_persona(_required(persona_id), name=name)
        return {self.renamed: (renamed.id, renamed.name), self.result: ""}

    def show_preview(self, persona_id: int | None) -> Update:
        """Say how much would be deleted, and ask."""
        persona = self.bank.persona(_required(persona_id))
        gone = forget.preview_selected(self.bank, [persona.id], select_everything)
        asked = self.confirm.ask(render("persona_delete.html", persona=persona, gone=gone))
        return {**asked, self.asked: persona.id, self.result: ""}

    @journal.requested_by("Memory tab")
    def delete_persona(self, task: Task, persona_id: int) -> Update:
        """Delete the persona that was asked about, with all that it knows."""
        gone = forget.forget_selected(self.bank, [persona_id], select_everything, task)
        return {self.result: render("forget_report.html", gone=gone), self.deleted: -persona_id}


def _required(persona_id: int | None) -> int:
    if persona_id is None:
        raise MemoirError(NO_PERSONA)
    return persona_id


def _download_field(elem_id: str) -> gr.File:
    return gr.File(label="Ready to download", visible=False, interactive=False, elem_id=elem_id)


def _offer_file(bank: Bank, name: str, suffix: str, write: Callable[[Path], object]) -> gr.File:
    return gr.File(str(downloads.create(bank.path, name, suffix, write)), visible=True)
