"""The conversation itself: the bubbles, the box to write in, and example questions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import gradio as gr
from markupsafe import Markup

from graph.replies.suggestions import MOST, suggest_questions
from graph.tab.first_personas import SAMPLE, example_questions
from graph.tab.messages import ASK, GO_ON, SEND
from memory.bank.bank import Bank
from memory.formatting import format_count, format_day
from memory.tab.events import Update
from memory.tab.templates import PERSONA_AVATAR, USER_AVATAR, empty_state, render
from memory.types import Persona


class ChatBox:
    """The components.

    `bubbles` must be an input of no event: Gradio would build any component that a client sends as a message. `dated`
    and `unkept` say beside the composer what is special in this chat; a click ends it.
    """

    def __init__(self) -> None:
        self.bubbles = gr.Chatbot(
            show_label=False,
            height="100%",
            avatar_images=(USER_AVATAR, PERSONA_AVATAR),
            buttons=[],
            feedback_options=None,
            latex_delimiters=[],
            allow_tags=False,
            layout="bubble",
            elem_classes="memoir-chat",
            elem_id="chat",
        )
        with gr.Column(elem_classes="memoir-examples"):
            gr.HTML(render("overline.html", text="Try asking"), padding=False)
            with gr.Row(elem_classes="memoir-chips"):
                self.suggestions = [
                    gr.Button(visible=False, size="sm", min_width=0, elem_classes="memoir-chip") for _ in range(MOST)
                ]
        with gr.Row(elem_classes="memoir-chips"):
            self.dated = gr.Button(visible=False, size="sm", min_width=0, elem_classes="memoir-chip", elem_id="dated")
            self.unkept = gr.Button(
                "Not remembered ✕", visible=False, size="sm", min_width=0, elem_classes="memoir-chip", elem_id="unkept"
            )
        self.go_on = gr.Button(GO_ON, visible=False, size="sm", min_width=90, elem_id="go-on")
        self.composer = gr.Textbox(
            placeholder=ASK,
            label="Your message",
            show_label=False,
            submit_btn=SEND,
            max_lines=6,
            autofocus=True,
            elem_classes="memoir-composer",
            elem_id="composer",
        )

    def suggest(self, bank: Bank, persona: Persona | None) -> Update:
        """Suggest questions that the persona can answer."""
        if persona is None:
            questions: Sequence[str] = ()
        else:
            questions = example_questions() if persona.external_id == SAMPLE else suggest_questions(bank, persona)
        return {
            button: gr.Button(question, visible=bool(question))
            for button, question in zip_longest(self.suggestions, questions[:MOST], fillvalue="")
        }


def describe_persona(bank: Bank, persona: Persona | None) -> Markup:
    """Render what an empty chat says of its persona."""
    if persona is None:
        return empty_state("No persona yet", "Create a persona, or import a conversation.")
    counts, known = bank.counts(persona.id), bank.time_range(persona.id)
    if known is None:
        return empty_state(
            f"{persona.name} remembers nothing yet", "Say something about yourself, or import a conversation."
        )
    memories = sum(n for store, n in counts.items() if store not in ("sessions", "turns"))
    period = " to ".join(dict.fromkeys([format_day(known.start), format_day(known.end)]))
    return empty_state(
        f"Talk with {persona.name}",
        f"{format_count(memories, 'memory', 'memories')}, {period}. Ask a question, or share something new.",
    )
