"""The Chat tab: talk with a persona, see what each answer relies on, and how it was found."""

from __future__ import annotations

import asyncio
import uuid
from asyncio import to_thread
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from starlette.concurrency import iterate_in_threadpool

from graph.assistant import Answer, Assistant, Step, until
from graph.learning.learner import Learner
from graph.models.quantization import Quantization
from graph.replies.manners import MANNERS
from graph.state import Token
from graph.tab import views as panels
from graph.tab.asking_date import about, stale_end
from graph.tab.messages import (
    ASK,
    MODEL_FAILED,
    SEND,
    STOPPED,
    Bubble,
    answer_bubble,
    busy,
    draft_bubble,
    latest,
    notice,
    ready,
    shown,
    status,
    user_bubble,
)
from graph.tab.model_panel import fixed_model, model_panel
from graph.tab.request import ask_of, wake
from graph.tab.trace_panel import how_panel
from graph.tab.views import STATUS, Answered
from memory.bank.bank import Bank
from memory.bank.personas import set_proactive
from memory.errors import MemoirError
from memory.search.indexer import Indexer, count_pending
from memory.tab.events import PRIVATE, UNCHANGED, Update, show_errors, to_gradio_error
from memory.tab.formatting import format_count
from memory.tab.import_panel import ImportPanel
from memory.tab.memory_list import persona_choices
from memory.tab.templates import empty_state, hint
from memory.types import Persona, PersonaDraft

UNASKED = "May bring up memories unasked"
"""The switch of a persona: a feeling or a scene brings up at most one memory, or none."""

