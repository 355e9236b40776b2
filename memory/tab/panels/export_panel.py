"""The part of the Memory tab that exports a persona or the whole bank, or backs the bank up."""

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
from memory.tab.task_panel import TaskPanel
from memory.tab.templates import hint
from memory.types import Persona

ABOUT = (
    "An export is a text file with all conversations and memories of one persona, or of all of them. To bring it back, "
    "import it in Chat, under “Import a conversation”. A backup is a copy of your bank, the file that "
    "holds everything; restore it with “python -m memory restore”."
)


class ExportPanel:
    """The panel's components."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        with gr.Accordion("Export and backup", open=False, elem_id="take"):
            gr.HTML(hint(ABOUT), padding=False)
            with gr.Row():
                one = gr.Button("Export this persona", min_width=170, elem_id="take-persona")
                everything = gr.Button("Export everything", min_width=170, elem_id="take-bank")
                copy = gr.Button("Back up the bank", min_width=170, elem_id="take-backup")
            self.task = TaskPanel("take")
            self.file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="take-file")
        outputs = [self.file, *self.task.outputs]
        # One at a time: each new file deletes the one before.
        queue: dict[str, Any] = {"concurrency_id": "take", "concurrency_limit": 1, **PRIVATE}
        one.click(self.export_persona, persona, outputs, **queue)
        everything.click(self.export_all, None, outputs, **queue)
        copy.click(self.back_up, None, outputs, **queue)

    def export_persona(self, persona_id: int | None, request: gr.Request) -> Iterator[Update]:
        """Export the persona that is chosen."""

        def make(task: Task) -> Path:
            if persona_id is None:
                raise MemoirError("There is no persona yet. Create one in Chat.")
            persona = self.bank.persona(persona_id)
            return self._export([persona], persona.name, task)

        yield from self._offer(request, "Exporting this persona", make)

    def export_all(self, request: gr.Request) -> Iterator[Update]:
        """Export all personas."""
        personas = self.bank.personas
        yield from self._offer(request, "Exporting everything", lambda task: self._export(personas(), "bank", task))

    def back_up(self, request: gr.Request) -> Iterator[Update]:
        """Copy the bank."""

        def make(task: Task) -> Path:
            return downloads.create(self.bank.path, "bank", "db", lambda path: backup.backup(self.bank, path, task))

        yield from self._offer(request, "Backing up the bank", make)

    def _export(self, personas: Sequence[Persona], name: str, task: Task) -> Path:
        def write(path: Path) -> int:
            return export.write_export(self.bank, personas, path, task.report)

        return downloads.create(self.bank.path, name, "jsonl", write)

    def _offer(self, request: gr.Request, title: str, make: Callable[[Task], Path]) -> Iterator[Update]:
        """Make a file and offer it for download."""

        def work(task: Task) -> Update:
            return {self.file: gr.File(str(make(task)), visible=True)}

        yield {self.file: gr.File(visible=False)}
        yield from self.task.run(title, request, work, outlives_page=False)
