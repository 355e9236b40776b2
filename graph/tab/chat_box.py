"""The conversation itself: the bubbles, what a message taught, the box to write in, and example questions."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile, zip_longest
from typing import Any

import gradio as gr
from markupsafe import Markup

from graph.assistant import Assistant
from graph.readers.recaps import ahead, say_plan
from graph.replies.suggestions import MOST, suggest_questions
from graph.state import Services
from graph.tab import messages
from graph.tab.messages import ASK, GO_ON, SEND, Chat
from graph.tab.personas import SAMPLE, example_questions
from graph.understanding.parts import tells
from memory.bank import corrections, journal
from memory.bank.bank import Bank
from memory.bank.queries.chats import memories_of_chat
from memory.bank.queries.told import known_period, upcoming
from memory.errors import MemoirError
from memory.tab.memory_card import kind_name
from memory.tab.parts import PERSONA_AVATAR, PRIVATE, UNCHANGED, USER_AVATAR, Update, empty_state, look, render
from memory.types import Memory, Persona

LOOKING = "One moment…"

SOON = timedelta(days=8)
"""How far ahead an empty chat names plans: until the same day of next week."""

MOST_SOON = 4
"""Most plans that it names."""

SHOW_REMEMBERED = """element.popover = "auto";
window.showRemembered = (detail) => trigger("select", detail);"""
"""Lets screen.js ask for what a turn taught, after an action on one memory of it."""


class ChatBox:
    """The components.

    `bubbles` must be an input of no event: Gradio would build any component that a client sends as a message. `dated`
    and `unkept` say beside the composer what is special now, as does what screen.js shows while a message is edited; a
    click ends it.
    """

    def __init__(self) -> None:
        self.bubbles = gr.Chatbot(avatar_images=(USER_AVATAR, PERSONA_AVATAR), feedback_options=None, **look("chat"))
        chip: dict[str, Any] = {"size": "sm", "min_width": 0, "elem_classes": "memoir-chip"}
        with gr.Column(elem_classes="memoir-examples"):
            gr.HTML(render("overline.html", text="Try asking"), padding=False)
            with gr.Row(elem_classes="memoir-chips"):
                self.suggestions = [gr.Button(visible=False, **chip) for _ in range(MOST)]
        with gr.Row(elem_classes="memoir-chips"):
            gr.Button("Editing: replaces all that came after ✕", elem_id="edited", **chip)
            self.dated = gr.Button(visible=False, elem_id="dated", **chip)
            self.unkept = gr.Button("Not remembered ✕", visible=False, elem_id="unkept", **chip)
        self.go_on = gr.Button(GO_ON, visible=False, size="sm", min_width=90, elem_id="go-on")
        # Interactive, because Gradio lets nobody write in what is the input of no event.
        self.composer = gr.Textbox(placeholder=ASK, submit_btn=SEND, interactive=True, **look("composer"))
        self.shown = [self.bubbles, self.composer, self.go_on]

    def show(self, services: Services, persona: Persona | None, chat: Chat | None = None) -> Update:
        """Say with whom an empty chat is, and show the bubbles of a chat; without one they stay as they are."""
        bubbles: Update = {} if chat is None else {"value": messages.shown(chat.bubbles)}
        return {self.bubbles: gr.update(placeholder=describe_persona(services, persona), **bubbles)}

    def greet(self, assistant: Assistant, chat: Chat) -> Update:
        """Say with whom an empty chat is once more, when the models are loaded that tell which plans hold."""
        if chat.bubbles or chat.persona_id is None:
            return UNCHANGED
        return self.show(assistant.services, assistant.services.bank.persona(chat.persona_id))

    def suggest(self, bank: Bank, persona: Persona | None) -> Update:
        """Suggest questions that the persona can answer."""
        is_demo = persona is not None and persona.external_id == SAMPLE
        questions = example_questions() if is_demo else suggest_questions(bank, persona) if persona else []
        return {
            button: gr.Button(question, visible=bool(question))
            for button, question in zip_longest(self.suggestions, questions[:MOST], fillvalue="")
        }


def describe_persona(services: Services, persona: Persona | None) -> Markup:
    """Render what an empty chat says of its persona, and of the next days, if it may bring up memories on its own.

    The next days come once the models are loaded: these tell which plans still hold.
    """
    if persona is None:
        return empty_state("No persona yet", "Create a persona, or import a conversation.")
    bank, now = services.bank, datetime.now(UTC).astimezone()
    soon: list[str] = []
    if persona.proactive and services.searcher.embedder.ready:
        soon = list(coming_up(services, persona, now))
    elif persona.proactive and upcoming(bank, persona.id, now, 1):
        soon = [LOOKING]
    known, counts = bank.time_range(persona.id), bank.counts(persona.id)
    is_new = known is None and known_period(bank, persona.id) is None
    return render("empty_chat.html", persona=persona, known=known, counts=counts, is_new=is_new, soon=soon)


def coming_up(services: Services, persona: Persona, now: datetime) -> Iterator[str]:
    """What was told of the next days and still holds, a line each."""
    told = ((plan, plan.memory.event) for plan in ahead(persona.id, now, services) if plan.memory.event)
    soon = takewhile(lambda planned: planned[1].start < now + SOON, told)
    # "In December" is no plan of a day.
    of_days = (plan for plan, when in soon if when.end - when.start < SOON)
    return (say_plan(plan, now) for plan in islice(of_days, MOST_SOON))


class RememberedPanel:
    """The panel, a popover of the page."""

    def __init__(self, bank: Bank, chat: gr.State) -> None:
        self.bank = bank
        self.view = gr.HTML(padding=False, js_on_load=SHOW_REMEMBERED, elem_id="remembered")
        self.view.select(self.show, chat, self.view, **PRIVATE)

    @journal.requested_by("Chat tab")
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
        of_turn = taught_by(self.bank, chat.persona_id, chat.id, str(event.turn))
        taught = [(kind_name(memory), memory) for memory in of_turn]
        return render("remembered.html", turn=event.turn, taught=taught, last=last and last.memory_id)


def taught_by(bank: Bank, persona_id: int, chat_id: str, turn: str = "") -> list[Memory]:
    """What was made of a chat or of one turn of it, with what was taken back since.

    What was said is left out if it only asks.
    """
    made = memories_of_chat(bank, persona_id, chat_id, turn)
    return [memory for memory in made if memory.store != "dialogue" or tells(memory.text)]
