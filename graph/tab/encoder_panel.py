"""The part of the Chat tab that chooses the embedding model of the bank."""

from __future__ import annotations

import gradio as gr
from markupsafe import Markup

from graph.assistant import Assistant
from memory.embedding import e5, minilm
from memory.embedding.embedder import installed, shared
from memory.search.indexer import Indexer, count_pending
from memory.tab.events import PRIVATE, Update
from memory.tab.templates import hint

LABELS = {minilm.NAME: "English, fastest", e5.NAME: "100 languages"}

WHILE_INDEXING = "Until all memories are indexed anew, those left are found by their words."


class EncoderPanel:
    """A choice of the models that are installed, and of the one in use; what was indexed before is kept."""

    def __init__(self, assistant: Assistant, indexer: Indexer, timer: gr.Timer) -> None:
        """Build the panel; `timer` shows how far indexing is."""
        self.assistant, self.indexer, self.timer = assistant, indexer, timer
        names = list(dict.fromkeys([*installed(), self.model_in_use()]))
        choices = [(f"{LABELS[name]} ({name})" if name in LABELS else name, name) for name in names]
        self.choice = gr.Dropdown(choices, label="Search by meaning in", elem_id="encoder")
        self.status = gr.HTML(padding=False, elem_id="encoder-status")
        self.choice.input(self.choose, self.choice, [self.status, timer], **PRIVATE)

    def model_in_use(self) -> str:
        """The name of the model in use."""
        return self.assistant.services.searcher.embedder.model

    def choose(self, model: str) -> Update:
        """Search with another model from the next message on, and index the memories with it in the background."""
        bank = self.assistant.services.bank
        if model == self.model_in_use():
            return {self.status: Markup("")}
        embedder = shared(model)
        self.assistant.search_with(embedder)
        bank.choose_embedding_model(model)
        self.indexer.use(embedder)
        left = hint(WHILE_INDEXING) if count_pending(bank, model) else Markup("")
        return {self.status: left, self.timer: gr.Timer(active=True)}
