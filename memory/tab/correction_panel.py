"""The part of the Memory tab that corrects a memory: edit, pin, mark as wrong, merge, undo."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import gradio as gr

from memory.bank import corrections
from memory.bank.bank import Bank
from memory.bank.corrections import ChangeKind, Version, version_of
from memory.dates.expressions import describe_span
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.formatting import format_day, parse_date
from memory.types import SEMANTIC, Memory

CHANGE_NAMES: Mapping[ChangeKind, str] = {
    "edit": "the edit of No. {memory}",
    "wrong": "marking No. {memory} as wrong",
    "pin": "pinning No. {memory}",
    "unpin": "unpinning No. {memory}",
    "merge": "the merge of No. {other} into No. {memory}",
}
"""What the undo button says of each change."""

Changed = tuple[int, int]
"""The id of the memory to show after a change, and how many changes there were."""


class CorrectionPanel:
    """The panel's components; `changed` gets a new value with each change."""

    def __init__(self, bank: Bank, persona: gr.Dropdown, selected: gr.State) -> None:
        """Build the panel; `persona` and `selected` hold the ids of the persona and the memory that are shown."""
        self.bank = bank
        self.changed: gr.State = gr.State((0, 0))
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
        self._connect([persona, selected])

    def _connect(self, ids: list[Any]) -> None:
        form, changed = [self.text, self.since, self.until], self.changed
        self.edit.click(self.open_form, ids, [self.form, *form], **PRIVATE)
        self.cancel.click(lambda: gr.Group(visible=False), None, self.form, **PRIVATE)
        self.save.click(self.save_form, [*ids, *form, changed], changed, **PRIVATE)
        self.wrong.click(self.mark_wrong, [*ids, changed], changed, **PRIVATE)
        self.pin.click(self.toggle_pin, [*ids, changed], changed, **PRIVATE)
        self.merge.click(self.merge_duplicates, [*ids, changed], changed, **PRIVATE)
        self.undo.click(self.undo_last, [ids[0], changed], changed, **PRIVATE)

    @property
    def outputs(self) -> list[Any]:
        """The components that `show` updates."""
        return [self.buttons, self.form, self.pin, self.merge, self.undo]

    def show(self, persona_id: int | None, memory: Memory | None) -> Update:
        """Show what can be done with a memory, and what can be undone."""
        current = memory if memory is not None and memory.retracted_at is None else None
        same = corrections.duplicates(self.bank, current.persona_id, current.id) if current else []
        last = corrections.last_change(self.bank, persona_id) if persona_id is not None else None
        undo = f"Undo {CHANGE_NAMES[last.kind].format(memory=last.memory_id, other=last.other_id)}" if last else ""
        duplicates = ", ".join(f"No. {each.id}" for each in same)
        return {
            self.buttons: gr.Row(visible=current is not None),
            self.form: gr.Group(visible=False),
            self.pin: gr.Button("Unpin" if memory is not None and memory.pinned else "Pin"),
            self.merge: gr.Button(f"Merge with duplicate {duplicates}", visible=bool(same)),
            self.undo: gr.Button(undo, visible=last is not None),
        }

    @show_errors
    def open_form(self, persona_id: int, memory_id: int) -> Update:
        """Fill the form with what the memory says now."""
        memory = self.bank.memory(persona_id, memory_id)
        fact = memory.store in SEMANTIC
        when = format_day(memory.valid_from) if fact else describe_span(memory.event) if memory.event else ""
        return {
            self.form: gr.Group(visible=True),
            self.text: memory.text,
            self.since: gr.Textbox(when, label="Since" if fact else "When"),
            self.until: gr.Textbox(format_day(memory.valid_to), visible=fact),
        }

    @show_errors
    def save_form(
        self, persona_id: int, memory_id: int, text: str, since: str, until: str, changed: Changed
    ) -> Changed:
        """Replace the memory by a version with the form's values."""
        version = _edited(self.bank.memory(persona_id, memory_id), text, since, until)
        return corrections.edit(self.bank, persona_id, memory_id, version).id, changed[1] + 1

    @show_errors
    def mark_wrong(self, persona_id: int, memory_id: int, changed: Changed) -> Changed:
        """Take the memory out of use."""
        corrections.mark_wrong(self.bank, persona_id, memory_id)
        return memory_id, changed[1] + 1

    @show_errors
    def toggle_pin(self, persona_id: int, memory_id: int, changed: Changed) -> Changed:
        """Pin the memory, or unpin it."""
        pinned = self.bank.memory(persona_id, memory_id).pinned
        corrections.pin(self.bank, persona_id, memory_id, pinned=not pinned)
        return memory_id, changed[1] + 1

    @show_errors
    def merge_duplicates(self, persona_id: int, memory_id: int, changed: Changed) -> Changed:
        """Merge all memories that say the same into this one."""
        same = corrections.duplicates(self.bank, persona_id, memory_id)
        corrections.merge(self.bank, persona_id, memory_id, [each.id for each in same])
        return memory_id, changed[1] + 1

    @show_errors
    def undo_last(self, persona_id: int, changed: Changed) -> Changed:
        """Undo the last change of the persona's memories."""
        return corrections.undo(self.bank, persona_id), changed[1] + 1


def _edited(memory: Memory, text: str, since: str, until: str) -> Version:
    """The version that the form describes; a date that was not edited keeps its time of day."""
    before = version_of(memory)
    if memory.store in SEMANTIC:
        start, end = _start(since, before.valid_from), _start(until, before.valid_to)
        return Version(text, before.event, before.event_text, start, end)
    if memory.event is not None and since.strip() == describe_span(memory.event):
        return Version(text, before.event, before.event_text, before.valid_from, before.valid_to)
    span = parse_date(since)
    return Version(text, span, since.strip() if span else "", before.valid_from, before.valid_to)


def _start(typed: str, before: datetime | None) -> datetime | None:
    if typed.strip() == format_day(before):
        return before
    span = parse_date(typed)
    return span.start if span else None
