"""Which chat model reads: chosen between two questions, tried out with one click, unloaded with another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

import gradio as gr

from graph.assistant import Assistant
from graph.models.local import LocalChat
from graph.models.names import NONE, is_named, parse_name
from graph.models.quantization import Quantization, free_bytes, resolve_quantization
from graph.models.registry import chat_model, chat_model_or_none
from graph.models.trial import Trial, try_out
from memory.errors import MemoirError
from memory.tab.events import PRIVATE, Update, show_errors, to_gradio_error
from memory.tab.templates import hint

GIB = 2**30

PLACES = {
    "none": "No model: answers quote what is remembered.",
    "openai": "Asked at OpenAI: the question and the memories found for it are sent there.",
    "server": "Asked at {address}: the question and the memories found for it are sent there.",
}


@dataclass(frozen=True, slots=True)
class ModelPanel:
    """The two choices that a message is sent with."""

    name: gr.Dropdown | gr.State
    quantization: gr.Dropdown | gr.State

    def reader(self, assistant: Assistant, name: str | None, quantization: Quantization) -> Assistant:
        """The assistant, read for by the model that is chosen.

        Raises:
            UnknownModel: there is none of that name.
        """
        wanted = (name or NONE).strip() or NONE
        return assistant.reading_with(chat_model_or_none(wanted, quantization), wanted, quantization)


def model_panel(page: gr.Blocks, assistant: Assistant) -> ModelPanel:
    """Build the group in the side column."""
    configured = assistant.services.settings
    names = list(dict.fromkeys([NONE, configured.model if is_named(configured.model) else NONE]))
    added: gr.State = gr.State(names)
    with gr.Accordion("Model", open=False, elem_id="model-panel"):
        name = gr.Dropdown(
            names,
            value=names[-1],
            allow_custom_value=True,
            label="Chat model",
            info="none, openai:NAME, ADDRESS#NAME or hf:REPO_OR_FOLDER; type another and press Enter",
            elem_id="model",
        )
        quantization = gr.Dropdown(
            list(get_args(Quantization)),
            value=configured.quantization,
            label="Quantization of a local model",
            elem_id="model-quantization",
        )
        with gr.Row(elem_classes="memoir-actions"):
            test = gr.Button("Test", size="sm", min_width=90, elem_id="model-test")
            unload = gr.Button("Unload", size="sm", min_width=90, elem_id="model-unload")
        said = gr.HTML(padding=False, elem_id="model-said")

    @show_errors
    def chosen(wanted: str | None, kind: Quantization, known: list[str]) -> Update:
        names = list(dict.fromkeys([*known, (wanted or NONE).strip() or NONE]))
        return {said: hint(about(wanted or NONE, kind)), name: gr.Dropdown(names), added: names}

    def tested(wanted: str | None, kind: Quantization) -> Iterator[Update]:
        yield {said: hint("Trying it out…")}
        try:
            if not is_named(wanted or NONE):
                raise MemoirError("Choose a chat model first: there is none to test.")
            yield {said: hint(figures(try_out(chat_model(wanted or NONE, quantization=kind))))}
        except MemoirError as fault:
            yield {said: hint(f"It did not work: {fault}")}
            raise to_gradio_error(fault) from fault

    @show_errors
    def unloaded(wanted: str | None, kind: Quantization) -> str:
        model = chat_model_or_none(wanted or NONE, kind)
        if not isinstance(model, LocalChat):
            raise MemoirError("Only a model that runs here can be unloaded.")
        held = model.weights.loaded
        model.weights.unload()
        return hint("Unloaded: its memory is free again." if held else "It was not loaded.")

    both = [name, quantization]
    page.load(lambda: hint(about(configured.model, configured.quantization)), None, said, **PRIVATE)
    gr.on([name.change, quantization.change], chosen, [*both, added], [said, name, added], **PRIVATE)
    test.click(tested, both, said, concurrency_id="model", **PRIVATE)
    unload.click(unloaded, both, said, **PRIVATE)
    return ModelPanel(name, quantization)


def fixed_model(assistant: Assistant) -> ModelPanel:
    """No choice but the model that the settings name: naming another reaches addresses and files of the server."""
    configured = assistant.services.settings
    return ModelPanel(gr.State(configured.model), gr.State(configured.quantization))


def about(name: str, quantization: Quantization) -> str:
    """What choosing a model means: where its questions go, or what memory it takes here.

    Raises:
        UnknownModel: there is none of that name.
    """
    named = parse_name(name or NONE)
    if named.kind != "local":
        chat_model_or_none(name, quantization)  # a key that is missing is said now, not at the first question
        return PLACES[named.kind].format(address=named.address)
    model = chat_model(name, quantization=quantization)
    assert isinstance(model, LocalChat)
    need, free = model.weights.memory_need(), free_bytes()
    state = "Loaded" if model.weights.loaded else "Not loaded yet"
    much = f"{_gib(need.total)} ({_gib(need.weights)} weights, {_gib(need.cache)} for {need.context:,} tokens)"
    short = " That is more than there is." if need.total > free and not model.weights.loaded else ""
    weights = f"{need.parameters:,} weights in {resolve_quantization(quantization)}"
    return f"{state}: {weights} need {much}; {_gib(free)} are free.{short}"


def figures(tried: Trial) -> str:
    """What a trial showed, in a sentence."""
    context = f"{tried.context:,} tokens of context" if tried.context else "a context that it does not tell"
    keeps = "keeps" if tried.keeps_schema else "does not keep"
    speed = f"First token after {tried.first_token_s:.2f} s, {tried.tokens_per_s:,.1f} tokens/s"
    return f"{speed}, {context}; it {keeps} to a JSON schema."


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB" if size >= GIB / 100 else f"{size / 2**20:.2f} MiB"
