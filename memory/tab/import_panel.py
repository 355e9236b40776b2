"""The part of a tab that imports conversations: drop a file, preview it, choose, import."""

import shutil
from collections.abc import Callable, Iterator
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

APART = "Keep apart"
APART_INFO = "What is said here is not known elsewhere, and what is said elsewhere not here."

INTO_MEMORY, OWN_PERSONA = "memory", "persona"
"""Where an import goes: to the persona that `own` gives, or to one of its own for each history."""

PLACES = [("Into my memory", INTO_MEMORY), ("As a persona of its own", OWN_PERSONA)]
ABOUT_PLACES = "Whomever you talk with then knows what you wrote yourself, unless you keep a persona apart."


class ImportPanel:
    """The panel's components; `imported` gets the id of each persona that was imported or that took the import.

    One file is read or imported at a time; further ones wait.
    """

    def __init__(self, bank: Bank, indexer: Indexer, own: Callable[[], Persona]) -> None:
        self.bank, self.indexer, self.own = bank, indexer, own
        self._turn = Semaphore()
        self.imported: gr.State = gr.State(None)
        self.has_choice: gr.State = gr.State(False)
        self.asks_user: gr.State = gr.State(False)
        gr.HTML(render("about_import.html"))
        self.file = gr.File(show_label=False, height=120, elem_classes="memoir-drop", elem_id="upload")
        self.preview = gr.HTML(padding=False, elem_id="upload-found")
        self.choice = gr.Dropdown(**look("upload-choose"))
        self.user = gr.Radio(**look("upload-user"))
        self.place = gr.Radio(PLACES, value=INTO_MEMORY, info=ABOUT_PLACES, **look("upload-place"))
        self.apart = gr.Checkbox(False, label=APART, info=APART_INFO, visible=False, elem_id="upload-apart")
        self.everything = gr.Checkbox(label="Import all", visible=False, elem_id="upload-all")
        self.start = gr.Button("Import", variant="primary", visible=False, elem_id="upload-start")
        self.task = TaskPanel("upload")
        self.report = gr.HTML(padding=False, elem_id="upload-report")
        parts = [self.preview, self.choice, self.everything, self.user, self.place, self.apart, self.start]
        outputs = [*parts, *self.task.outputs, self.report, self.imported]
        self.file.upload(self.show_preview, [self.file], [*outputs, self.has_choice, self.asks_user], **PRIVATE)
        self.file.clear(self.clear, None, parts, **PRIVATE)
        self.place.input(lambda place: gr.Checkbox(visible=place == OWN_PERSONA), self.place, self.apart, **PRIVATE)
        inputs = [self.file, self.choice, self.everything, self.has_choice, self.asks_user, self.user]
        inputs += [self.place, self.apart]
        self.start.click(self.import_file, inputs, [*outputs, self.file], **PRIVATE)

    def clear(self) -> Update:
        """Show no file."""
        return {
            self.preview: "",
            self.choice: gr.Dropdown([], value=[], visible=False),
            self.everything: gr.Checkbox(value=False, visible=False),
            self.user: gr.Radio([], value=None, visible=False),
            self.place: gr.Radio(value=INTO_MEMORY, visible=False),
            self.apart: gr.Checkbox(value=False, visible=False),
            self.start: gr.Button(visible=False),
        }

    def show_preview(self, path: str, request: gr.Request) -> Iterator[Update]:
        """Show what a file contains; stores nothing."""

        def work(task: Task) -> Update:
            try:
                with wait_for_turn(self._turn, lambda: task.report(0)):
                    contents = ingest.summarize(Path(path), task.report)
            except UnreadableFile as error:
                return {self.report: error_box(without_folders(str(error)))}
            several = len(contents.histories) > 1
            choices = [(_describe(history), history.external_id or history.name) for history in contents.histories]
            return {
                self.preview: render("import_preview.html", name=Path(path).name, file=contents),
                self.choice: gr.Dropdown(choices, value=[], visible=several),
                self.everything: gr.Checkbox(value=False, visible=several, label=f"Import all {len(choices)}"),
                self.user: gr.Radio(
                    [*((clip(name, 60), name) for name in contents.speakers), ("None of these", "")],
                    value=self._user_of(contents),
                    visible=bool(contents.speakers),
                ),
                self.place: gr.Radio(value=INTO_MEMORY if contents.is_chat else OWN_PERSONA, visible=contents.is_chat),
                self.apart: gr.Checkbox(
                    value=not contents.may_share, visible=contents.may_share and not contents.is_chat
                ),
                self.start: gr.Button(visible=True),
                self.has_choice: several,
                self.asks_user: bool(contents.speakers),
            }

        yield {**self.clear(), self.report: "", self.imported: None}
        yield from self.task.run("Reading", request, work, outlives_page=False)

    def _user_of(self, contents: FileSummary) -> str | None:
        """Which of the speakers the user is, by the file or by the name that they told; None if that is not known."""
        # What is told to one is known to all, but to those that are kept apart.
        sharing = next((persona for persona in self.bank.personas() if not persona.kept_apart), None)
        name = name_told(self.bank, sharing.id, datetime.now(UTC)).casefold() if sharing else ""
        return contents.user or next((each for each in contents.speakers if each.casefold() == name), None)

    def import_file(
        self,
        path: str,
        chosen: list[str],
        everything: bool,
        has_choice: bool,
        asks_user: bool,
        user: str | None,
        place: str,
        apart: bool,
        request: gr.Request,
    ) -> Iterator[Update]:
        """Store the chosen histories of a file, then delete the uploaded copy."""
        if has_choice and not chosen and not everything:
            yield {self.report: error_box("Choose at least one, or import all.")}
            return
        if asks_user and user is None:
            yield {self.report: error_box("Choose which one you are, or “None of these”.")}
            return

        def work(task: Task) -> Update:
            file = Path(path)
            try:
                with wait_for_turn(self._turn, lambda: task.report(0)), journal.requested_by("upload"):
                    choose = chosen if has_choice and not everything else None
                    report = ingest.ingest(
                        self.bank,
                        file,
                        choose=choose,
                        persona=str(self.own().id) if place == INTO_MEMORY else None,
                        user=user or "",
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

        yield {self.report: ""}
        yield from self.task.run("Importing", request, work)


def _describe(history: HistorySummary) -> str:
    names = " · ".join(dict.fromkeys(name for name in (history.name, history.external_id) if name))
    return f"{clip(names, 80)} ({format_count(history.sessions, 'session')}, {format_count(history.turns, 'turn')})"
