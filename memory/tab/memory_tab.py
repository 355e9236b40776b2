"""The Memory tab: what a persona remembers, to search, read, correct, forget and export."""

from collections.abc import Callable

import gradio as gr

from memory.bank import journal
from memory.bank.bank import Bank
from memory.forgetting import forget
from memory.search.searcher import Searcher
from memory.tab.memory_card import Changed, MemoryDetail
from memory.tab.memory_list import MemoryList, persona_choices
from memory.tab.panels import ExportPanel, ForgetPanel, JournalPanel, PersonaPanel
from memory.tab.parts import PRIVATE, UNCHANGED, Update, render
from memory.tab.plots import PlotsPanel

SCROLL_TO_MEMORY = """() => {
    window.scrollToQuote(document.querySelector("#memory-origin"));
    window.showMemory();
}"""
"""Brings the memory into view, which a phone shows in a sheet, and in its transcript the line that is marked."""


class MemoryTab:
    """The parts of the tab, and what happens between them."""

    def __init__(
        self, bank: Bank, searcher: Callable[[], Searcher], tab: gr.Tab, chat_persona: gr.Dropdown, open_chat: gr.State
    ) -> None:
        """Build the tab inside `tab`; it opens with the persona that is chosen in the Chat tab.

        `searcher` gives the searcher in use, which changes with the embedding model.
        A persona id in `open_chat` makes the Chat tab start a chat with that persona, or with the first if it is gone.
        """
        self.bank, self.chat_persona, self.open_chat = bank, chat_persona, open_chat
        self.list = MemoryList(bank, searcher)
        with gr.Row(elem_classes="memoir-columns"):
            with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
                self.list.build_rows()
            side = "memoir-side memoir-drawer memoir-sheet"
            with gr.Column(scale=4, min_width=320, elem_classes=side, elem_id="memory-side"):
                gr.HTML(render("drawer_heading.html", title="Memory"), padding=False)
                self.detail = MemoryDetail(bank, self.list.persona)
        self.bulk = ForgetPanel(bank, self.list.persona)
        ExportPanel(bank, self.list.persona)
        JournalPanel(bank)
        self.persona = PersonaPanel(bank, self.list.persona)
        self.plots = PlotsPanel(bank, self.list.persona)
        self._connect(tab, chat_persona)

    def _connect(self, tab: gr.Tab, chat_persona: gr.Dropdown) -> None:
        rows, detail = self.list, self.detail
        changed, selected, page = detail.changed, detail.selected, rows.pages.page
        persona, *filters = rows.filters
        outputs = [*rows.outputs, *detail.outputs]
        opened = tab.select(self.open, [persona, chat_persona, *filters], [persona, *outputs], **PRIVATE)
        gr.on(
            [persona.input, rows.text.change, rows.kind.input, rows.since.change, rows.until.change],
            self.filter,
            [rows.listed, persona, *filters],
            outputs,
            trigger_mode="always_last",
            **PRIVATE,
        )
        rows.pages.connect(rows.show, [persona, page, *filters], rows.outputs)
        chosen = rows.rows.select(
            self.select, [persona, selected], detail.outputs, trigger_mode="always_last", **PRIVATE
        )
        chosen.then(None, js=SCROLL_TO_MEMORY)
        changed.change(self.show_changed, [persona, changed, page, *filters], outputs, **PRIVATE)
        removed = detail.sure.click(self.forget, [persona, selected, page, *filters], outputs, **PRIVATE)
        self.bulk.forgotten.change(self.show_all, rows.filters, outputs, **PRIVATE)
        pickers, gone = [persona, chat_persona], self.persona.deleted
        self.persona.renamed.change(self.show_names, pickers, pickers, **PRIVATE)
        left = gone.change(self.open, [persona, chat_persona, *filters], [persona, *outputs], **PRIVATE)
        # Afterwards: a picker must not lose a choice while another event sends that choice.
        left.then(self.leave_chat, [gone, chat_persona], [chat_persona, self.open_chat], **PRIVATE)
        for event in (left.then, opened.then, removed.then, changed.change, self.bulk.forgotten.change):
            self.plots.redraw_after(event)

    def open(self, current: int | None, of_chat: int | None, *filters: str | None) -> Update:
        """Show the persona of the Chat tab; the one shown before, or the first, if there is none."""
        choices = persona_choices(self.bank)
        ids = [persona_id for _, persona_id in choices]
        chosen = next((i for i in (of_chat, current, *ids) if i in ids), None)
        return {self.list.persona: gr.Dropdown(choices, value=chosen), **self.show_all(chosen, *filters)}

    def show_names(self, *chosen: int | None) -> list[gr.Dropdown]:
        """Show the personas' names in the pickers of both tabs."""
        choices = persona_choices(self.bank)
        return [gr.Dropdown(choices, value=persona_id) for persona_id in chosen]

    def leave_chat(self, deleted: int, of_chat: int | None) -> Update:
        """Take a deleted persona from the Chat tab; where it was open there, another chat opens."""
        if of_chat == -deleted:
            return {self.open_chat: deleted}
        return {self.chat_persona: gr.Dropdown(persona_choices(self.bank), value=of_chat)}

    def show_all(self, persona_id: int | None, *filters: str | None) -> Update:
        """Show the first page, and no memory selected."""
        return {**self.detail.clear(persona_id), **self.list.show(persona_id, 0, *filters)}

    def filter(self, listed: tuple[int | str | None, ...], persona_id: int | None, *filters: str | None) -> Update:
        """Show the memories that match the filters, if these changed.

        A dropdown reports an input also when the keyboard only passes through it.
        """
        if listed == (persona_id, *filters):
            return UNCHANGED
        return self.show_all(persona_id, *self.list.widen(listed, *filters))

    def select(self, persona_id: int, current: int | None, event: gr.EventData) -> Update:
        """Show the memory whose row was clicked."""
        memory = self.bank.memory(persona_id, int(event.memory))
        return UNCHANGED if memory.id == current else self.detail.show(memory)

    def show_changed(self, persona_id: int, changed: Changed, page: int, *filters: str | None) -> Update:
        """Show the memory that was corrected, and the list with it."""
        memory = self.bank.memory(persona_id, changed[0])
        return {**self.list.show(persona_id, page, *filters), **self.detail.show(memory)}

    def forget(self, persona_id: int, memory_id: int, page: int, *filters: str | None) -> Update:
        """Forget the selected memory, and show the list without it."""
        with journal.requested_by("Memory tab"):
            gone = forget.forget_memories(self.bank, persona_id, [memory_id])
        report = render("forget_report.html", gone=gone)
        shown = {**self.list.show(persona_id, page, *filters), **self.detail.clear(persona_id)}
        return {**shown, self.detail.result: report}
