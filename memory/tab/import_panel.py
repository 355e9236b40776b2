"""The part of a tab that imports conversations: drop a file, preview it, choose, import."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Semaphore

import gradio as gr

from memory import ingest
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.queries.told import name_told
from memory.errors import BankUnavailable, UnreadableFile
from memory.formatting import clip, format_count, without_folders
from memory.importers.child_process import wait_for_turn
from memory.ingest import FileSummary, HistorySummary
from memory.progress import Task
from memory.search.indexer import Indexer
from memory.tab.parts import PRIVATE, TaskPanel, Update, error_box, look, render
from memory.types import Persona

INTO_MEMORY, OWN_PERSONA = "memory", "persona"
"""Where an import goes: to the persona that `own` gives, or to one of its own for each history."""


class ImportPanel:
    """The panel's components; `imported` gets the id of each persona that was imported or that took the import.

    One file is read or imported at a time; further ones wait.
    """

    def __init__(self, bank: Bank, indexer: Indexer, own: Callable[[], Persona]) -> None:
        self.bank, self.indexer, self.own = bank, indexer, own
        self._turn = Semaphore()
        self.imported: gr.State = gr.State(None)
        gr.HTML(render("about_import.html"))
        self.file = gr.File(show_label=False, height=120, elem_classes="memoir-drop", elem_id="upload")
        self.preview = gr.HTML(padding=False, elem_id="upload-found")
        with gr.Column(visible=False) as self.choices:
            self.choice = gr.Dropdown(**look("upload-choose"))
            self.user = gr.Radio(**look("upload-user"))
            self.place = gr.Radio(**look("upload-place"))
            self.apart = gr.Checkbox(**look("upload-apart"))
            self.everything = gr.Checkbox(elem_id="upload-all")
            start = gr.Button("Import", variant="primary", elem_id="upload-start")
        self.task = TaskPanel("upload")
        self.report = gr.HTML(padding=False, elem_id="upload-report")
        inputs = [self.choice, self.everything, self.user, self.place, self.apart]
        self.file.clear(self.clear, None, [self.preview, self.choices], **PRIVATE)
        self.place.input(lambda place: gr.Checkbox(visible=place == OWN_PERSONA), self.place, self.apart, **PRIVATE)
        shown = [self.preview, self.choices, self.report, self.imported]
        reading, all_shown = self.file.upload, [*shown, *inputs]
        self.task.connect(
            reading, "Reading", self.show_preview, self.file, all_shown, self._clear_all, outlives_page=False
        )
        asked, stored = [self.file, *inputs], [*shown, self.file]
        self.task.connect(start.click, "Importing", self.import_file, asked, stored, lambda: {self.report: ""})

    def clear(self) -> Update:
        """Show no file."""
        return {self.preview: "", self.choices: gr.Column(visible=False)}

    def _clear_all(self) -> Update:
        return {**self.clear(), self.report: "", self.imported: None}

    def show_preview(self, task: Task, path: str) -> Update:
        """Show what a file contains; stores nothing."""
        try:
            with wait_for_turn(self._turn, lambda: task.report(0)):
                contents = ingest.summarize(Path(path), task.report)
        except UnreadableFile as error:
            return {self.report: error_box(without_folders(str(error)))}
        several, is_chat = len(contents.histories) > 1, contents.is_chat
        choices = [(_describe(history), history.external_id or history.name) for history in contents.histories]
        speakers = [*((clip(name, 60), name) for name in contents.speakers), ("None of these", "")]
        return {
            self.preview: render("import_preview.html", name=Path(path).name, file=contents),
            self.choice: gr.Dropdown(choices, value=[], visible=several),
            self.everything: gr.Checkbox(value=not several, visible=several, label=f"Import all {len(choices)}"),
            self.user: gr.Radio(speakers, value=self._user_of(contents), visible=bool(contents.speakers)),
            self.place: gr.Radio(value=INTO_MEMORY if is_chat else OWN_PERSONA, visible=is_chat),
            self.apart: gr.Checkbox(value=not contents.may_share, visible=contents.may_share and not is_chat),
            self.choices: gr.Column(visible=True),
        }

    def _user_of(self, contents: FileSummary) -> str | None:
        """Which of the speakers the user is, by the file or by the name that they told; None if that is not known."""
        if not contents.speakers:
            return ""
        # What is told to one is known to all, but to those that are kept apart.
        sharing = next((persona for persona in self.bank.personas() if not persona.kept_apart), None)
        name = name_told(self.bank, sharing.id, datetime.now(UTC)).casefold() if sharing else ""
        return contents.user or next((each for each in contents.speakers if each.casefold() == name), None)

    def import_file(
        self, task: Task, path: str, chosen: list[str], everything: bool, user: str | None, place: str, apart: bool
    ) -> Update:
        """Store the chosen histories of a file, then delete the uploaded copy."""
        if not chosen and not everything:
            return {self.report: error_box("Choose at least one, or import all.")}
        if user is None:
            return {self.report: error_box("Choose which one you are, or “None of these”.")}
        file = Path(path)
        try:
            with wait_for_turn(self._turn, lambda: task.report(0)), journal.requested_by("upload"):
                report = ingest.ingest(
                    self.bank,
                    file,
                    choose=None if everything else chosen,
                    persona=str(self.own().id) if place == INTO_MEMORY else None,
                    user=user,
                    kept_apart=apart,
                    progress=task.report,
                )
        except (UnreadableFile, BankUnavailable) as error:
            return {self.report: error_box(without_folders(str(error)))}
        finally:
            self.indexer.wake()
        shutil.rmtree(file.parent, ignore_errors=True)  # the uploaded copy has a folder of its own
        shown = render("import_report.html", name=file.name, report=report)
        return {**self.clear(), self.file: None, self.report: shown, self.imported: report.histories[0].persona.id}


def _describe(history: HistorySummary) -> str:
    names = " · ".join(dict.fromkeys(name for name in (history.name, history.external_id) if name))
    return f"{clip(names, 80)} ({format_count(history.sessions, 'session')}, {format_count(history.turns, 'turn')})"
