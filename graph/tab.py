"""The Chat tab: talk with a persona, see what each answer relies on, and how it was found."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from graph import panels
from graph.assistant import Answer, Assistant, Step, Token
from graph.manners import MANNERS
from graph.nodes.persist import USER
from graph.panels import CANDIDATE_HEADERS, NOTE_HEADERS, STATUS, STEP_HEADERS
from graph.said import answered, from_markdown, to_markdown
from graph.state import Ask
from graph.today import about, moment, stale_end
from memory.bank import Bank
from memory.errors import MemoirError
from memory.indexer import Indexer, waiting
from memory.panels import count, empty, line
from memory.tab import PRIVATE, Update, persona_choices, shown_fault, told, upload_box
from memory.types import Persona, PersonaDraft, TurnDraft

SAMPLE = "sample"
"""The source id of the persona that comes with Memoir."""

LONGEST = 100_000
"""Characters of a message; a longer text is a history to bring in, not something said."""

PATIENCE = 20.0
"""Seconds that a message waits for memories which are being indexed; after that it is answered from what there is."""

WAKING = "Waking the memory (loading the language of meaning)…"

Message = dict[str, Any]
"""One message as the chat shows it."""


@dataclass(frozen=True, slots=True)
class Trimmings:
    """What the tab shows beside its own words: example questions for the sample persona, and the two avatars."""

    examples: tuple[str, ...]
    avatars: tuple[Path, Path]


def chat_tab(page: gr.Blocks, assistant: Assistant, indexer: Indexer, trimmings: Trimmings) -> gr.Dropdown:
    """Build the tab; hands back the persona picker, so that other tabs can follow it."""
    bank = assistant.services.bank
    chat_id: gr.State = gr.State("")
    cited: gr.State = gr.State([])
    with gr.Row(elem_classes="memoir-columns"):
        with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
            chat = gr.Chatbot(
                show_label=False,
                height="calc(100vh - 460px)",
                min_height=330,
                avatar_images=trimmings.avatars,
                buttons=[],
                feedback_options=None,
                latex_delimiters=[],
                allow_tags=False,
                layout="bubble",
                elem_classes="memoir-chat",
                elem_id="chat",
            )
            composer = gr.Textbox(
                placeholder="Ask, or tell something to remember",
                label="Your message",
                show_label=False,
                submit_btn="Send",
                max_lines=6,
                autofocus=True,
                elem_classes="memoir-composer",
                elem_id="composer",
            )
            with gr.Column(visible=False, elem_classes="memoir-examples") as examples:
                gr.HTML('<p class="memoir-overline">Try asking</p>', padding=False)
                with gr.Row(elem_classes="memoir-chips"):
                    chips = [
                        gr.Button(q, size="sm", min_width=0, elem_classes="memoir-chip") for q in trimmings.examples
                    ]
        with gr.Column(scale=4, min_width=320, elem_classes="memoir-side"):
            with gr.Group(elem_classes="memoir-panel"):
                with gr.Row():
                    persona = gr.Dropdown(label="Talk with", min_width=150, elem_id="persona")
                    today = gr.DateTime(
                        label="As of (empty: now)", include_time=False, type="string", min_width=150, elem_id="today"
                    )
                forgetful = gr.Checkbox(label="Don't remember this chat", elem_id="forgetful")
            time_note = gr.HTML(padding=False, elem_id="time-note")
            with gr.Row(elem_classes="memoir-actions"):
                new_chat = gr.Button("New chat", size="sm", min_width=90, elem_id="new-chat")
                at_end = gr.Button("As of the end of this history", size="sm", min_width=200, elem_id="at-end")
            indexing = gr.HTML(padding=False, elem_id="indexing")
            gr.HTML('<h2 class="memoir-heading">Sources</h2>', padding=False)
            sources = gr.HTML(padding=False, elem_id="sources")
            with gr.Accordion("Bring in a history", open=False, elem_id="bring-in"):
                box = upload_box(bank, indexer)
            with gr.Accordion("New persona", open=False, elem_id="new-persona"):
                name = gr.Textbox(label="Name", max_length=80, elem_id="persona-name")
                description = gr.Textbox(label="Description", lines=2, max_length=2000, info="Who they are to you.")
                manner = gr.Dropdown(list(MANNERS), value="plain", label="Manner of speaking")
                create = gr.Button("Create", variant="primary", elem_id="persona-create")
    with gr.Accordion("How I remembered", open=False, elem_classes="memoir-trace", elem_id="how"):
        explained = gr.HTML(padding=False)
        with gr.Row():
            kinds = gr.Label(label="Kind of memory asked for", show_heading=False, num_top_classes=5, visible=False)
            timeline = gr.Plot(label="The candidates in time", visible=False)
        candidates = _table("Candidates", CANDIDATE_HEADERS, _shares(6, 11, 30, 7, 8, 6, 7, 8, 6, 11))
        with gr.Row():
            notes = _table("Notes", NOTE_HEADERS, _shares(16, 56, 28))
            steps = _table("Steps", STEP_HEADERS, _shares(24, 54, 22))
    clock = gr.Timer(2, active=False)

    def fresh(persona_id: int | None, as_of: str | None) -> Update:
        """An empty chat with this persona."""
        someone = _find(bank, persona_id)
        return {
            chat: gr.Chatbot([], placeholder=panels.welcome(bank, someone)),
            chat_id: uuid.uuid4().hex,
            cited: [],
            today: as_of,
            time_note: about(bank, someone, as_of),
            examples: gr.Column(visible=someone is not None and someone.external_id == SAMPLE),
            sources: empty("No answer yet", "The lines an answer relies on stand here, with the talk around them."),
            **explain(None),
        }

    def explain(answer: Answer | None) -> Update:
        """What the panel "How I remembered" holds."""
        if answer is None:
            hint = empty("No answer yet", "Ask something, and each step to the answer shows here.")
            hidden = {c: gr.update(visible=False) for c in (kinds, timeline, candidates, notes, steps)}
            return {explained: hint, **hidden}
        figure = panels.timeline(answer)
        rows, taken = panels.candidates(answer.hits), panels.notes(answer)
        return {
            explained: panels.summary(answer),
            kinds: gr.Label(panels.classes(answer), visible=bool(rows)),
            timeline: gr.Plot(figure, visible=figure is not None),
            candidates: gr.Dataframe(rows, visible=bool(rows)),
            notes: gr.Dataframe(taken, visible=bool(taken)),
            steps: gr.Dataframe(panels.steps(answer), visible=True),
        }

    def choose(persona_id: int | None) -> Update:
        """Turn to a persona, at the time that its history calls for."""
        known = persona_choices(bank)
        ids = [i for _, i in known]
        wanted = persona_id if persona_id in ids else next(iter(ids), None)
        someone = _find(bank, wanted)
        return {
            persona: gr.Dropdown(known, value=wanted),
            clock: gr.Timer(active=True),
            **fresh(wanted, stale_end(bank, someone)),
        }

    @told
    def opened() -> Update:
        return choose(None)

    @told
    def chosen(persona_id: int | None) -> Update:
        return choose(persona_id)

    @told
    def brought_in(persona_id: int | None) -> Update:
        return choose(persona_id) if persona_id is not None else {persona: gr.skip()}

    @told
    def created(wanted: str, described: str, speaking: str) -> Update:
        if not wanted.strip():
            raise MemoirError("Give the new persona a name first.")
        made = bank.create_persona(PersonaDraft(wanted, description=described.strip(), manner=speaking))
        return {name: "", description: "", **choose(made.id)}

    @told
    def ended(persona_id: int | None) -> str | None:
        known = bank.time_range(persona_id) if persona_id is not None else None
        if known is None:
            raise MemoirError("Nothing in this history has a date yet, so it has no end to go to.")
        return f"{known.end:%Y-%m-%d}"

    @told
    def timed(persona_id: int | None, as_of: str | None) -> str:
        return about(bank, _find(bank, persona_id), as_of)

    def ticked() -> Update:
        left = waiting(bank, assistant.services.searcher.embedder.model)
        fault = indexer.fault
        if fault is not None:
            return {indexing: line(f"Indexing stopped: {fault}. It goes on at the next message."), clock: gr.Timer()}
        told_left = f"{count(left, 'memory', 'memories')} still being indexed…" if left else ""
        return {indexing: line(told_left), clock: gr.Timer(active=left > 0)}

    def say(
        text: str,
        before: list[Message],
        known: list[list[int]],
        chat_number: str,
        persona_id: int | None,
        as_of: str | None,
        forget_it: bool,
    ) -> Iterator[Update]:
        if not text.strip():
            yield {composer: gr.skip()}
            return
        shown = [*before, _message("user", to_markdown(text))]
        try:
            ask = _ask(bank, text, before, chat_number, persona_id, as_of, forget_it)
            yield {composer: "", chat: [*shown, _status("Thinking…")]}
            for status in _wake(assistant, indexer):
                yield {chat: [*shown, _status(status)]}
            spoken = ""
            for event in assistant.stream(ask):
                if isinstance(event, Step) and not spoken and event.line.node in STATUS:
                    yield {chat: [*shown, _status(STATUS[event.line.node])]}
                elif isinstance(event, Token):
                    spoken += event.text
                    yield {chat: [*shown, _message("assistant", to_markdown(spoken))]}
                elif isinstance(event, Answer):
                    now_known = [*known, [c.memory.id for c in event.reading.citations]]
                    reply = answered(event.reading, len(now_known))
                    yield {
                        chat: [*shown, _message("assistant", reply)],
                        cited: now_known,
                        sources: panels.all_sources(bank, event, _questions(before), known),
                        clock: gr.Timer(active=True),
                        **explain(event),
                    }
        except Exception as fault:  # the edge: whatever it was, nothing may go on turning
            yield {composer: text, chat: before}
            raise shown_fault(fault) from fault

    everything = [chat, chat_id, cited, today, time_note, examples, sources]
    explaining = [explained, kinds, timeline, candidates, notes, steps]
    turned = [persona, clock, *everything, *explaining]
    spoken_to = [composer, chat, cited, chat_id, persona, today, forgetful]
    replied = [composer, chat, cited, sources, clock, *explaining]
    page.load(opened, None, turned, **PRIVATE)
    persona.input(chosen, persona, turned, **PRIVATE)
    box.imported.change(brought_in, box.imported, turned, **PRIVATE)
    create.click(created, [name, description, manner], [name, description, *turned], **PRIVATE)
    new_chat.click(fresh, [persona, today], [*everything, *explaining], **PRIVATE)
    chat.clear(fresh, [persona, today], [*everything, *explaining], **PRIVATE)
    at_end.click(ended, persona, today, **PRIVATE)
    # Of a persona that is chosen, the date can reach the screen before the name: the later event has both.
    gr.on([today.change, persona.change], timed, [persona, today], time_note, trigger_mode="always_last", **PRIVATE)
    clock.tick(ticked, None, [indexing, clock], **PRIVATE)
    composer.submit(say, spoken_to, replied, concurrency_limit=4, concurrency_id="say", **PRIVATE)
    for chip, question in zip(chips, trimmings.examples, strict=True):
        chip.click(lambda q=question: q, None, composer, **PRIVATE).then(
            say, spoken_to, replied, concurrency_limit=4, concurrency_id="say", **PRIVATE
        )
    return persona


def _shares(*percents: int) -> list[str | int]:
    return [f"{percent}%" for percent in percents]


def _table(label: str, headers: list[str], widths: list[str | int]) -> gr.Dataframe:
    return gr.Dataframe(
        headers=headers,
        label=label,
        type="array",
        interactive=False,
        wrap=True,
        max_height=420,
        column_widths=widths,
        buttons=[],
        visible=False,
        elem_id=f"how-{label.lower()}",
    )


def _ask(
    bank: Bank,
    text: str,
    before: Sequence[Message],
    chat_number: str,
    persona_id: int | None,
    as_of: str | None,
    forget_it: bool,
) -> Ask:
    if persona_id is None:
        raise MemoirError("There is nobody to talk with yet: create a persona first.")
    if len(text) > LONGEST:
        raise MemoirError(
            f"A message may have {LONGEST:,} characters and this one has {len(text):,}. Shorten it, or save it as a "
            "file and bring it in as a history."
        )
    now = moment(as_of)
    dialogue = tuple(
        TurnDraft(USER if m["role"] == "user" else "", m["role"], from_markdown(_text(m)), now) for m in before
    )
    return Ask(bank.persona(persona_id), text.strip(), now, chat_number, dialogue, not forget_it)


def _wake(assistant: Assistant, indexer: Indexer) -> Iterator[str]:
    """Wait for the encoder and for what is being indexed, telling what is waited for."""
    embedder = assistant.services.searcher.embedder
    if not embedder.ready:
        yield WAKING
        embedder.load()
    patience = time.monotonic() + PATIENCE
    while (left := waiting(assistant.services.bank, embedder.model)) and time.monotonic() < patience:
        yield f"Indexing {count(left, 'new memory', 'new memories')}…"
        indexer.wake()
        indexer.wait(0.5)


def _find(bank: Bank, persona_id: int | None) -> Persona | None:
    return bank.persona(persona_id) if persona_id is not None else None


def _message(role: str, content: str) -> Message:
    return {"role": role, "content": content}


def _status(text: str) -> Message:
    return {"role": "assistant", "content": "\u200b", "metadata": {"title": text, "status": "pending"}}


def _text(message: Message) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _questions(messages: Sequence[Message]) -> list[str]:
    return [from_markdown(_text(m)) for m in messages if m["role"] == "user"]