SAMPLE = "sample"
"""The source id of the persona that comes with Memoir."""


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Example questions for the sample persona, the avatars of user and persona, and whether to offer chat models."""

    examples: tuple[str, ...]
    avatars: tuple[Path, Path]
    choose_model: bool = True


def chat_tab(
    page: gr.Blocks, assistant: Assistant, indexer: Indexer, learner: Learner, options: ChatOptions
) -> gr.Dropdown:
    """Build the tab; hands back the persona picker, so that other tabs can follow it."""
    bank = assistant.services.bank
    chat_id: gr.State = gr.State("")
    cited: gr.State = gr.State([])
    # The chat box is an input of no event: Gradio would build any component that a client sends as a message.
    bubbles: gr.State = gr.State([])
    spoken_with: gr.State = gr.State(None)
    with gr.Row(elem_classes="memoir-columns"):
        with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
            chat = gr.Chatbot(
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
            composer = gr.Textbox(
                placeholder=ASK,
                label="Your message",
                show_label=False,
                submit_btn=SEND,
                max_lines=6,
                autofocus=True,
                elem_classes="memoir-composer",
                elem_id="composer",
            )
            with gr.Column(visible=False, elem_classes="memoir-examples") as examples:
                gr.HTML('<p class="memoir-overline">Try asking</p>', padding=False)
                with gr.Row(elem_classes="memoir-chips"):
                    chips = [gr.Button(q, size="sm", min_width=0, elem_classes="memoir-chip") for q in options.examples]
        with gr.Column(scale=4, min_width=320, elem_classes="memoir-side"):
            with gr.Group(elem_classes="memoir-panel"):
                with gr.Row():
                    persona = gr.Dropdown(label="Talk with", min_width=150, elem_id="persona")
                    today = gr.DateTime(
                        label="As of (empty: now)", include_time=False, type="string", min_width=175, elem_id="today"
                    )
                with gr.Row():
                    forgetful = gr.Checkbox(label="Don't remember this chat", min_width=150, elem_id="forgetful")
                    proactive = gr.Checkbox(True, label=UNASKED, min_width=150, elem_id="proactive")
            time_note = gr.HTML(padding=False, elem_id="time-note")
            with gr.Row(elem_classes="memoir-actions"):
                new_chat = gr.Button("New chat", size="sm", min_width=90, elem_id="new-chat")
                at_end = gr.Button("As of the end of this history", size="sm", min_width=200, elem_id="at-end")
            indexing = gr.HTML(padding=False, elem_id="indexing")
            model = model_panel(page, assistant) if options.choose_model else fixed_model(assistant)
            gr.HTML('<h2 class="memoir-heading">Sources</h2>', padding=False)
            sources = gr.HTML(padding=False, elem_id="sources")
            with gr.Accordion("Bring in a history", open=False, elem_id="bring-in"):
                box = ImportPanel(bank, indexer)
            with gr.Accordion("New persona", open=False, elem_id="new-persona"):
                name = gr.Textbox(label="Name", max_length=80, elem_id="persona-name")
                description = gr.Textbox(label="Description", lines=2, max_length=2000, info="Who they are to you.")
                manner = gr.Dropdown(list(MANNERS), value="plain", label="Manner of speaking")
                speaks_up = gr.Checkbox(True, label=UNASKED, elem_id="persona-proactive")
                create = gr.Button("Create", variant="primary", elem_id="persona-create")
    how = how_panel(bank, persona)
    clock = gr.Timer(2, active=False)
    stops: dict[str, asyncio.Event] = {}

    def fresh(persona_id: int | None, as_of: str | None) -> Update:
        """An empty chat with this persona."""
        someone = _find(bank, persona_id)
        return {
            chat: gr.Chatbot([], placeholder=panels.welcome(bank, someone)),
            chat_id: uuid.uuid4().hex,
            bubbles: [],
            cited: [],
            spoken_with: persona_id,
            today: as_of,
            time_note: about(bank, someone, as_of),
            examples: gr.Column(visible=someone is not None and someone.external_id == SAMPLE),
            sources: empty_state(
                "No answer yet", "The lines an answer relies on stand here, with the talk around them."
            ),
            **how.explain(None),
        }

    def choose(persona_id: int | None) -> Update:
        """Turn to a persona, at the time that its history calls for."""
        known = persona_choices(bank)
        ids = [i for _, i in known]
        wanted = persona_id if persona_id in ids else next(iter(ids), None)
        someone = _find(bank, wanted)
        return {
            persona: gr.Dropdown(known, value=wanted),
            proactive: gr.Checkbox(someone is None or someone.proactive, interactive=someone is not None),
            clock: gr.Timer(active=True),
            **fresh(wanted, stale_end(bank, someone)),
        }

    @show_errors
    def opened() -> Update:
        return choose(None)

    @show_errors
    def chosen(over: str, persona_id: int | None, before: int | None) -> Update:
        if persona_id == before:
            return UNCHANGED
        learner.close(over)
        return choose(persona_id)

    @show_errors
    def begun(over: str, persona_id: int | None, as_of: str | None) -> Update:
        learner.close(over)
        return fresh(persona_id, as_of)

    @show_errors
    def brought_in(persona_id: int | None) -> Update:
        learner.wake()
        return choose(persona_id) if persona_id is not None else UNCHANGED

    @show_errors
    def created(wanted: str, described: str, speaking: str, unasked: bool) -> Update:
        if not wanted.strip():
            raise MemoirError("Give the new persona a name first.")
        draft = PersonaDraft(wanted, description=described.strip(), manner=speaking, proactive=unasked)
        return {name: "", description: "", speaks_up: True, **choose(bank.create_persona(draft).id)}

    @show_errors
    def switched(persona_id: int | None, unasked: bool) -> None:
        if persona_id is not None:
            set_proactive(bank, persona_id, proactive=unasked)

    @show_errors
    def ended(persona_id: int | None) -> str | None:
        known = bank.time_range(persona_id) if persona_id is not None else None
        if known is None:
            raise MemoirError("Nothing in this history has a date yet, so it has no end to go to.")
        return f"{known.end:%Y-%m-%d}"

    @show_errors
    def timed(persona_id: int | None, as_of: str | None) -> str:
        return about(bank, _find(bank, persona_id), as_of)

    def ticked() -> Update:
        left = count_pending(bank, assistant.services.searcher.embedder.model)
        fault = indexer.fault
        if fault is not None:
            return {indexing: hint(f"Indexing stopped: {fault}. It goes on at the next message."), clock: gr.Timer()}
        told_left = f"{format_count(left, 'memory', 'memories')} still being indexed…" if left else learner.state
        return {indexing: hint(told_left), clock: gr.Timer(active=left > 0)}

    async def say(
        text: str,
        before: list[Bubble],
        known: list[Answered],
        chat_number: str,
        persona_id: int | None,
        as_of: str | None,
        forget_it: bool,
        model_name: str | None,
        quantization: Quantization,
    ) -> AsyncIterator[Update]:
        if not text.strip():
            yield {composer: gr.skip()}
            return
        now = [*latest(before), user_bubble(text)]
        try:
            ask = await to_thread(ask_of, bank, text, before, chat_number, persona_id, as_of, forget_it)
            reader = await to_thread(model.reader, assistant, model_name, quantization)
            yield {composer: busy(), chat: shown([*now, status("Thinking…")])}
            async for waking in iterate_in_threadpool(wake(assistant, indexer)):
                yield {chat: shown([*now, status(waking)])}
            spoken, event = "", None
            stop = stops[chat_number] = asyncio.Event()
            async for event in until(stop, reader.stream(ask)):
                if isinstance(event, Step) and not spoken and event.line.node in STATUS:
                    yield {chat: shown([*now, status(STATUS[event.line.node])])}
                elif isinstance(event, Token):
                    spoken = event.text if event.restart else spoken + event.text
                    yield {chat: shown([*now, draft_bubble(spoken)])}
                elif isinstance(event, Answer):
                    now_known = [*known, (text, [c.memory.id for c in event.reading.citations])]
                    now += notice(MODEL_FAILED, event.reading.notice)
                    now.append(answer_bubble(event.reading, len(now_known)))
                    yield {
                        composer: ready(),
                        chat: shown(now),
                        bubbles: now,
                        cited: now_known,
                        sources: await to_thread(panels.all_sources, bank, event, known),
                        clock: gr.Timer(active=True),
                        **await to_thread(how.explain, event),
                    }
            if not isinstance(event, Answer):
                now += notice(*STOPPED)
                yield {composer: ready(), chat: shown(now), bubbles: now, clock: gr.Timer(active=True)}
        except Exception as fault:  # the edge: whatever it was, nothing may go on turning
            yield {composer: ready(text), chat: shown(before)}
            raise to_gradio_error(fault) from fault
        finally:
            stops.pop(chat_number, None)

    async def stopped(chat_number: str) -> None:
        if chat_number in stops:
            stops[chat_number].set()

    everything = [chat, bubbles, chat_id, cited, spoken_with, today, time_note, examples, sources]
    turned = [persona, proactive, clock, *everything, *how.outputs]
    spoken_to = [composer, bubbles, cited, chat_id, persona, today, forgetful, model.name, model.quantization]
    replied = [composer, chat, bubbles, cited, sources, clock, *how.outputs]
    page.load(opened, None, turned, **PRIVATE)
    # A picker says "input" also when the keyboard only passes through it.
    persona.input(chosen, [chat_id, persona, spoken_with], turned, **PRIVATE)
    box.imported.change(brought_in, box.imported, turned, **PRIVATE)
    proactive.input(switched, [persona, proactive], None, **PRIVATE)
    create.click(created, [name, description, manner, speaks_up], [name, description, speaks_up, *turned], **PRIVATE)
    new_chat.click(begun, [chat_id, persona, today], [*everything, *how.outputs], **PRIVATE)
    chat.clear(begun, [chat_id, persona, today], [*everything, *how.outputs], **PRIVATE)
    at_end.click(ended, persona, today, **PRIVATE)
    # Not of the picker: of a persona that is chosen, the date can reach the screen before the name.
    today.change(timed, [spoken_with, today], time_note, trigger_mode="always_last", **PRIVATE)
    clock.tick(ticked, None, [indexing, clock], **PRIVATE)
    composer.submit(say, spoken_to, replied, concurrency_limit=4, concurrency_id="say", **PRIVATE)
    for chip, question in zip(chips, options.examples, strict=True):
        chip.click(lambda q=question: q, None, composer, **PRIVATE).then(
            say, spoken_to, replied, concurrency_limit=4, concurrency_id="say", **PRIVATE
        )
    # Not by Gradio's own cancelling, which covers the chat with the word "Error".
    composer.stop(stopped, chat_id, None, **PRIVATE)
    return persona


def _find(bank: Bank, persona_id: int | None) -> Persona | None:
    return bank.persona(persona_id) if persona_id is not None else None
