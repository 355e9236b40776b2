"""The box in which a history is dropped, looked into, chosen from and imported."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from memory import ingest
from memory.bank import journal
from memory.bank.bank import Bank
from memory.errors import BankUnavailable, UnreadableFile
from memory.ingest import HistorySummary
from memory.progress import Task
from memory.search.indexer import Indexer
from memory.tab.events import PRIVATE, Update
from memory.tab.formatting import clip, format_count
from memory.tab.task_panel import task_bar
from memory.tab.templates import error_box, hint, render

WELCOME = (
    "An export of ChatGPT, Claude, Open WebUI, LibreChat, SillyTavern, WhatsApp or Telegram, zipped or not; a "
    "character card; a Memoir export, a benchmark's file or a plain transcript. Its format is found by itself."
)


@dataclass(frozen=True, slots=True)
class UploadBox:
    """The parts of the upload box that its tab listens to: `imported` changes to the id of the persona imported."""

    imported: gr.State


def upload_box(bank: Bank, indexer: Indexer) -> UploadBox:
    """Build the box in which a history is dropped, looked into, chosen from and imported."""
    imported: gr.State = gr.State(None)
    gr.HTML(hint(WELCOME))
    file = gr.File(
        show_label=False,
        height=120,
        elem_classes="memoir-drop",
        elem_id="upload",
    )
    found = gr.HTML(padding=False, elem_id="upload-found")
    wanted = gr.Dropdown(
        label="Which histories", multiselect=True, filterable=True, visible=False, elem_id="upload-choose"
    )
    everything = gr.Checkbox(label="Take them all", visible=False, elem_id="upload-all")
    start = gr.Button("Import", variant="primary", visible=False, elem_id="upload-start")
    bar = task_bar("upload")
    report = gr.HTML(padding=False, elem_id="upload-report")
    several: gr.State = gr.State(False)

    def look(path: str, request: gr.Request) -> Iterator[Update]:
        def work(task: Task) -> Update:
            try:
                held = ingest.summarize(Path(path), task.report)
            except UnreadableFile as fault:
                return {report: error_box(str(fault))}
            many = len(held.histories) > 1
            choices = [(_history_name(h), h.external_id or h.name) for h in held.histories]
            return {
                found: render("import_preview.html", name=Path(path).name, file=held),
                wanted: gr.Dropdown(choices, value=[], visible=many),
                everything: gr.Checkbox(value=False, visible=many, label=f"Take all {len(choices)}"),
                start: gr.Button(visible=True),
                several: many,
            }

        yield {**closed(), report: "", imported: None}
        yield from bar.watch("Reading", request, work, outlives=False)

    def closed() -> Update:
        return {
            found: "",
            wanted: gr.Dropdown([], value=[], visible=False),
            everything: gr.Checkbox(value=False, visible=False),
            start: gr.Button(visible=False),
        }

    def take(path: str, names: list[str], take_all: bool, many: bool, request: gr.Request) -> Iterator[Update]:
        if many and not names and not take_all:
            yield {report: error_box("Choose at least one of the histories, or take them all.")}
            return

        def work(task: Task) -> Update:
            held = Path(path)
            try:
                with journal.requested("upload"):
                    chosen = names if many and not take_all else None
                    done = ingest.ingest(bank, held, choose=chosen, progress=task.report)
            except (UnreadableFile, BankUnavailable) as fault:
                return {report: error_box(str(fault))}
            finally:
                indexer.wake()
            shutil.rmtree(held.parent, ignore_errors=True)  # the server's copy, in a folder of its own
            new = done.histories[0].persona.id
            return {
                **closed(),
                file: None,
                report: render("import_report.html", name=held.name, report=done),
                imported: new,
            }

        yield {report: ""}
        yield from bar.watch("Importing", request, work)

    parts = [found, wanted, everything, start]
    shown = [*parts, *bar.parts, report, imported]
    file.upload(look, [file], [*shown, several], **PRIVATE)
    file.clear(closed, None, parts, **PRIVATE)
    start.click(take, [file, wanted, everything, several], [*shown, file], **PRIVATE)
    return UploadBox(imported)


def _history_name(history: HistorySummary) -> str:
    names = " · ".join(dict.fromkeys(name for name in (history.name, history.external_id) if name))
    return f"{clip(names, 80)} ({format_count(history.sessions, 'session')}, {format_count(history.turns, 'turn')})"
