"""The parts of the Chat tab that choose the chat model, tested and unloaded here, and the embedding model."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

import gradio as gr
from langchain_core.language_models import BaseChatModel
from markupsafe import Markup

from graph.assistant import Assistant
from graph.models import registry
from graph.models.discovery import find_files, find_models, full_address, models_at, say_what_fits
from graph.models.faults import UnknownModel
from graph.models.gguf.weights import GgufWeights
from graph.models.hosted.keys import keep_key, read_key
from graph.models.local_model import LocalModel
from graph.models.measure import try_out
from graph.models.registry import NONE, ModelName, Quantization, chat_model_or_none, is_named, parse_name
from graph.tab.personas import own_personas
from memory.embedding import e5, minilm
from memory.embedding.embedder import installed, shared
from memory.errors import MemoirError
from memory.search.indexer import Indexer, count_pending
from memory.tab.parts import PRIVATE, TEXTS, UNCHANGED, Update, hint, look, render

LEAST_PARAMETERS = 1_500_000_000
"""A model of fewer makes up too much of what it says."""

LABELS = {minilm.NAME: "English, fastest", e5.NAME: "100 languages"}

WHILE_INDEXING = "Until all memories are indexed anew, those left are found by their words."

PLACES = [("No model", "none"), ("On this computer", "file"), ("A server", "server"), ("Hosted", "openai")]
"""Where a chat model may run; those on this computer are the names `gguf:` and `hf:`."""


class ModelPanel:
    """The choice of the chat model, where `choose` allows it; else the model that the settings name.

    Choosing another model reaches addresses and files of the server, so users who log in cannot. The bank keeps the
    choice, unless the settings name a model; keys stay in this process.
    """

    def __init__(self, assistant: Assistant, *, choose: bool) -> None:
        self.bank, self.configured = assistant.services.bank, assistant.services.settings
        self.name: gr.State = gr.State(self.configured.model)
        self.quantization: gr.Dropdown | gr.State = gr.State(self.configured.quantization)
        self.described: list[Any] = []
        if choose:
            self._build()

    def chosen_model(self) -> BaseChatModel | None:
        """The model that the user talks with, before a first message says so; None if it cannot be used."""
        try:
            return chat_model_or_none(self._chosen(), self.configured.quantization)
        except MemoirError:
            return None

    def _build(self) -> None:
        with gr.Accordion("Model", open=False, elem_classes="memoir-over", elem_id="model-panel") as panel:
            self.place = gr.Radio(PLACES, value=NONE, label="Where it runs", elem_id="model-place")
            about = TEXTS["places"]["file"].format(say_what_fits())
            self.file = gr.Dropdown([], info=about, **look("model-file"))
            self.quantization = gr.Dropdown(
                list(get_args(Quantization)), value=self.configured.quantization, **look("model-quantization")
            )
            self.address = gr.Dropdown([], **look("model-address"))
            self.model = gr.Dropdown([], **look("model"))
            self.key = gr.Textbox(**look("model-key"))
            with gr.Row(elem_classes="memoir-actions"):
                use = gr.Button("Use", variant="primary", size="sm", min_width=90, elem_id="model-use")
                test = gr.Button("Test", size="sm", min_width=90, elem_id="model-test")
                self.unload = gr.Button("Unload", size="sm", min_width=90, elem_id="model-unload")
            self.status = gr.HTML(padding=False, elem_id="model-status")
        fields = [self.file, self.address, self.model, self.key, self.quantization]
        self.described = [self.name, self.status, self.place, *fields, self.unload]
        model, server = [self.name, self.quantization], [self.place, self.address, self.model, self.key]
        listed = [self.model, self.status]
        self.name.change(self.follow_name, model, self.described, **PRIVATE)
        self.place.input(self.show_fields, self.place, [*fields, self.unload], **PRIVATE).then(
            self.list_models, server, listed, **PRIVATE
        )
        gr.on([panel.expand, self.address.input], self.list_models, server, listed, **PRIVATE)
        chosen = [self.quantization, self.place, *fields[:-1]]
        use.click(self.use, chosen, self.described, **PRIVATE)
        tested = test.click(self.use, chosen, self.described, **PRIVATE)
        tested.success(self.test_model, model, self.status, concurrency_id="model", **PRIVATE)
        self.unload.click(self.unload_model, model, self.status, **PRIVATE)

    def describe(self) -> Update:
        """Show the model that is chosen and what that means now, where one can be chosen."""
        if not self.described:
            return {}
        try:
            text = describe_model(self._chosen(), self.configured.quantization)
        except MemoirError as error:
            text = str(error)
        return self._show(self._chosen(), text)

    def _chosen(self) -> str:
        named = self.configured.model
        return named if is_named(named) else self.bank.choice("chat_model", NONE)

    def _show(self, name: str, text: str) -> Update:
        try:
            named = parse_name(name)
        except UnknownModel:
            named = ModelName("none")
        shown = self._fields(named.place, named.model, [named.address])
        return {self.name: name, self.place: named.place, **shown, self.status: hint(text)}

    def _fields(self, place: str, model: str = "", addresses: Sequence[str] = ()) -> Update:
        is_file, is_hosted = place == "file", place in ("server", "openai")
        files = [model, *find_files()] if is_file else []
        return {
            self.file: _offer(files, visible=is_file),
            self.quantization: gr.Dropdown(visible=is_file),
            self.unload: gr.Button(visible=is_file),
            self.address: _offer(addresses, visible=place == "server"),
            self.model: _offer([model], visible=is_hosted),
            self.key: gr.Textbox("", visible=is_hosted),
        }

    async def show_fields(self, place: str) -> Update:
        """Ask what a model of that place needs: the last one's comes first, then servers that run on this machine."""
        found = await find_models() if place == "server" else []
        last = parse_name(self.bank.choice("last_chat_model", NONE))
        model, address = (last.model, last.address) if last.place == place else ("", "")
        return self._fields(place, model, [address, *(name.partition("#")[0] for name in found)])

    async def list_models(self, place: str, address: str | None, model: str | None, key: str | None) -> Update:
        """Offer the models of a server."""
        if place != "server" or not (address or "").strip():
            return UNCHANGED
        try:
            server = full_address(address or "")
            # The environment's key is for the server that is used, not for any that is looked at.
            variable = "MEMOIR_API_KEY" if parse_name(self._chosen()).address == server else ""
            names = await models_at(server, (key or "").strip() or read_key(variable, server))
        except MemoirError as error:
            return {self.status: hint(str(error))}
        return {self.model: gr.Dropdown(names, value=model if model in names else next(iter(names), None))}

    async def offer_first(self) -> gr.Radio:
        """Offer a new user the models that already run on this machine."""
        is_asked = self.described and not is_named(self._chosen()) and not own_personas(self.bank)
        found = [(name.partition("#")[2], name) for name in (await find_models() if is_asked else [])]
        return gr.Radio([("No model", NONE), *found], value=NONE, visible=bool(found))

    def use(self, quantization: Quantization, *fields: str | None) -> Update:
        """Use the model that the fields describe; its key is kept until Memoir stops."""
        *described, key = ((each or "").strip() for each in fields)
        name = write_name(*described)
        if key:
            keep_key(parse_name(name).address, key)
        return self.choose_model(name, quantization)

    def follow_name(self, name: str | None, quantization: Quantization) -> Update:
        """Choose the model of the first page's offer; one that is chosen is shown already, perhaps with its test."""
        return UNCHANGED if (name or NONE) == self._chosen() else self.choose_model(name, quantization)

    def choose_model(self, name: str | None, quantization: Quantization) -> Update:
        """Say what the chosen model means, and keep its name."""
        chosen = (name or NONE).strip() or NONE
        meaning = describe_model(chosen, quantization)
        if chosen != self._chosen():
            self.bank.choose("chat_model", chosen)
            if is_named(chosen):
                self.bank.choose("last_chat_model", chosen)
        return self._show(chosen, meaning)

    def test_model(self, name: str | None, quantization: Quantization) -> Iterator[Update]:
        """Ask the model something small, and show how fast it answers."""
        yield {self.status: hint("Testing the model…")}
        try:
            if not is_named(name or NONE):
                raise MemoirError("Choose a chat model first.")
            trial = try_out(registry.chat_model(name or NONE, quantization=quantization))
            yield {self.status: hint(render("model_trial.html", trial=trial))}
        except MemoirError as error:
            yield {self.status: hint(f"The test failed: {error}")}
            raise

    def unload_model(self, name: str | None, quantization: Quantization) -> Markup:
        """Free the memory of a local model."""
        model = chat_model_or_none(name or NONE, quantization)
        if not isinstance(model, LocalModel):
            raise MemoirError("Only a local model can be unloaded.")
        loaded = model.weights.loaded
        model.weights.unload()
        return hint("Unloaded. The memory it used is free again." if loaded else "This model is not loaded.")


