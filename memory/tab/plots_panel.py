"""The folded part of the Memory tab that shows what is remembered as pictures, drawn when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import gradio as gr

from memory.bank.bank import Bank
from memory.dates.expressions import read_date
from memory.errors import MemoirError
from memory.tab import plots as pictures
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.templates import heading, hint


def pictures_box(bank: Bank, persona: gr.Dropdown) -> Callable[[Callable[..., Any]], None]:
    """Build the part; it follows the persona that `persona` holds, and every event that is given to what it returns."""
    seen: gr.State = gr.State(False)
    with gr.Accordion("Pictures", open=False, elem_classes="memoir-trace", elem_id="memory-pictures") as fold:
        line = gr.HTML(padding=False, elem_id="picture-timeline-words")
        timeline = gr.Plot(show_label=False, visible=False, elem_id="picture-timeline")
        held = gr.HTML(padding=False, elem_id="picture-holdings-words")
        holdings = gr.Plot(show_label=False, visible=False, elem_id="picture-holdings")
        as_of = gr.Textbox(label="People as of (empty: now)", placeholder="8 May 2023", elem_id="picture-as-of")
        related = gr.HTML(padding=False, elem_id="picture-people-words")
        people = gr.Plot(show_label=False, visible=False, elem_id="picture-people")

    def drawn(persona_id: int | None, moment: str | None) -> Update:
        if persona_id is None:
            hidden = {plot: gr.Plot(visible=False) for plot in (timeline, holdings, people)}
            return {line: hint("No persona is chosen."), held: "", related: "", seen: True, **hidden}
        ways = (
            ("Conversations, events and facts", timeline, line, pictures.timeline(bank, persona_id)),
            ("What is remembered, by kind", holdings, held, pictures.holdings(bank, persona_id)),
            ("Who is what to whom", people, related, pictures.people(bank, persona_id, _moment(moment))),
        )
        shown: Update = {seen: True}
        for title, plot, words, (figure, said) in ways:
            shown |= {
                plot: gr.Plot(figure, visible=figure is not None),
                words: heading(title) + hint(said),
            }
        return shown

    @show_errors
    def opened(persona_id: int | None, moment: str | None) -> Update:
        return drawn(persona_id, moment)

    @show_errors
    def followed(persona_id: int | None, moment: str | None, open_: bool) -> Update:
        return drawn(persona_id, moment) if open_ else {seen: False}

    parts = [seen, timeline, line, holdings, held, people, related]
    fold.expand(opened, [persona, as_of], parts, **PRIVATE)
    fold.collapse(lambda: False, None, seen, **PRIVATE)
    as_of.submit(opened, [persona, as_of], parts, **PRIVATE)

    def follow(event: Callable[..., Any]) -> None:
        event(followed, [persona, as_of, seen], parts, **PRIVATE)

    follow(persona.change)
    return follow


def _moment(text: str | None) -> datetime:
    if not text or not text.strip():
        return datetime.now(UTC)
    span = read_date(text.strip())
    if span is None:
        raise MemoirError(f"“{text.strip()}” is no date. Write for example 8 May 2023, May 2023 or 2023.")
    return span.end
