"""The fields for what a character card holds beside name and description."""

from pathlib import Path
from typing import Any

import gradio as gr

from memory.errors import MemoirError
from memory.importers.generic.character_card import MAX_CHARACTERS, PICTURE_FORMATS, cut_small
from memory.tab.parts import Update
from memory.types import Persona

FIELDS: dict[str, dict[str, Any]] = {
    "scenario": {
        "label": "Scenario",
        "lines": 2,
        "info": "Where and when your chats take place. Used by a chat model.",
    },
    "first_message": {"label": "First message", "lines": 2, "info": "Opens a new chat. {{user}} stands for your name."},
    "examples": {
        "label": "Example dialogue",
        "lines": 4,
        "info": "How the persona talks. Used by a chat model.",
        "placeholder": "{{user}}: How was your day?\n{{char}}: Long. The bees swarmed twice.",
    },
}
"""The texts by their names in a `Persona`, in the order of a `PersonaDraft`, and how each field looks."""


class CardFields:
    """The fields, all optional, in a closed accordion; `inputs` are the texts in the order of `FIELDS`."""

    def __init__(self, elem_id: str) -> None:
        with gr.Accordion("More about the persona", open=False, elem_id=f"{elem_id}-more"):
            self.inputs = [
                # With a value: Gradio sends None for a field that was never on the screen.
                gr.Textbox("", max_length=MAX_CHARACTERS, elem_id=f"{elem_id}-{name.replace('_', '-')}", **look)
                for name, look in FIELDS.items()
            ]

            self.picture = gr.File(
                label="Picture (PNG, JPEG or WebP)",
                file_types=[f".{name.lower()}" for name in (*PICTURE_FORMATS, "JPG")],
                height=110,
                elem_id=f"{elem_id}-picture",
            )

    def show(self, persona: Persona | None) -> Update:
        """Show the texts of a persona."""
        texts = [getattr(persona, name) if persona else "" for name in FIELDS]
        return {**dict(zip(self.inputs, texts, strict=True)), self.picture: None}


def read_picture(file: str | None) -> str:
    """The chosen picture, cut small, as a `data:` address; empty if none was chosen.

    Raises:
        MemoirError: it is no picture, or too large.
    """
    picture = cut_small(Path(file)) if file else ""
    if file and not picture:
        raise MemoirError(f"“{Path(file).name}” cannot be read as a picture. Choose a smaller PNG, JPEG or WebP.")
    return picture
