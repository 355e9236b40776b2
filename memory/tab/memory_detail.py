"""The memory selected in the Memory tab: its card, its source, and the ways to correct or forget it."""

from __future__ import annotations

from typing import Any

import gradio as gr

from memory.bank.bank import Bank
from memory.forgetting import forget
from memory.tab.correction_panel import CorrectionPanel
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.memory_card import render_card, render_origin
from memory.tab.templates import empty_state, render
from memory.types import Memory

REACH = 30
"""Turns shown before and after the source of a memory."""


class MemoryDetail:
    """The components beside the list; `selected` holds the id of the memory."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.selected: gr.State = gr.State(None)
        self.card = gr.HTML(padding=False, elem_id="memory-detail")
        self.corrections = CorrectionPanel(bank, persona, self.selected)
        self.forget = gr.Button("Forget this memory", variant="stop", visible=False, elem_id="memory-forget")
        with gr.Group(visible=False, elem_classes="memoir-confirm") as self.confirm:
            self.preview = gr.HTML(padding=False)
            with gr.Row():
                cancel = gr.Button("Cancel", size="md")
                self.sure = gr.Button("Forget for good", variant="stop", size="md", elem_id="memory-forget-sure")
        self.result = gr.HTML(padding=False, elem_id="memory-result")
        self.origin = gr.HTML(padding=False, elem_id="memory-origin")
        asked = [self.preview, self.confirm, self.forget]
        self.forget.click(self.show_preview, [persona, self.selected], asked, **PRIVATE)
        cancel.click(lambda: self._ask(False, True), None, [self.confirm, self.forget], **PRIVATE)

    @property
    def outputs(self) -> list[Any]:
        """The components that `show` and `clear` update."""
        parts = [self.card, self.origin, self.selected, self.result, self.confirm, self.forget]
        return [*parts, *self.corrections.outputs]

    def show(self, memory: Memory) -> Update:
        """Show a memory."""
        return {
            self.card: render_card(self.bank, memory),
            self.origin: render_origin(self.bank, memory, REACH),
            self.selected: memory.id,
            self.result: "",
            **self._ask(False, True),
            **self.corrections.show(memory.persona_id, memory),
        }

    def clear(self, persona_id: int | None) -> Update:
        """Show no memory."""
        return {
            self.card: empty_state("No memory selected", "Click a row, or press Enter on it, to see its source."),
            self.origin: "",
            self.selected: None,
            self.result: "",
            **self._ask(False),
            **self.corrections.show(persona_id, None),
        }

    @show_errors
    def show_preview(self, persona_id: int, memory_id: int) -> Update:
        """Show what would be forgotten with the memory."""
        gone = forget.preview_memories(self.bank, persona_id, [memory_id])
        return {self.preview: render("forget_preview.html", gone=gone), **self._ask(True)}

    def _ask(self, asking: bool, forgettable: bool = False) -> Update:
        """Show the question whether to forget the memory, or the button that asks it."""
        return {
            self.confirm: gr.Group(visible=asking),
            self.forget: gr.Button(visible=forgettable and not asking),
        }
