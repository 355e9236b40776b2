"""The Chat tab: talk with a persona, see what each answer relies on, and how it was found."""

from __future__ import annotations

import asyncio
import uuid
from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import gradio as gr
from markupsafe import Markup
from starlette.concurrency import iterate_in_threadpool

from graph.assistant import Answer, Assistant, Step, until
from graph.learning.learner import Learner
from graph.models.quantization import Quantization
from graph.state import Token
from graph.tab import messages
from graph.tab.chat_box import ChatBox, ChatOptions
from graph.tab.messages import Bubble, Chat, PastAnswer
from graph.tab.model_panel import ModelPanel
from graph.tab.new_persona_panel import PROACTIVE, NewPersonaPanel
from graph.tab.request import build_ask, explain_as_of, last_day, wait_until_ready
from graph.tab.sources_view import render_answer_sources
from graph.tab.trace_panel import TracePanel
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.formatting import format_count, format_day
from memory.search.indexer import Indexer, count_pending
from memory.tab.events import PRIVATE, UNCHANGED, Update, show_errors, to_gradio_error
from memory.tab.import_panel import ImportPanel
from memory.tab.memory_list import persona_choices
from memory.tab.templates import empty_state, heading, hint
from memory.types import Persona

SAMPLE = "sample"
"""The source id of the persona that comes with Memoir."""


