"""Show one memory: what is known of it, the conversation it comes from, and the ways to correct or forget it."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import uuid4

import gradio as gr
from markupsafe import Markup

from memory.bank import corrections, journal
from memory.bank.bank import Bank
from memory.bank.queries.deletion import select_memories
from memory.bank.relations import YOU
from memory.dates.expressions import describe_span, find_times
from memory.forgetting import forget
from memory.formatting import STORE_NAMES, clip, format_beginning, format_day, parse_date
from memory.tab.parts import PRIVATE, TEXTS, Confirm, Update, empty_state, render
from memory.types import SEMANTIC, SUMMARY, Memory

MAX_FURTHER = 5
"""Further conversations shown that say the same."""

MAX_USES = 10
"""Answers listed that relied on the memory."""

QUOTED_LINE = re.compile(r"[^:\n]{1,80}: ")
"""How a summary begins that is made of lines that were said, each with its speaker."""

REACH = 30
"""Turns shown before and after the source of a memory."""

Changed = tuple[int, str]
"""The id of the memory to show after a change, and a mark that no other change has."""


def kind_name(memory: Memory) -> str:
    """What the screen calls the kind of a memory; lines picked from a conversation do not sum it up."""
    if memory.attribute != SUMMARY:
        return STORE_NAMES[memory.store]
    return "Key lines" if QUOTED_LINE.match(memory.text) else "Summary"


def render_memory(bank: Bank, memory: Memory) -> Markup:
    """Render the card of a memory and its origin."""
    return render_card(bank, memory) + render_origin(bank, memory)


def render_card(bank: Bank, memory: Memory) -> Markup:
    """Render what is known of a memory."""
    later = [memory.superseded_by] if memory.superseded_by is not None else []
    successors = bank.memories_by_id(memory.persona_id, later)  # none if it was forgotten since
    return render("memory_card.html", memory=memory, kind=kind_name(memory), successors=successors)


def render_origin(bank: Bank, memory: Memory) -> Markup:
    """Render the conversation around the source turns of a memory, and the answers that relied on it."""
    uses = bank.citing_answers(memory.persona_id, memory.id, MAX_USES)
    return render("memory_origin.html", sources=render_sources(bank, memory), uses=uses)


def render_sources(bank: Bank, memory: Memory) -> Markup:
    """Render the conversations that a memory comes from, its source turns marked; the earliest first."""
    persona_id, is_own = memory.persona_id, not bank.persona(memory.persona_id).kept_apart
    cited = bank.sources(persona_id, memory.id)
    first_turns = list({turn.session_id: turn for turn in reversed(cited)}.values())[::-1]
    said = []
    for turn in first_turns[: 1 + MAX_FURTHER]:
        around = bank.turns(persona_id, turn.session_id, around=turn.position, reach=REACH)
        turns = [replace(line, speaker=YOU) if is_own and line.role == "user" else line for line in around]
        said.append((bank.session(persona_id, turn.session_id), turns))
    return render(
        "memory_sources.html",
        said=said,
        further=len(first_turns) - 1,
        recorded_at=memory.recorded_at,
        cited={turn.id for turn in cited},
        quotes=bank.quotes(persona_id, memory.id),
    )


class MemoryDetail:
    """The components beside the list; `selected` holds the id of the memory, `changed` a new value with each change."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.selected: gr.State = gr.State(None)
        self.changed: gr.State = gr.State((0, ""))
        self.card = gr.HTML(padding=False, elem_id="memory-detail")
        with gr.Row(visible=False, elem_classes="memoir-actions") as self.buttons:
            self.edit = gr.Button("Edit", size="sm", min_width=70, elem_id="memory-edit")
            self.pin = gr.Button("Pin", size="sm", min_width=70, elem_id="memory-pin")
            self.wrong = gr.Button("Mark as wrong", size="sm", min_width=90, elem_id="memory-wrong")
        self.merge = gr.Button(size="sm", visible=False, elem_id="memory-merge")
        with gr.Group(visible=False, elem_classes="memoir-panel") as self.form:
            self.text = gr.Textbox(label="Memory", lines=2, max_length=20_000, elem_id="memory-text")
            dates = "8 May 2023, May 2023 or 2023; leave empty if not known"
            self.since = gr.Textbox(label="When", info=dates, elem_id="memory-since")
            self.until = gr.Textbox(label="Until", info="Leave empty if it is still true", elem_id="memory-until")
            with gr.Row():
                self.cancel = gr.Button("Cancel", size="md")
                self.save = gr.Button("Save", variant="primary", size="md", elem_id="memory-save")
        self.undo = gr.Button(size="sm", visible=False, elem_id="memory-undo")
        self.forget = gr.Button("Forget this memory", variant="stop", visible=False, elem_id="memory-forget")
        self.confirm = Confirm("memory-forget", between="Only this fact")
        self.result = gr.HTML(padding=False, elem_id="memory-result")
        self.origin = gr.HTML(padding=False, elem_id="memory-origin")
        parts = [self.card, self.origin, self.selected, self.result, self.confirm.group, self.forget]
        self.outputs: list[Any] = [*parts, self.buttons, self.form, self.pin, self.merge, self.undo]
        """The components that `show` updates."""
        self._connect([persona, self.selected])

    def _connect(self, ids: list[Any]) -> None:
        form = [self.text, self.since, self.until]
        self.edit.click(self.open_form, ids, [self.form, *form], **PRIVATE)
        self.cancel.click(lambda: gr.Group(visible=False), None, self.form, **PRIVATE)
        self.save.click(self.save_form, [*ids, *form], self.changed, **PRIVATE)
        less, sure, cancel = self.confirm.less, self.confirm.sure, self.confirm.cancel
        gr.on([self.wrong.click, less.click], self.mark_wrong, ids, self.changed, **PRIVATE)
        self.pin.click(self.toggle_pin, ids, self.changed, **PRIVATE)
        self.merge.click(self.merge_duplicates, ids, self.changed, **PRIVATE)
        self.undo.click(self.undo_last, ids, self.changed, **PRIVATE)
        self.forget.click(self.show_preview, ids, [*self.confirm.outputs, less, sure, self.forget], **PRIVATE)
        cancel.click(lambda: self._offer(True), None, [self.confirm.group, self.forget], **PRIVATE)

    def show(self, memory: Memory | None, persona_id: int | None = None) -> Update:
        """Show a memory; or none, and what can be undone of a persona."""
        nothing = empty_state("No memory selected", "Click a row, or press Enter on it, to see its source.")
        return {
            self.card: render_card(self.bank, memory) if memory else nothing,
            self.origin: render_origin(self.bank, memory) if memory else "",
            self.selected: memory.id if memory else None,
            self.result: "",
            **self._offer(memory is not None),
            **self._show_corrections(memory.persona_id if memory else persona_id, memory),
        }

    def _show_corrections(self, persona_id: int | None, memory: Memory | None) -> Update:
        """Show what can be done with a memory, and the last change if it was one of this memory or none is shown."""
        current = memory if memory is not None and memory.retracted_at is None else None
        same = corrections.duplicates(self.bank, current.persona_id, current.id) if current else []
        last = corrections.last_change(self.bank, persona_id) if persona_id is not None else None
        ids = [last.memory_id] if last else []
        changed = self.bank.memories_by_id(persona_id, ids) if persona_id is not None else []
        named = f"“{clip(changed[0].text, 40)}”" if changed else "a memory"
        undo = f"Undo {TEXTS['changes'][last.kind].format(memory=named)}" if last else ""
        is_of_other = memory is not None and last is not None and memory.id not in (last.memory_id, last.other_id)
        duplicates = ", ".join(f"No. {each.id}" for each in same)
        return {
            self.buttons: gr.Row(visible=current is not None),
            self.form: gr.Group(visible=False),
            self.pin: gr.Button("Unpin" if memory is not None and memory.pinned else "Pin"),
            self.merge: gr.Button(f"Merge with duplicate {duplicates}", visible=bool(same)),
            self.undo: gr.Button(undo, visible=last is not None and not is_of_other),
        }

    # --- correcting

    def open_form(self, persona_id: int, memory_id: int) -> Update:
        """Fill the form with what the memory says now."""
        memory = self.bank.memory(persona_id, memory_id)
        fact = memory.store in SEMANTIC
        when = format_beginning(memory.valid_from) if fact else describe_span(memory.event) if memory.event else ""
        return {
            self.form: gr.Group(visible=True),
            self.text: memory.text,
            self.since: gr.Textbox(when, label="Since" if fact else "When"),
            self.until: gr.Textbox(format_day(memory.valid_to), visible=fact),
        }

    @journal.requested_by("Memory tab")
    def save_form(self, persona_id: int, memory_id: int, text: str, since: str, until: str) -> Changed:
        """Replace the memory by a version with the form's values."""
        edited = _edited(self.bank.memory(persona_id, memory_id), text, since, until)
        return corrections.edit(self.bank, edited).id, uuid4().hex

    @journal.requested_by("Memory tab")
    def mark_wrong(self, persona_id: int, memory_id: int) -> Changed:
        """Take the memory out of use."""
        corrections.mark_wrong(self.bank, persona_id, memory_id)
        return memory_id, uuid4().hex

    @journal.requested_by("Memory tab")
    def toggle_pin(self, persona_id: int, memory_id: int) -> Changed:
        """Pin the memory, or unpin it."""
        pinned = self.bank.memory(persona_id, memory_id).pinned
        corrections.pin(self.bank, persona_id, memory_id, pinned=not pinned)
        return memory_id, uuid4().hex

    @journal.requested_by("Memory tab")
    def merge_duplicates(self, persona_id: int, memory_id: int) -> Changed:
        """Merge all memories that say the same into this one."""
        same = corrections.duplicates(self.bank, persona_id, memory_id)
        corrections.merge(self.bank, persona_id, memory_id, [each.id for each in same])
        return memory_id, uuid4().hex

    @journal.requested_by("Memory tab")
    def undo_last(self, persona_id: int, memory_id: int | None) -> Changed:
        """Undo the last change of the memories of the persona, or of the one that the shown memory was told to."""
        owner = persona_id if memory_id is None else self.bank.memory(persona_id, memory_id).persona_id
        return corrections.undo(self.bank, owner), uuid4().hex

    # --- forgetting

    def show_preview(self, persona_id: int, memory_id: int) -> Update:
        """Show what would be forgotten with the memory."""
        gone = forget.preview_selected(self.bank, [persona_id], select_memories([memory_id]))
        memory = self.bank.memory(persona_id, memory_id)
        is_fact = memory.store != "dialogue" and memory.retracted_at is None
        return {
            **self.confirm.ask(render("forget_preview.html", gone=gone, is_fact=is_fact)),
            self.confirm.less: gr.Button(visible=is_fact),
            self.confirm.sure: gr.Button("Forget what was said, too" if is_fact else "Forget for good"),
            self.forget: gr.Button(visible=False),
        }

    def _offer(self, forgettable: bool) -> Update:
        """Show the button that asks whether to forget the memory, if there is one."""
        return {**self.confirm.close(), self.forget: gr.Button(visible=forgettable)}


def _edited(memory: Memory, text: str, since: str, until: str) -> Memory:
    """The memory as the form describes it; a date that was not edited keeps its time of day.

    A date that was edited stands in the text, too, if that was not.
    """
    before = replace(memory, text=text)
    if memory.store in SEMANTIC:
        return replace(before, valid_from=_start(since, before.valid_from), valid_to=_start(until, before.valid_to))
    if memory.event is not None and since.strip() == describe_span(memory.event):
        return before
    span, when = parse_date(since), since.strip()
    old = [time for time in find_times(text, memory.said_at) if time.span == memory.event] if memory.said_at else []
    if span and text == memory.text and len(old) == 1:
        before = replace(before, text=text[: old[0].start] + when + text[old[0].end :])
    return replace(before, event=span, event_text=when if span else "")


def _start(typed: str, before: datetime | None) -> datetime | None:
    if typed.strip() in (format_day(before), format_beginning(before)):
        return before
    span = parse_date(typed)
    return span.start if span else None
