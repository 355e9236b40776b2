"""The fields for what a character card holds beside name and description."""

import gradio as gr

from memory.importers.generic.character_card import MAX_CHARACTERS
from memory.tab.events import Update
from memory.types import Persona

LONGEST = MAX_CHARACTERS


class CardFields:
    """The fields, all optional, in a closed accordion; `inputs` are they in the order of `PersonaDraft`."""

    def __init__(self, elem_id: str) -> None:
        with gr.Accordion("More about the persona", open=False, elem_id=f"{elem_id}-more"):
            # With a value: Gradio sends None for a field that was never on the screen.
            self.scenario = gr.Textbox(
                "",
                label="Scenario",
                lines=2,
                max_length=LONGEST,
                info="Where and when your chats take place. Used by a chat model.",
                elem_id=f"{elem_id}-scenario",
            )
            self.first_message = gr.Textbox(
                "",
                label="First message",
                lines=2,
                max_length=LONGEST,
                info="Opens a new chat. {{user}} stands for your name.",
                elem_id=f"{elem_id}-first-message",
            )
            self.examples = gr.Textbox(
                "",
                label="Example dialogue",
                lines=4,
                max_length=LONGEST,
                info="How the persona talks. Used by a chat model.",
                placeholder="{{user}}: How was your day?\n{{char}}: Long. The bees swarmed twice.",
                elem_id=f"{elem_id}-examples",
            )
        self.inputs = [self.scenario, self.first_message, self.examples]

    def show(self, persona: Persona | None) -> Update:
        """Show the texts of a persona."""
        if persona is None:
            return dict.fromkeys(self.inputs, "")
        return {
            self.scenario: persona.scenario,
            self.first_message: persona.first_message,
            self.examples: persona.examples,
        }
