"""The Memory tab: what a persona remembers, to search, read, correct, forget and export."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import gradio as gr
from markupsafe import Markup

from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.queries.listing import GROUPS, OTHER_KINDS, list_memories, list_other
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.formatting import STORE_NAMES, parse_date
from memory.search.scoring import SearchSettings
from memory.search.searcher import Searcher
from memory.tab.memory_card import Changed, MemoryDetail, kind_name
from memory.tab.panels import PersonaPanel, build_export_panel, build_forget_panel, build_journal_panel
from memory.tab.parts import PRIVATE, UNCHANGED, Pager, Update, empty_state, look, render
from memory.tab.plots import PlotsPanel
from memory.types import SUMMARY, Memory, TimeSpan

PAGE = 50
"""Memories of a page."""

HITS_PER_STORE = 20
"""Memories of each store that a search shows."""

MIN_MEANING = 0.25
"""Cosine from which a memory is found without a word of the search; those of unrelated ones lie around 0.1."""

NO_MATCHES = "No matches. Try other words, another kind or a wider date range."

NO_FACTS = "No facts, people or events yet. To see what was said, choose the kind “Conversation”."

FIRST_DAY, LAST_DAY = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

FACTS, EVERYTHING = "", "everything"

KINDS: Mapping[str, str] = {
    FACTS: "Facts, people, events",
    EVERYTHING: "Facts and conversations",
    **{group: group for group in GROUPS},
    "summary": "Summary",
    "dialogue": STORE_NAMES["dialogue"],
    "retracted": "Retracted",
}
"""What the list can be narrowed to, and what the screen calls it."""

OPEN_MEMORY = "window.openMemory = (memory) => trigger('select', { memory });"
"""Lets screen.js ask for a memory whose row was clicked."""


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
        self.forgotten = build_forget_panel(bank, self.list.persona)
        build_export_panel(bank, self.list.persona)
        build_journal_panel(bank)
        self.persona = PersonaPanel(bank, self.list.persona)
        self.plots = PlotsPanel(bank, self.list.persona)
        self._connect(tab, chat_persona)

    def _connect(self, tab: gr.Tab, chat_persona: gr.Dropdown) -> None:
        rows, detail = self.list, self.detail
        changed, selected, page = detail.changed, detail.selected, rows.pages.page
        persona, *filters = rows.filters
        outputs = [*rows.outputs, *detail.outputs]
        opened = tab.select(self.open, [persona, chat_persona, *filters], [persona, *outputs], **PRIVATE)
        # A page may still load when the tab is opened, and names its chat's persona only then.
        chat_persona.change(self.follow, [persona, chat_persona, *filters], [persona, *outputs], **PRIVATE)
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
        chosen.then(None, js="() => window.showMemory()")
        changed.change(self.show_changed, [persona, changed, page, *filters], outputs, **PRIVATE)
        removed = detail.confirm.sure.click(self.forget, [persona, selected, page, *filters], outputs, **PRIVATE)
        self.forgotten.change(self.show_all, rows.filters, outputs, **PRIVATE)
        pickers, gone = [persona, chat_persona], self.persona.deleted
        self.persona.renamed.change(self.show_names, pickers, pickers, **PRIVATE)
        left = gone.change(self.open, [persona, chat_persona, *filters], [persona, *outputs], **PRIVATE)
        # Afterwards: a picker must not lose a choice while another event sends that choice.
        left.then(self.leave_chat, [gone, chat_persona], [chat_persona, self.open_chat], **PRIVATE)
        for event in (left.then, opened.then, removed.then, changed.change, self.forgotten.change):
            self.plots.redraw_after(event)

    def open(self, current: int | None, of_chat: int | None, *filters: str | None) -> Update:
        """Show the persona of the Chat tab; the one shown before, or the first, if there is none."""
        choices = persona_choices(self.bank)
        ids = [persona_id for _, persona_id in choices]
        chosen = next((i for i in (of_chat, current, *ids) if i in ids), None)
        return {self.list.persona: gr.Dropdown(choices, value=chosen), **self.show_all(chosen, *filters)}

    def follow(self, current: int | None, of_chat: int | None, *filters: str | None) -> Update:
        """Show the persona of the Chat tab, unless it is shown."""
        return UNCHANGED if of_chat in (None, current) else self.open(current, of_chat, *filters)

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
        return {**self.detail.show(None, persona_id), **self.list.show(persona_id, 0, *filters)}

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
        shown = {**self.list.show(persona_id, page, *filters), **self.detail.show(None, persona_id)}
        return {**shown, self.detail.result: report}


class MemoryList:
    """The filters, the table and its pages."""

    def __init__(self, bank: Bank, searcher: Callable[[], Searcher]) -> None:
        self.bank, self.searcher = bank, searcher
        self.listed: gr.State = gr.State(())
        """The values of the filters that the table shows."""
        with gr.Row(elem_classes="memoir-filters"):
            self.persona = gr.Dropdown(label="Persona", scale=1, min_width=170, elem_id="memory-persona")
            self.text = gr.Textbox(**look("memory-search"))
            kinds = [(label, kind) for kind, label in KINDS.items()]
            self.kind = gr.Dropdown(kinds, value="", label="Kind", scale=1, min_width=215, elem_id="memory-kind")
            self.since = gr.DateTime(label="From", include_time=False, type="string", scale=1, min_width=175)
            self.until = gr.DateTime(label="To", include_time=False, type="string", scale=1, min_width=175)
        self.totals = gr.HTML(padding=False, elem_id="memory-totals")
        self.filters: list[Any] = [self.persona, self.text, self.kind, self.since, self.until]

    def build_rows(self) -> None:
        """Build the rows and their pages, which are in another column than the filters."""
        self.rows = gr.HTML(padding=False, js_on_load=OPEN_MEMORY, elem_id="memory-list")
        self.pages = Pager("memory", PAGE, "Previous", "Next")
        self.outputs: list[Any] = [self.totals, self.rows, self.listed, self.kind, *self.pages.outputs]
        """The components that `show` updates."""

    def show(self, persona_id: int | None, page: int, *filters: str | None) -> Update:
        """Show a page, from 0, of a persona's memories.

        Raises:
            MemoirError: a date in the filters cannot be read, or the dates are in the wrong order.
        """
        if persona_id is None:
            nobody = empty_state("No persona yet", "Create one in Chat, or import a conversation there.")
            return {self.totals: nobody, self.rows: "", self.listed: (), **self.pages.show(0, 0, "")}
        words, kind, during = (filters[0] or "").strip(), filters[1] or FACTS, _between(*filters[2:])
        listed = list_memories(self.bank, persona_id)
        if words:
            found = self._search(persona_id, words, kind, during, listed)
        else:
            found = self._list(persona_id, kind, during, listed)
        page = self.pages.last(page, len(found))
        memories = self.bank.memories_by_id(persona_id, found[page * PAGE : (page + 1) * PAGE])
        text = f"{len(found):,}{' found' if words else ''}"
        if not found:
            text = NO_MATCHES if words or kind or during else NO_FACTS
        named = [("Pinned" if m.pinned else listed.get(m.id) or kind_name(m), m) for m in memories]
        is_grouped = not words and kind not in OTHER_KINDS
        parts = [(name, list(rows)) for name, rows in groupby(named, lambda row: row[0] if is_grouped else "")]
        return {
            self.totals: _totals(listed, self.bank.counts(persona_id)),
            self.rows: render("memory_list.html", parts=parts),
            self.kind: kind,
            self.listed: (persona_id, *filters),
            **self.pages.show(page, len(found), text),
        }

    def widen(self, listed: Sequence[int | str | None], *filters: str | None) -> list[str | None]:
        """The filters; a search that begins looks in conversations, too: not all that was said is a fact or event."""
        text, kind, *dates = filters
        begins = text and not (listed and listed[1])
        return [text, EVERYTHING if begins and kind == FACTS else kind, *dates]

    def _list(self, persona_id: int, kind: str, during: TimeSpan | None, listed: Mapping[int, str]) -> list[int]:
        """The ids of all memories of a kind and a time."""
        if kind in OTHER_KINDS:
            return list_other(self.bank, persona_id, kind, during)
        groups = listed if during is None else list_memories(self.bank, persona_id, during)
        ids = [memory_id for memory_id, group in groups.items() if kind in (FACTS, EVERYTHING, group)]
        return ids + list_other(self.bank, persona_id, "dialogue", during) if kind == EVERYTHING else ids

    def _search(
        self, persona_id: int, words: str, kind: str, during: TimeSpan | None, listed: Mapping[int, str]
    ) -> list[int]:
        """The ids of the memories that match words, best first.

        Where all is searched, a line of a conversation is left out if something is found that was learned from it.
        """
        if kind == "retracted":  # not in the index
            retracted = self.bank.memories_by_id(persona_id, list_other(self.bank, persona_id, kind, during))
            return [memory.id for memory in retracted if words.casefold() in memory.text.casefold()]
        searcher = self.searcher()
        views = searcher.views([words])
        hits = searcher.search(persona_id, views, LAST_DAY, SearchSettings(k=HITS_PER_STORE))
        close = (h.memory for h in hits if h.scores["lexical"] > 0 or h.scores["dense"] >= MIN_MEANING)
        memories = [memory for memory in close if _is_during(memory, during) and memory.retracted_at is None]
        if kind == "summary":
            return [memory.id for memory in memories if memory.attribute == SUMMARY]
        stated = {turn for memory in memories if memory.id in listed for turn in memory.turn_ids}

        def fits(memory: Memory) -> bool:
            if memory.store == "dialogue" and memory.id not in listed:
                return kind == "dialogue" or (kind == EVERYTHING and stated.isdisjoint(memory.turn_ids))
            return memory.id in listed and kind in (FACTS, EVERYTHING, listed[memory.id])

        return [memory.id for memory in memories if fits(memory)]


def persona_choices(bank: Bank) -> list[tuple[str, int]]:
    """The personas to choose from, as (name, id), the oldest first."""
    return [(persona.name, persona.id) for persona in bank.personas()]


def _between(since: str | None, until: str | None) -> TimeSpan | None:
    """The time from the first moment of one date to the last of the other; None for two empty fields."""
    first, last = parse_date(since), parse_date(until)
    if first is None and last is None:
        return None
    start, end = first.start if first else FIRST_DAY, last.end if last else LAST_DAY
    if end <= start:
        raise MemoirError(f"“{until}” is before “{since}”. Change one of the two dates.")
    return TimeSpan(start, end)


def _is_during(memory: Memory, span: TimeSpan | None) -> bool:
    """Whether a memory is of a time, if one is asked for."""
    if span is None:
        return True
    if memory.event is not None:
        return memory.event.overlaps(span)
    return memory.said_at is not None and span.start <= memory.said_at < span.end


def _totals(listed: Mapping[int, str], counts: Mapping[str, int]) -> Markup:
    if not counts["turns"] and not listed:
        return empty_state("Nothing remembered yet", "Tell the persona something, or import a conversation, in Chat.")
    found = Counter(listed.values())
    groups = [(group, found[group]) for group in GROUPS if found[group]]
    return render("persona_totals.html", groups=groups, counts=counts)
