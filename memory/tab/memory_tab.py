"""The Memory tab: all that a persona knows, to search, read, put right and forget."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import gradio as gr
from markupsafe import Markup

from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.learning_queue import SUMMARY
from memory.dates.expressions import read_date
from memory.errors import MemoirError
from memory.forgetting import forget
from memory.search.scoring import SearchSettings
from memory.search.searcher import Searcher
from memory.tab.correction_panel import correcting_box
from memory.tab.events import PRIVATE, UNCHANGED, Update, show_errors
from memory.tab.export_panel import taking_panel
from memory.tab.forget_panel import forgetting_panel
from memory.tab.formatting import STORE_NAMES, clip, memory_date
from memory.tab.journal_panel import journal_panel
from memory.tab.memory_card import render_card, render_origin
from memory.tab.pager import pager
from memory.tab.plots_panel import pictures_box
from memory.tab.templates import empty_state, render
from memory.types import STORES, Memory, Store, TimeSpan

PAGE = 50
FOUND = 20
"""Memories of each store that a search shows."""

HEADERS = ["No.", "Kind", "When", "Who", "Memory"]
REACH = 30
"""Turns shown before and after the source of a memory."""

EVERYTHING = ("Everything", "")
FIRST_DAY, LAST_DAY = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)

SHOW_QUOTED = "() => window.showQuoted(document.querySelector('#memory-origin'))"
"""Scrolls a transcript to the line that is marked in it; `app.py` brings the function."""


def memory_tab(bank: Bank, searcher: Searcher, tab: gr.Tab, chosen: gr.Dropdown) -> None:
    """Build the tab inside `tab`; it opens with the persona that `chosen`, the Chat tab's picker, holds."""
    selected: gr.State = gr.State(None)
    listed_for: gr.State = gr.State(())
    with gr.Row(elem_classes="memoir-filters"):
        persona = gr.Dropdown(label="Persona", scale=1, min_width=170, elem_id="memory-persona")
        query = gr.Textbox(
            label="Search", placeholder="Words or meaning", scale=2, min_width=180, elem_id="memory-search"
        )
        kinds: list[tuple[str, str]] = [EVERYTHING, *((STORE_NAMES[s], s) for s in STORES)]
        store = gr.Dropdown(kinds, value="", label="Kind", scale=1, min_width=140, elem_id="memory-kind")
        first = gr.DateTime(label="From", include_time=False, type="string", scale=1, min_width=175)
        last = gr.DateTime(label="To", include_time=False, type="string", scale=1, min_width=175)
    totals = gr.HTML(padding=False, elem_id="memory-totals")
    with gr.Row(elem_classes="memoir-columns"):
        with gr.Column(scale=7, min_width=320, elem_classes="memoir-main"):
            table = gr.Dataframe(
                headers=HEADERS,
                label="Memories",
                datatype=["number", "str", "str", "str", "str"],
                type="array",
                column_widths=["8%", "16%", "18%", "13%", "45%"],
                interactive=False,
                wrap=True,
                max_height=560,
                show_label=False,
                buttons=[],
                elem_classes="memoir-table",
                elem_id="memory-table",
            )
            pages = pager("memory", "Previous", "Next")
        with gr.Column(scale=4, min_width=320, elem_classes="memoir-side"):
            card = gr.HTML(padding=False, elem_id="memory-detail")
            box = correcting_box(bank, persona, selected)
            ask_forget = gr.Button("Forget this memory", variant="stop", visible=False, elem_id="memory-forget")
            with gr.Group(visible=False, elem_classes="memoir-confirm") as confirm:
                warning = gr.HTML(padding=False)
                with gr.Row():
                    keep = gr.Button("Keep it", size="md")
                    sure = gr.Button("Forget for good", variant="stop", size="md", elem_id="memory-forget-sure")
            result = gr.HTML(padding=False, elem_id="memory-result")
            origin = gr.HTML(padding=False, elem_id="memory-origin")
    forgotten = forgetting_panel(bank, persona)
    taking_panel(bank, persona)
    journal_panel(bank)
    redraw_after = pictures_box(bank, persona)

    def show(persona_id: int | None, page: int, *sought: str | None) -> Update:
        if persona_id is None:
            nobody = empty_state("No persona yet", "Create one in Chat, or bring in a history there.")
            return {totals: nobody, table: [], listed_for: (), **pages.at(0, PAGE, 0, 0, "")}
        text, kind, since, until = sought
        found, total, page = _page(bank, searcher, persona_id, text or "", kind, _between(since, until), page)
        said = f"{total:,}{' found' if text else ''}"
        if not total:
            said = "Nothing fits. Try other words, another kind or a wider stretch of time."
        return {
            totals: _totals(bank.counts(persona_id)),
            table: [_row(m) for m in found],
            listed_for: (persona_id, *sought),
            **pages.at(page, PAGE, len(found), total, said),
        }

    @show_errors
    def opened(current: int | None, of_chat: int | None, *sought: str | None) -> Update:
        known = persona_choices(bank)
        ids = [i for _, i in known]
        wanted = next((i for i in (of_chat, current, *ids) if i in ids), None)
        return {persona: gr.Dropdown(known, value=wanted), **cleared(wanted), **show(wanted, 0, *sought)}

    @show_errors
    def afresh(persona_id: int | None, *sought: str | None) -> Update:
        return {**cleared(persona_id), **show(persona_id, 0, *sought)}

    @show_errors
    def changed(before: tuple[int | str | None, ...], persona_id: int | None, *sought: str | None) -> Update:
        if before == (persona_id, *sought):  # a picker says "input" also when the keyboard only passes through it
            return UNCHANGED
        return afresh(persona_id, *sought)

    @show_errors
    def turned(persona_id: int | None, page: int, *sought: str | None) -> Update:
        return show(persona_id, page, *sought)

    def cleared(persona_id: int | None) -> Update:
        nothing = empty_state("Choose a memory", "A click on a row, or Enter, shows where it comes from.")
        return {card: nothing, origin: "", selected: None, result: "", **asked(False), **box.about(persona_id, None)}

    def asked(open_: bool, forgettable: bool = False) -> Update:
        return {confirm: gr.Group(visible=open_), ask_forget: gr.Button(visible=forgettable and not open_)}

    @show_errors
    def choose(persona_id: int, current: int | None, event: gr.SelectData) -> Update:
        memory = bank.memory(persona_id, int(event.row_value[0]))
        return UNCHANGED if memory.id == current else looked_at(memory)

    def looked_at(memory: Memory) -> Update:
        return {
            card: render_card(bank, memory),
            origin: render_origin(bank, memory, REACH),
            selected: memory.id,
            result: "",
            **asked(False, True),
            **box.about(memory.persona_id, memory),
        }

    @show_errors
    def corrected(persona_id: int, change: tuple[int, int], page: int, *sought: str | None) -> Update:
        memory = bank.memory(persona_id, change[0])
        return {**show(persona_id, page, *sought), **looked_at(memory)}

    @show_errors
    def consider(persona_id: int, memory_id: int) -> Update:
        return {
            warning: render("forget_preview.html", gone=forget.preview_memories(bank, persona_id, [memory_id])),
            **asked(True),
        }

    @show_errors
    def remove(persona_id: int, memory_id: int, page: int, *sought: str | None) -> Update:
        with journal.requested("Memory tab"):
            gone = forget.forget_memories(bank, persona_id, [memory_id])
        rest = show(persona_id, page, *sought)
        return {**rest, **cleared(persona_id), result: render("forget_report.html", gone=gone)}

    filters = [persona, query, store, first, last]
    listed = [totals, table, listed_for, *pages.parts]
    beside = [card, origin, selected, result, confirm, ask_forget, *box.shown]
    arrived = tab.select(opened, [persona, chosen, *filters[1:]], [persona, *listed, *beside], **PRIVATE)
    gr.on(
        [persona.input, query.change, store.input, first.change, last.change],
        changed,
        [listed_for, *filters],
        [*listed, *beside],
        trigger_mode="always_last",
        **PRIVATE,
    )
    pages.turn(turned, [persona, pages.shown, *filters[1:]], listed)
    table.select(choose, [persona, selected], beside, trigger_mode="always_last", **PRIVATE).then(None, js=SHOW_QUOTED)
    box.changed.change(corrected, [persona, box.changed, pages.shown, *filters[1:]], [*listed, *beside], **PRIVATE)
    ask_forget.click(consider, [persona, selected], [warning, confirm, ask_forget], **PRIVATE)
    keep.click(lambda: asked(False, True), None, [confirm, ask_forget], **PRIVATE)
    forgotten.change(afresh, filters, [*listed, *beside], **PRIVATE)
    removed = sure.click(remove, [persona, selected, pages.shown, *filters[1:]], [*listed, *beside], **PRIVATE)
    for event in (arrived.then, removed.then, box.changed.change, forgotten.change):
        redraw_after(event)


