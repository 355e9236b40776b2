"""What the Chat tab shows before the first chat: who are you, or would you like to see the demo?"""

from __future__ import annotations

import gradio as gr

from graph.tab.introduction import introduce
from memory.bank.bank import Bank
from memory.tab.events import PRIVATE, Update
from memory.tab.templates import render


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
            with gr.Column(elem_classes="memoir-welcome-demo") as self.offer:
                gr.HTML(render("welcome_demo.html"), padding=False)
                self.demo = gr.Button("Try the demo", elem_id="welcome-demo")
        gr.on([start.click, self.name.submit], self.start, self.name, [self.name, self.started], **PRIVATE)

    def start(self, name: str) -> Update:
        """Create the user's own persona, and tell it the name."""
        persona, chat_id = introduce(self.bank, name)
        return {self.name: "", self.started: (persona.id, chat_id)}
