"""The box in which a history is dropped, looked into, chosen from and imported."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from memory import ingest, journal, panels
from memory.bank import Bank
from memory.errors import MemoirError
from memory.indexer import Indexer
from memory.tab.handling import WATCHED, Update

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
    gr.HTML(panels.line(WELCOME))
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
    report = gr.HTML(padding=False, elem_id="upload-report")

    def look(path: str) -> Update:
        try:
            held = ingest.contents(Path(path))
        except MemoirError as fault:
            return {**closed(), report: panels.problem(str(fault)), imported: None}
        several = len(held.histories) > 1
        choices = [(panels.history_name(h), h.external_id or h.name) for h in held.histories]
        return {
            found: panels.contents(Path(path).name, held),
            wanted: gr.Dropdown(choices, value=[], visible=several),
            everything: gr.Checkbox(value=False, visible=several, label=f"Take all {len(choices)}"),
            start: gr.Button(visible=True),
            report: "",
            imported: None,
        }

    def closed() -> Update:
        return {
            found: "",
            wanted: gr.Dropdown([], value=[], visible=False),
            everything: gr.Checkbox(value=False, visible=False),
            start: gr.Button(visible=False),
        }

    def take(path: str, names: list[str], take_all: bool, progress: gr.Progress = WATCHED) -> Update:
        held = Path(path)
        try:
            several = bool(ingest.contents(held).histories[1:])
            if several and not names and not take_all:
                return {report: panels.problem("Choose at least one of the histories, or take them all.")}
            with journal.requested("upload"):
                done = ingest.ingest(
                    bank,
                    held,
                    choose=names if several and not take_all else None,
                    progress=lambda share: progress(share, desc="Importing"),
                )
        except MemoirError as fault:
            return {report: panels.problem(str(fault))}
        finally:
            indexer.wake()
        shutil.rmtree(held.parent, ignore_errors=True)  # the server's copy, in a folder of its own
        return {
            **closed(),
            file: None,
            report: panels.report(held.name, done),
            imported: done.histories[0].persona.id,
        }

    parts = [found, wanted, everything, start]
    file.upload(look, [file], [*parts, report, imported], show_progress_on=found, api_visibility="private")
    file.clear(closed, None, parts, show_progress="hidden", api_visibility="private")
    start.click(
        take,
        [file, wanted, everything],
        [*parts, file, report, imported],
        show_progress_on=report,
        api_visibility="private",
    )
    return UploadBox(imported)
