"""Where a memory is put right: edited, pinned, merged, marked wrong, and all of it undone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import gradio as gr

from memory.bank import corrections as correcting
from memory.bank.bank import Bank
from memory.bank.corrections import Change, Version, version_of
from memory.dates.expressions import describe_span, read_date
from memory.errors import MemoirError
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.formatting import format_day
from memory.types import SEMANTIC, Memory, TimeSpan

KINDS = {
    "edit": "the edit of No. {memory}",
    "wrong": "marking No. {memory} wrong",
    "pin": "pinning No. {memory}",
    "unpin": "unpinning No. {memory}",
    "merge": "the merge of No. {other} into No. {memory}",
}
"""What an undo would undo, in words."""


@dataclass(frozen=True, slots=True)
class CorrectingBox:
    """The parts that the tab listens to: `changed` changes to the id of the memory to look at after each change."""

    bank: Bank
    changed: gr.State
    bar: gr.Row
    form: gr.Group
    pin: gr.Button
    merge: gr.Button
    undo: gr.Button

    @property
    def shown(self) -> list[gr.components.Component | gr.blocks.BlockContext]:
        """The parts that `about` changes."""
        return [self.bar, self.form, self.pin, self.merge, self.undo]

    def about(self, persona_id: int | None, memory: Memory | None) -> Update:
        """What can be done with a memory, and what can be undone."""
        alive = memory is not None and memory.taken_back is None
        same = correcting.duplicates(self.bank, memory.persona_id, memory.id) if memory is not None and alive else []
        others = ", ".join(f"No. {each.id}" for each in same)
        last = correcting.last_change(self.bank, persona_id) if persona_id is not None else None
        return {
            self.bar: gr.Row(visible=alive),
            self.form: gr.Group(visible=False),
            self.pin: gr.Button("Unpin" if memory is not None and memory.pinned else "Pin"),
            self.merge: gr.Button(f"Merge with {others}, which says the same", visible=bool(same)),
            self.undo: gr.Button(f"Undo {_named(last)}" if last else "", visible=last is not None),
        }


def correcting_box(bank: Bank, persona: gr.Dropdown, selected: gr.State) -> CorrectingBox:
    """Build the box; `persona` and `selected` hold the ids of what is looked at."""
    changed: gr.State = gr.State((0, 0))
    with gr.Row(visible=False, elem_classes="memoir-actions") as bar:
        edit = gr.Button("Edit", size="sm", min_width=70, elem_id="memory-edit")
        pin = gr.Button("Pin", size="sm", min_width=70, elem_id="memory-pin")
        wrong = gr.Button("Mark wrong", size="sm", min_width=90, elem_id="memory-wrong")
    merge = gr.Button(size="sm", visible=False, elem_id="memory-merge")
    with gr.Group(visible=False, elem_classes="memoir-panel") as form:
        text = gr.Textbox(label="Memory", lines=2, max_length=20_000, elem_id="memory-text")
        since = gr.Textbox(
            label="When", info="8 May 2023, May 2023 or 2023; empty if not known", elem_id="memory-since"
        )
        until = gr.Textbox(label="Until", info="Until when it was so; empty if it still is", elem_id="memory-until")
        with gr.Row():
            leave = gr.Button("Leave as it is", size="md")
            save = gr.Button("Save", variant="primary", size="md", elem_id="memory-save")
    undo = gr.Button(size="sm", visible=False, elem_id="memory-undo")
    box = CorrectingBox(bank, changed, bar, form, pin, merge, undo)

    def done(memory_id: int, before: tuple[int, int]) -> tuple[int, int]:
        return memory_id, before[1] + 1

    @show_errors
    def opened(persona_id: int, memory_id: int) -> Update:
        memory = bank.memory(persona_id, memory_id)
        fact = memory.store in SEMANTIC
        when = format_day(memory.valid_from) if fact else describe_span(memory.event) if memory.event else ""
        return {
            form: gr.Group(visible=True),
            text: memory.text,
            since: gr.Textbox(when, label="Since" if fact else "When"),
            until: gr.Textbox(format_day(memory.valid_to), visible=fact),
        }

    @show_errors
    def saved(
        persona_id: int, memory_id: int, words: str, begins: str, ends: str, before: tuple[int, int]
    ) -> tuple[int, int]:
        memory = bank.memory(persona_id, memory_id)
        return done(correcting.edit(bank, persona_id, memory_id, _version(memory, words, begins, ends)).id, before)

    @show_errors
    def marked(persona_id: int, memory_id: int, before: tuple[int, int]) -> tuple[int, int]:
        correcting.mark_wrong(bank, persona_id, memory_id)
        return done(memory_id, before)

    @show_errors
    def pinned(persona_id: int, memory_id: int, before: tuple[int, int]) -> tuple[int, int]:
        correcting.pin(bank, persona_id, memory_id, pinned=not bank.memory(persona_id, memory_id).pinned)
        return done(memory_id, before)

    @show_errors
    def merged(persona_id: int, memory_id: int, before: tuple[int, int]) -> tuple[int, int]:
        same = correcting.duplicates(bank, persona_id, memory_id)
        correcting.merge(bank, persona_id, memory_id, [each.id for each in same])
        return done(memory_id, before)

    @show_errors
    def undone(persona_id: int, before: tuple[int, int]) -> tuple[int, int]:
        return done(correcting.undo(bank, persona_id), before)

    edit.click(opened, [persona, selected], [form, text, since, until], **PRIVATE)
    leave.click(lambda: gr.Group(visible=False), None, form, **PRIVATE)
    save.click(saved, [persona, selected, text, since, until, changed], changed, **PRIVATE)
    for button, handler in ((wrong, marked), (pin, pinned), (merge, merged)):
        button.click(handler, [persona, selected, changed], changed, **PRIVATE)
    undo.click(undone, [persona, changed], changed, **PRIVATE)
    return box


def _version(memory: Memory, words: str, begins: str, ends: str) -> Version:
    """What the form says a memory is to be; a date that was left as it stood keeps its hour."""
    held = version_of(memory)
    if memory.store in SEMANTIC:
        start = held.valid_from if begins.strip() == format_day(held.valid_from) else _start(begins)
        end = held.valid_to if ends.strip() == format_day(held.valid_to) else _start(ends)
        return Version(words, held.event, held.event_text, start, end)
    if memory.event is not None and begins.strip() == describe_span(memory.event):
        return Version(words, held.event, held.event_text, held.valid_from, held.valid_to)
    span = _span(begins)
    return Version(words, span, begins.strip() if span else "", held.valid_from, held.valid_to)


def _start(text: str) -> datetime | None:
    span = _span(text)
    return span.start if span else None


def _span(text: str) -> TimeSpan | None:
    if not text.strip():
        return None
    span = read_date(text.strip())
    if span is None:
        raise MemoirError(f"“{text.strip()}” is no date. Write for example 8 May 2023, May 2023 or 2023.")
    return span


def _named(change: Change) -> str:
    return KINDS[change.kind].format(memory=change.memory_id, other=change.other_id)
