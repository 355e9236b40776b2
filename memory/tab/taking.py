"""The part of the Memory tab that hands out what the bank holds: a persona, all of it, or a backup."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gradio as gr

from memory import backup, downloads, export, panels
from memory.bank import Bank
from memory.errors import MemoirError
from memory.tab.handling import PRIVATE, Update, told

ABOUT = (
    "An export is a text file with every conversation and memory of the persona, or of all; Memoir reads it back in "
    "Chat, under “Bring in a history”. A backup is the bank itself, for “python -m memory restore”."
)


def taking_panel(bank: Bank, persona: gr.Dropdown) -> None:
    """Build the panel."""
    with gr.Accordion("Take it with you", open=False, elem_id="take"):
        gr.HTML(panels.line(ABOUT), padding=False)
        with gr.Row():
            one = gr.Button("Export this persona", min_width=170, elem_id="take-persona")
            everything = gr.Button("Export the whole bank", min_width=170, elem_id="take-bank")
            copy = gr.Button("Back up the bank", min_width=170, elem_id="take-backup")
        file = gr.File(label="Ready to download", visible=False, interactive=False, elem_id="take-file")

    def made(name: str, ending: str, write: Callable[[Path], object]) -> Update:
        return {file: gr.File(str(downloads.make(bank.path, name, ending, write)), visible=True)}

    @told
    def export_one(persona_id: int | None) -> Update:
        if persona_id is None:
            raise MemoirError("There is no persona yet.")
        who = bank.persona(persona_id)
        return made(who.name, "jsonl", lambda path: export.write(bank, [who], path))

    @told
    def export_all() -> Update:
        return made("bank", "jsonl", lambda path: export.write(bank, bank.personas(), path))

    @told
    def back_up() -> Update:
        return made("bank", "db", lambda path: backup.backup(bank, path))

    one.click(export_one, persona, [file], **PRIVATE)
    everything.click(export_all, None, [file], **PRIVATE)
    copy.click(back_up, None, [file], **PRIVATE)
