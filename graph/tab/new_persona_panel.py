"""The part of the Chat tab that creates a persona."""

from __future__ import annotations

import gradio as gr

from graph.replies.manners import MANNERS
from graph.tab.introduction import tell_name
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.tab.events import PRIVATE, Update, show_errors
from memory.types import PersonaDraft

PROACTIVE = "Bring up memories on its own"
"""Label of the setting that lets a persona mention at most one memory where nothing was asked."""


class NewPersonaPanel:
    """The panel's components; `created` gets the id of each new persona."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.created: gr.State = gr.State(None)
        self.name = gr.Textbox(label="Name", max_length=80, elem_id="persona-name")
        self.description = gr.Textbox(
            label="Description",
            lines=2,
            max_length=2000,
            info="Who this persona is, for example: a friend from university.",
        )
        self.manner = gr.Dropdown(list(MANNERS), value="plain", label="Tone")
        self.proactive = gr.Checkbox(True, label=PROACTIVE, elem_id="persona-proactive")
        create = gr.Button("Create", variant="primary", elem_id="persona-create")
        inputs = [self.name, self.description, self.manner, self.proactive]
        create.click(self.create, inputs, [self.name, self.description, self.proactive, self.created], **PRIVATE)

    @show_errors
    def create(self, name: str, description: str, manner: str, proactive: bool) -> Update:
        """Create the persona and empty the fields."""
        if not name.strip():
            raise MemoirError("Give the new persona a name.")
        draft = PersonaDraft(name, description=description.strip(), manner=manner, proactive=proactive)
        persona = self.bank.create_persona(draft)
        tell_name(self.bank, persona)
        return {self.name: "", self.description: "", self.proactive: True, self.created: persona.id}
