"""The personas that a bank begins with, and the parts of the Chat tab that create one: the welcome, and a form."""

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path

import gradio as gr

from graph.replies.card import OF_ASSISTANT
from graph.replies.phrases import MANNERS
from graph.state import USER
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.relations import YOU
from memory.errors import MemoirError
from memory.ingest import ingest
from memory.tab.parts import PRIVATE, CardFields, Update, look, read_picture, render
from memory.types import LearnedMemory, MemoryDraft, Persona, PersonaDraft, Quote, Relation, SessionDraft, TurnDraft

SAMPLE = "sample"
"""The source id of the sample persona, which the Chat tab offers as a demo."""

FILES = Path(__file__).parents[2] / "assets" / "sample"

ASSISTANT = PersonaDraft("Memoir", description=OF_ASSISTANT, manner="warm", kept_apart=False)
"""The persona that a user starts with."""

PROACTIVE = "Bring up memories on its own"
"""Label of the setting that lets a persona mention at most one memory where nothing was asked."""


def import_sample(bank: Bank) -> None:
    """Import the sample persona into a new bank; not again where all was forgotten."""
    if not bank.personas() and not journal.count(bank):
        ingest(bank, FILES / "ida.jsonl")


def find_sample(bank: Bank) -> Persona | None:
    """The sample persona, unless it was deleted."""
    return next((persona for persona in bank.personas() if persona.external_id == SAMPLE), None)


def own_personas(bank: Bank) -> list[Persona]:
    """All other personas, the oldest first."""
    return [persona for persona in bank.personas() if persona.external_id != SAMPLE]


def own_assistant(bank: Bank) -> Persona:
    """The persona that the user's conversations are imported into: the first that is not kept apart, or a new one."""
    shared = (persona for persona in own_personas(bank) if not persona.kept_apart and not persona.external_id)
    return next(shared, None) or bank.create_persona(ASSISTANT)


def example_questions() -> list[str]:
    """Questions that the sample persona can answer."""
    return [str(q["question"]) for q in json.loads((FILES / "questions.json").read_text("utf-8"))]


def introduce(bank: Bank, name: str) -> tuple[Persona, str]:
    """Create the user's own assistant; return it and the id of the chat in which it learned the name, if one was given.

    The name has a source like any other fact: the exchange on the welcome page.
    """
    persona, name = bank.create_persona(ASSISTANT), " ".join(name.split())
    if not name:
        return persona, ""
    now = datetime.now(UTC).astimezone()
    welcome = f"Nice to meet you, {name}. Tell me something about yourself, and I'll remember it."
    lines = ((persona.name, f"Hello, I'm {persona.name}. What is your name?"), (USER, name), (persona.name, welcome))
    chat_id, said_text = uuid.uuid4().hex, now.isoformat(timespec="seconds")
    turns = tuple(
        TurnDraft(who, "user" if who == USER else "assistant", text, now, said_text, uuid.uuid4().hex, recallable=False)
        for who, text in lines
    )
    key, relation = f"Name: {name}. My name is {name}.", Relation(YOU, "name", name)
    told = MemoryDraft("profile", f"Name: {name}", key, said_at=now, speaker=USER, attribute="name", relation=relation)
    learned = LearnedMemory(told, (Quote(1, name),))
    chat = SessionDraft(turns, now, said_text, chat_id, source="chat", learned=(learned,))
    bank.remember(persona.id, [chat])
    return persona, chat_id


class WelcomePanel:
    """The panel's components; `started` gets the id of the user's own persona and that of the chat to open."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self.started: gr.State = gr.State(None)
        with gr.Column(visible=False, elem_classes="memoir-welcome", elem_id="welcome") as self.panel:
            gr.HTML(render("welcome.html"), padding=False)
            with gr.Row(elem_classes="memoir-welcome-name"):
                self.name = gr.Textbox(**look("welcome-name"))
                start = gr.Button("Start", variant="primary", scale=1, min_width=100, elem_id="welcome-start")
            self.models = gr.Radio(**look("welcome-models"))
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
        self.description = gr.Textbox(**look("persona-description"))
        self.manner = gr.Dropdown(list(MANNERS), value="plain", label="Tone")
        self.proactive = gr.Checkbox(True, label=PROACTIVE, elem_id="persona-proactive")
        self.apart = gr.Checkbox(**look("persona-apart"))
        self.card = CardFields("persona")
        create = gr.Button("Create", variant="primary", elem_id="persona-create")
        texts = [self.card.picture, *self.card.inputs]
        inputs = [self.name, self.description, self.manner, self.proactive, self.apart, *texts]
        outputs = [self.name, self.description, self.proactive, self.apart, *texts, self.created]
        create.click(self.create, inputs, outputs, **PRIVATE)

    def create(
        self, name: str, description: str, manner: str, proactive: bool, apart: bool, picture: str | None, *card: str
    ) -> Update:
        """Create the persona and empty the fields."""
        if not name.strip():
            raise MemoirError("Give the new persona a name.")
        about, scenario, opening, examples = (text.strip() for text in (description, *card))
        cut = read_picture(picture)
        draft = PersonaDraft(name, "", about, (), manner, proactive, scenario, opening, examples, apart, cut)
        persona = self.bank.create_persona(draft)
        emptied = {self.name: "", self.description: "", **self.card.show(PersonaDraft(""))}
        return {**emptied, self.proactive: True, self.apart: False, self.created: persona.id}
