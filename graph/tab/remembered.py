"""What a message taught, behind the chip below it: each memory, with a way to edit it and to take it back."""

from __future__ import annotations

from dataclasses import replace

import gradio as gr
from markupsafe import Markup

from graph.tab.messages import Chat
from graph.understanding.parts import tells
from memory.bank import corrections
from memory.bank.bank import Bank
from memory.bank.queries.chats import memories_of_turn
from memory.errors import MemoirError
from memory.tab.memory_card import kind_name
from memory.tab.parts import PRIVATE, render
from memory.types import Memory

SHOW_REMEMBERED = """element.popover = "auto";
window.showRemembered = (detail) => trigger("select", detail);"""
"""Lets screen.js ask for what a turn taught, after an action on one memory of it."""


class RememberedPanel:
    """The panel, a popover of the page."""

    def __init__(self, bank: Bank, chat: gr.State) -> None:
        self.bank = bank
        self.view = gr.HTML(padding=False, js_on_load=SHOW_REMEMBERED, elem_id="remembered")
        self.view.select(self.show, chat, self.view, **PRIVATE)

    def show(self, chat: Chat, event: gr.EventData) -> Markup:
        """Correct a memory, if the event has an action ("edit", "wrong" or "undo"), and show what its turn taught."""
        if chat.persona_id is None:
            raise MemoirError("This chat was forgotten.")
        if event.action == "edit":
            memory = self.bank.memory(chat.persona_id, int(event.memory))
            corrections.edit(self.bank, replace(memory, text=str(event.text)))
        elif event.action == "wrong":
            corrections.mark_wrong(self.bank, chat.persona_id, int(event.memory))
        elif event.action == "undo":
            corrections.undo(self.bank, chat.persona_id)
        last = corrections.last_change(self.bank, chat.persona_id)
        taught = [(kind_name(memory), memory) for memory in taught_by(self.bank, chat, str(event.turn))]
        return render("remembered.html", turn=event.turn, taught=taught, last=last and last.memory_id)


def taught_by(bank: Bank, chat: Chat, turn: str) -> list[Memory]:
    """What was made of a turn of a chat, with what was taken back since; what was said is left out if it only asks."""
    assert chat.persona_id is not None
    made = memories_of_turn(bank, chat.persona_id, chat.id, turn)
    return [memory for memory in made if memory.store != "dialogue" or tells(memory.text)]