class ChatTab:
    """The tab's components and what they do; other tabs follow its `persona` picker."""

    def __init__(
        self, page: gr.Blocks, assistant: Assistant, indexer: Indexer, learner: Learner, options: ChatOptions
    ) -> None:
        self.assistant, self.indexer, self.learner = assistant, indexer, learner
        self.bank = assistant.services.bank
        self.chat: gr.State = gr.State(Chat())
        self._stops: dict[str, asyncio.Event] = {}
        with gr.Row(elem_classes="memoir-columns"):
            with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
                self.box = ChatBox(options)
            with gr.Column(scale=4, min_width=320, elem_classes="memoir-side"):
                self._build_settings()
                self.model = ModelPanel(page, assistant, choose=options.choose_model)
                gr.HTML(heading("Sources"), padding=False)
                self.sources = gr.HTML(padding=False, elem_id="sources")
                with gr.Accordion("Import a conversation", open=False, elem_id="bring-in"):
                    self.imports = ImportPanel(self.bank, indexer)
                with gr.Accordion("New persona", open=False, elem_id="new-persona"):
                    self.new_persona = NewPersonaPanel(self.bank)
        self.trace = TracePanel(self.bank, self.persona)
        self.timer = gr.Timer(2, active=False)
        self._connect(page, options.examples)

    def _build_settings(self) -> None:
        with gr.Group(elem_classes="memoir-panel"):
            with gr.Row():
                self.persona = gr.Dropdown(label="Talk with", min_width=150, elem_id="persona")
                self.as_of = gr.DateTime(
                    label="Answer as of (optional)", include_time=False, type="string", min_width=175, elem_id="as-of"
                )
            with gr.Row():
                self.forgetful = gr.Checkbox(label="Don't remember this chat", min_width=150, elem_id="forgetful")
                self.proactive = gr.Checkbox(True, label=PROACTIVE, min_width=150, elem_id="proactive")
        self.date_note = gr.HTML(padding=False, elem_id="date-note")
        with gr.Row(elem_classes="memoir-actions"):
            self.new_chat = gr.Button("New chat", size="sm", min_width=90, elem_id="new-chat")
            self.at_end = gr.Button("Answer as of the last conversation", size="sm", min_width=240, elem_id="at-end")
        self.indexing = gr.HTML(padding=False, elem_id="indexing")

    def _connect(self, page: gr.Blocks, examples: Sequence[str]) -> None:
        fresh = [
            self.box.bubbles,
            self.chat,
            self.as_of,
            self.date_note,
            self.box.examples,
            self.sources,
            *self.trace.outputs,
        ]
        opened = [self.persona, self.proactive, self.timer, *fresh]
        page.load(self.open_chat, None, opened, **PRIVATE)
        # A dropdown also sends "input" when the keyboard only passes through it.
        self.persona.input(self.choose_persona, [self.chat, self.persona], opened, **PRIVATE)
        self.imports.imported.change(self.show_imported, self.imports.imported, opened, **PRIVATE)
        self.new_persona.created.change(self.open_chat, self.new_persona.created, opened, **PRIVATE)
        self.proactive.input(self.set_proactive, [self.chat, self.proactive], None, **PRIVATE)
        self.new_chat.click(self.start_chat, [self.chat, self.as_of], fresh, **PRIVATE)
        self.box.bubbles.clear(self.start_chat, [self.chat, self.as_of], fresh, **PRIVATE)
        self.at_end.click(self.find_last_day, self.chat, self.as_of, **PRIVATE)
        self.as_of.change(
            self.explain_date, [self.chat, self.as_of], self.date_note, trigger_mode="always_last", **PRIVATE
        )
        self.timer.tick(self.show_indexing, None, [self.indexing, self.timer], **PRIVATE)
        sent = [self.box.composer, self.chat, self.as_of, self.forgetful, self.model.name, self.model.quantization]
        answered = [self.box.composer, self.box.bubbles, self.chat, self.sources, self.timer, *self.trace.outputs]
        answering = {"concurrency_limit": 4, "concurrency_id": "answer", **PRIVATE}
        self.box.composer.submit(self.answer, sent, answered, **answering)
        for button, question in zip(self.box.example_buttons, examples, strict=True):
            filled = button.click(lambda question=question: question, None, self.box.composer, **PRIVATE)
            filled.then(self.answer, sent, answered, **answering)
        # Not with Gradio's `cancels`, which covers the chat with the word "Error".
        self.box.composer.stop(self.stop, self.chat, None, **PRIVATE)

    @show_errors
    def choose_persona(self, chat: Chat, persona_id: int | None) -> Update:
        """Start a chat with another persona."""
        if persona_id == chat.persona_id:
            return UNCHANGED
        self.learner.close(chat.id)
        return self.open_chat(persona_id)

    @show_errors
    def show_imported(self, persona_id: int | None) -> Update:
        """Start a chat with the persona that was imported."""
        self.learner.wake()
        return self.open_chat(persona_id) if persona_id is not None else UNCHANGED

    @show_errors
    def start_chat(self, chat: Chat, as_of: str | None) -> Update:
        """Start another chat with the same persona."""
        self.learner.close(chat.id)
        return self._start(_find(self.bank, chat.persona_id), as_of)

    @show_errors
    def set_proactive(self, chat: Chat, proactive: bool) -> None:
        """Keep whether the persona brings up memories on its own."""
        if chat.persona_id is not None:
            self.bank.set_proactive(chat.persona_id, proactive=proactive)

    @show_errors
    def find_last_day(self, chat: Chat) -> str:
        """Return the last day of the history."""
        period = self.bank.time_range(chat.persona_id) if chat.persona_id is not None else None
        if period is None:
            raise MemoirError("Nothing in this history has a date yet.")
        return f"{period.end:%Y-%m-%d}"

    @show_errors
    def explain_date(self, chat: Chat, as_of: str | None) -> Markup:
        """Say what the chosen date means."""
        return hint(explain_as_of(self.bank, _find(self.bank, chat.persona_id), as_of))

    def show_indexing(self) -> Update:
        """Show what the background threads are doing; the timer stops when nothing is left."""
        pending = count_pending(self.bank, self.assistant.services.searcher.embedder.model)
        if self.indexer.fault is not None:
            stopped = f"Indexing stopped: {self.indexer.fault}. It resumes with your next message."
            return {self.indexing: hint(stopped), self.timer: gr.Timer()}
        state = f"Indexing {format_count(pending, 'memory', 'memories')}…" if pending else self.learner.state
        return {self.indexing: hint(state), self.timer: gr.Timer(active=pending > 0)}

    async def answer(
        self,
        text: str,
        chat: Chat,
        as_of: str | None,
        forgetful: bool,
        model_name: str | None,
        quantization: Quantization,
    ) -> AsyncIterator[Update]:
        """Answer a message; yield what the page shows meanwhile and at the end."""
        if not text.strip():
            yield {self.box.composer: gr.skip()}
            return
        bubbles = (*messages.latest(chat.bubbles), messages.user_bubble(text))

        def below(last: Bubble) -> Update:
            return {self.box.bubbles: messages.shown([*bubbles, last])}

        try:
            ask = await to_thread(build_ask, self.bank, text, chat, as_of, remember=not forgetful)
            assistant = await to_thread(self.model.assistant, self.assistant, model_name, quantization)
            yield {self.box.composer: messages.busy(), **below(messages.status("Thinking…"))}
            async for waiting in iterate_in_threadpool(wait_until_ready(self.assistant, self.indexer)):
                yield below(messages.status(waiting))
            draft, event = "", None
            stop = self._stops[chat.id] = asyncio.Event()
            async for event in until(stop, assistant.stream(ask)):
                if isinstance(event, Answer):
                    yield await to_thread(self._show_answer, chat, bubbles, event)
                elif isinstance(event, Token):
                    draft = event.text if event.restart else draft + event.text
                    yield below(messages.draft_bubble(draft))
                elif isinstance(event, Step) and not draft and event.line.node in messages.STATUS:
                    yield below(messages.status(messages.STATUS[event.line.node]))
            if not isinstance(event, Answer):
                yield self._end(replace(chat, bubbles=(*bubbles, *messages.notice(*messages.STOPPED))))
        except Exception as error:  # the edge: whatever it was, the page must not wait for ever
            yield {self.box.composer: messages.ready(text), self.box.bubbles: messages.shown(chat.bubbles)}
            raise to_gradio_error(error) from error
        finally:
            self._stops.pop(chat.id, None)

    async def stop(self, chat: Chat) -> None:
        """Stop the answer that is being written in this chat."""
        if chat.id in self._stops:
            self._stops[chat.id].set()

    @show_errors
    def open_chat(self, preferred: int | None = None) -> Update:
        """Start a chat with a persona, or with the first one (the sample), at the time that its history calls for."""
        choices = persona_choices(self.bank)
        ids = [persona_id for _, persona_id in choices]
        chosen = preferred if preferred in ids else next(iter(ids), None)
        persona = _find(self.bank, chosen)
        return {
            self.persona: gr.Dropdown(choices, value=chosen),
            self.proactive: gr.Checkbox(persona is None or persona.proactive, interactive=persona is not None),
            self.timer: gr.Timer(active=True),
            **self._start(persona, last_day(self.bank, persona)),
        }

    def _start(self, persona: Persona | None, as_of: str | None) -> Update:
        chat = Chat(uuid.uuid4().hex, persona.id if persona else None)
        return {
            self.box.bubbles: gr.Chatbot([], placeholder=_welcome(self.bank, persona)),
            self.chat: chat,
            self.as_of: as_of,
            self.date_note: hint(explain_as_of(self.bank, persona, as_of)),
            self.box.examples: gr.Column(visible=persona is not None and persona.external_id == SAMPLE),
            self.sources: empty_state("No answer yet", "The lines that an answer relies on are shown here."),
            **self.trace.clear(),
        }

    def _show_answer(self, chat: Chat, bubbles: Sequence[Bubble], answer: Answer) -> Update:
        reading = answer.reading
        past = PastAnswer(answer.ask.text, tuple(citation.memory.id for citation in reading.citations))
        notice = messages.notice(messages.MODEL_FAILED, reading.notice)
        reply = messages.answer_bubble(reading, len(chat.answers) + 1)
        return {
            **self._end(replace(chat, bubbles=(*bubbles, *notice, reply), answers=(*chat.answers, past))),
            self.sources: render_answer_sources(self.bank, answer, chat.answers),
            **self.trace.explain(answer),
        }

    def _end(self, chat: Chat) -> Update:
        return {
            self.box.composer: messages.ready(),
            self.box.bubbles: messages.shown(chat.bubbles),
            self.chat: chat,
            self.timer: gr.Timer(active=True),
        }


def _find(bank: Bank, persona_id: int | None) -> Persona | None:
    return bank.persona(persona_id) if persona_id is not None else None


def _welcome(bank: Bank, persona: Persona | None) -> Markup:
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
