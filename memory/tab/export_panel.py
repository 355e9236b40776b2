"""The part of the Memory tab that hands out what the bank holds: a persona, all of it, or a backup."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from memory.bank import backup
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.exporting import downloads, export
from memory.progress import Task
from memory.tab.events import PRIVATE, Update
from memory.tab.task_panel import task_bar
from memory.tab.templates import hint
from memory.types import Persona

ABOUT = (
    "An export is a text file with every conversation and memory of the persona, or of all; Memoir reads it back in "
    "Chat, under “Bring in a history”. A backup is the bank itself, for “python -m memory restore”."
)


def taking_panel(bank: Bank, persona: gr.Dropdown) -> None:
    """Build the panel."""
    with gr.Accordion("Take it with you", open=False, elem_id="take"):
        gr.HTML(hint(ABOUT), padding=False)
        with gr.Row():
            one = gr.Button("Export this persona", min_width=170, elem_id="take-persona")
            everything = gr.Button("Export the whole bank", min_width=170, elem_id="take-bank")
            copy = gr.Button("Back up the bank", min_width=170, elem_id="take-backup")
        bar = task_bar("take")
        file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="take-file")

    def made(request: gr.Request, doing: str, make: Callable[[Task], Path]) -> Iterator[Update]:
        yield {file: gr.File(visible=False)}
        yield from bar.watch(
            doing, request, lambda task: {file: gr.File(str(make(task)), visible=True)}, outlives=False
        )

    def exported(personas: Sequence[Persona], name: str, task: Task) -> Path:
        return downloads.create(bank.path, name, "jsonl", lambda path: export.write(bank, personas, path, task.report))

    def export_one(persona_id: int | None, request: gr.Request) -> Iterator[Update]:
        def make(task: Task) -> Path:
            if persona_id is None:
                raise MemoirError("There is no persona yet.")
            who = bank.persona(persona_id)
            return exported([who], who.name, task)

        yield from made(request, "Exporting this persona", make)

    def export_all(request: gr.Request) -> Iterator[Update]:
        yield from made(request, "Exporting the whole bank", lambda task: exported(bank.personas(), "bank", task))

    def back_up(request: gr.Request) -> Iterator[Update]:
        def make(task: Task) -> Path:
            return downloads.create(bank.path, "bank", "db", lambda path: backup.backup(bank, path, task))

        yield from made(request, "Backing up the bank", make)

    # One at a time: the one before is deleted when another is made.
    turn: dict[str, Any] = {"concurrency_id": "take", "concurrency_limit": 1, **PRIVATE}
    one.click(export_one, persona, [file, *bar.parts], **turn)
    everything.click(export_all, None, [file, *bar.parts], **turn)
    copy.click(back_up, None, [file, *bar.parts], **turn)
