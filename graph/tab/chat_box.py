"""The conversation itself: the bubbles, the box to write in, and example questions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gradio as gr

from graph.tab.messages import ASK, SEND
from memory.tab.templates import render


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Example questions for the sample persona, the avatars of user and persona, and whether to offer chat models."""

    examples: tuple[str, ...]
    avatars: tuple[Path, Path]
    choose_model: bool = True


class ChatBox:
    """The components.

    `bubbles` must be an input of no event: Gradio would build any component that a client sends as a message.
    """

    def __init__(self, options: ChatOptions) -> None:
        self.bubbles = gr.Chatbot(
            show_label=False,
            height="calc(100vh - 460px)",
            min_height=330,
            avatar_images=options.avatars,
            buttons=[],
            feedback_options=None,
            latex_delimiters=[],
            allow_tags=False,
            layout="bubble",
            elem_classes="memoir-chat",
            elem_id="chat",
        )
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
        with gr.Column(visible=False, elem_classes="memoir-examples") as self.examples:
            gr.HTML(render("overline.html", text="Try asking"), padding=False)
            with gr.Row(elem_classes="memoir-chips"):
                self.example_buttons = [
                    gr.Button(text, size="sm", min_width=0, elem_classes="memoir-chip") for text in options.examples
                ]