def persona_choices(bank: Bank) -> list[tuple[str, int]]:
    """The personas to pick from, as (name, id): the oldest first, which is the sample."""
    return [(p.name, p.id) for p in bank.personas()]


def _page(
    bank: Bank, searcher: Searcher, persona_id: int, text: str, kind: str | None, during: TimeSpan | None, page: int
) -> tuple[list[Memory], int, int]:
    """One page of memories, how many there are on all, and which page it is after all."""
    store: Store | None = next((s for s in STORES if s == kind), None)
    if text.strip():
        hits = searcher.search(persona_id, searcher.views([text]), LAST_DAY, SearchSettings(k=FOUND))
        fitting = [h.memory for h in hits if _fits(h.memory, store, during)]
        page = min(page, max(0, len(fitting) - 1) // PAGE)
        return fitting[page * PAGE : (page + 1) * PAGE], len(fitting), page
    total = bank.count_memories(persona_id, store=store, during=during)
    page = min(page, max(0, total - 1) // PAGE)
    return bank.memories(persona_id, store=store, during=during, limit=PAGE, offset=page * PAGE), total, page


def _fits(memory: Memory, store: Store | None, during: TimeSpan | None) -> bool:
    if store is not None and memory.store != store:
        return False
    if during is None:
        return True
    if memory.event is not None:
        return memory.event.meets(during)
    return memory.said_at is not None and during.start <= memory.said_at < during.end


def _between(since: str | None, until: str | None) -> TimeSpan | None:
    """The stretch from the first moment of one date to the last of the other; None for two empty fields."""
    if not since and not until:
        return None
    first, last = _date(since), _date(until)
    start, end = first.start if first else FIRST_DAY, last.end if last else LAST_DAY
    if end <= start:
        raise MemoirError(f"“{until}” lies before “{since}”: change one of the two dates.")
    return TimeSpan(start, end)


def _date(text: str | None) -> TimeSpan | None:
    if not text or not text.strip():
        return None
    span = read_date(text.strip())
    if span is None:
        raise MemoirError(f"“{text.strip()}” is no date. Write for example 8 May 2023, May 2023 or 2023.")
    return span


def _row(memory: Memory) -> list[str | int]:
    text = ("📌 " if memory.pinned else "") + clip(memory.text)
    if memory.taken_back is not None:
        text += " (taken back)"
    elif memory.superseded_by is not None or memory.valid_to is not None:
        text += " (no longer)"
    elif memory.stale_since is not None:
        text += " (may be out of date)"
    kind = "Summary" if memory.attribute == SUMMARY else STORE_NAMES[memory.store]
    return [memory.id, kind, memory_date(memory), memory.speaker, text]


def _totals(counts: Mapping[str, int]) -> Markup:
    memories = sum(counts.get(store, 0) for store in STORES)
    if not memories and not counts["turns"]:
        return empty_state(
            "Nothing remembered yet", "Tell the persona something in Chat, or import a conversation there."
        )
    return render("persona_totals.html", counts=counts, memories=memories)
