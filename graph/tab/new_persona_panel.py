"""The part of the Chat tab that creates a persona."""

from __future__ import annotations

import gradio as gr

from graph.replies.manners import MANNERS
from graph.tab.introduction import tell_name
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.tab.card_fields import CardFields
from memory.tab.events import PRIVATE, Update
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
        self.card = CardFields("persona")
        create = gr.Button("Create", variant="primary", elem_id="persona-create")
        inputs = [self.name, self.description, self.manner, self.proactive, *self.card.inputs]
        outputs = [self.name, self.description, self.proactive, *self.card.inputs, self.created]
        create.click(self.create, inputs, outputs, **PRIVATE)

    def create(self, name: str, description: str, manner: str, proactive: bool, *card: str) -> Update:
        """Create the persona and empty the fields."""
        if not name.strip():
            raise MemoirError("Give the new persona a name.")
        about, *texts = (text.strip() for text in (description, *card))
        persona = self.bank.create_persona(PersonaDraft(name, "", about, (), manner, proactive, *texts))
        tell_name(self.bank, persona)
        emptied = dict.fromkeys([self.name, self.description, *self.card.inputs], "")
        return {**emptied, self.proactive: True, self.created: persona.id}
