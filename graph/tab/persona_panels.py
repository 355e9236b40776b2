"""The parts of the Chat tab that create personas: the welcome before the first chat, and the form for a new persona."""

from __future__ import annotations

import gradio as gr

from graph.replies.phrases import MANNERS
from graph.tab.first_personas import introduce
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.tab.card_fields import CardFields
from memory.tab.import_panel import APART, APART_INFO
from memory.tab.parts import PRIVATE, Update, render
from memory.types import PersonaDraft

PROACTIVE = "Bring up memories on its own"
"""Label of the setting that lets a persona mention at most one memory where nothing was asked."""


class WelcomePanel:
    """The panel's components; `started` gets the id of the user's own persona and that of the chat to open."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.started: gr.State = gr.State(None)
        with gr.Column(visible=False, elem_classes="memoir-welcome", elem_id="welcome") as self.panel:
            gr.HTML(render("welcome.html"), padding=False)
            with gr.Row(elem_classes="memoir-welcome-name"):
                self.name = gr.Textbox(
                    label="Your name (optional)",
                    max_length=80,
                    max_lines=1,
                    scale=3,
                    min_width=180,
                    elem_id="welcome-name",
                )
                start = gr.Button("Start", variant="primary", scale=1, min_width=100, elem_id="welcome-start")
            self.models = gr.Radio(
                visible=False, label="Talk with a model that runs on this computer", elem_id="welcome-models"
            )
            with gr.Column(elem_classes="memoir-welcome-demo") as self.offer:
                gr.HTML(render("welcome_demo.html"), padding=False)
                self.demo = gr.Button("Try the demo", elem_id="welcome-demo")
        gr.on([start.click, self.name.submit], self.start, self.name, [self.name, self.started], **PRIVATE)

    def start(self, name: str) -> Update:
        """Create the user's own persona, and tell it the name."""
        persona, chat_id = introduce(self.bank, name)
        return {self.name: "", self.started: (persona.id, chat_id)}


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
        self.apart = gr.Checkbox(False, label=APART, info=APART_INFO, elem_id="persona-apart")
        self.card = CardFields("persona")
        create = gr.Button("Create", variant="primary", elem_id="persona-create")
        inputs = [self.name, self.description, self.manner, self.proactive, self.apart, *self.card.inputs]
        outputs = [self.name, self.description, self.proactive, self.apart, *self.card.inputs, self.created]
        create.click(self.create, inputs, outputs, **PRIVATE)

    def create(self, name: str, description: str, manner: str, proactive: bool, apart: bool, *card: str) -> Update:
        """Create the persona and empty the fields."""
        if not name.strip():
            raise MemoirError("Give the new persona a name.")
        about, scenario, opening, examples = (text.strip() for text in (description, *card))
        draft = PersonaDraft(name, "", about, (), manner, proactive, scenario, opening, examples, apart)
        persona = self.bank.create_persona(draft)
        emptied = dict.fromkeys([self.name, self.description, *self.card.inputs], "")
        return {**emptied, self.proactive: True, self.apart: False, self.created: persona.id}