def write_name(place: str, file: str, address: str, model: str) -> str:
    """Write the name of a model, as `graph.models.registry` reads it.

    Raises:
        MemoirError: a field that it needs is empty.
    """
    if place == NONE:
        return NONE
    if not (file if place == "file" else model):
        raise MemoirError("Name the file." if place == "file" else "Name the model.")
    if place == "file":
        return file if registry.is_local(file) else f"{'gguf' if file.endswith('.gguf') else 'hf'}:{file}"
    return f"openai:{model}" if place == "openai" else f"{full_address(address)}#{model}"


def describe_model(name: str, quantization: Quantization) -> str:
    """Say where a model's questions go, or what memory it takes here.

    Raises:
        UnknownModel: there is none of that name.
    """
    named = parse_name(name or NONE)
    model = chat_model_or_none(name, quantization)  # a missing key is reported now, not at the first question
    if not isinstance(model, LocalModel):
        return TEXTS["destinations"][named.kind].format(address=named.address)
    weights = model.weights
    sizes = {"need": weights.memory_need(), "free": weights.free_bytes, "least": LEAST_PARAMETERS}
    disk = weights.path.stat().st_size if isinstance(weights, GgufWeights) else 0
    return render("model_status.html", weights=weights, disk=disk, **sizes)


def _offer(choices: Iterable[str], *, visible: bool) -> gr.Dropdown:
    """A choice of these texts, but for empty ones; the first is chosen."""
    offered = list(dict.fromkeys(filter(None, choices)))
    return gr.Dropdown(offered, value=next(iter(offered), None), visible=visible)


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
            return {self.status: ""}
        embedder = shared(model)
        self.assistant.search_with(embedder)
        bank.choose("embedding_model", model)
        self.indexer.use(embedder)
        left = WHILE_INDEXING if count_pending(bank, model) else ""
        return {self.status: hint(left), self.timer: gr.Timer(active=True)}
