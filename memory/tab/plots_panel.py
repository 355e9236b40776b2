"""The part of the Memory tab that plots what is remembered; the plots are drawn when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import gradio as gr

from memory.bank.bank import Bank
from memory.tab import plots
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.formatting import parse_date
from memory.tab.templates import heading, hint


class PlotsPanel:
    """The panel's components."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        """Build the panel, which follows the persona chosen in `persona`."""
        self.bank = bank
        self.is_open: gr.State = gr.State(False)
        with gr.Accordion("Plots", open=False, elem_classes="memoir-trace", elem_id="memory-pictures") as fold:
            self.timeline_text = gr.HTML(padding=False, elem_id="picture-timeline-words")
            self.timeline = gr.Plot(show_label=False, visible=False, elem_id="picture-timeline")
            self.stores_text = gr.HTML(padding=False, elem_id="picture-holdings-words")
            self.stores = gr.Plot(show_label=False, visible=False, elem_id="picture-holdings")
            self.as_of = gr.Textbox(
                label="Relationships as of (optional)", placeholder="8 May 2023", elem_id="picture-as-of"
            )
            self.people_text = gr.HTML(padding=False, elem_id="picture-people-words")
            self.people = gr.Plot(show_label=False, visible=False, elem_id="picture-people")
        self._inputs: list[Any] = [persona, self.as_of]
        self._outputs: list[Any] = [
            *(self.is_open, self.timeline, self.timeline_text, self.stores, self.stores_text),
            *(self.people, self.people_text),
        ]
        fold.expand(self.draw, self._inputs, self._outputs, **PRIVATE)
        fold.collapse(lambda: False, None, self.is_open, **PRIVATE)
        self.as_of.submit(self.draw, self._inputs, self._outputs, **PRIVATE)
        self.redraw_after(persona.change)

    def redraw_after(self, event: Callable[..., Any]) -> None:
        """Draw again after an event of the tab, if the panel is open."""
        event(self.redraw, [*self._inputs, self.is_open], self._outputs, **PRIVATE)

    @show_errors
    def draw(self, persona_id: int | None, as_of: str | None) -> Update:
        """Draw the plots of a persona; `as_of` is the date of the relationships, now if empty."""
        if persona_id is None:
            hidden = {plot: gr.Plot(visible=False) for plot in (self.timeline, self.stores, self.people)}
            texts = {self.timeline_text: hint("Choose a persona."), self.stores_text: "", self.people_text: ""}
            return {self.is_open: True, **texts, **hidden}
        day = parse_date(as_of)
        moment = day.end if day else datetime.now(UTC)
        drawn = (
            ("Timeline", self.timeline, self.timeline_text, plots.draw_timeline(self.bank, persona_id)),
            ("Memories by kind", self.stores, self.stores_text, plots.draw_stores(self.bank, persona_id)),
            ("Relationships", self.people, self.people_text, plots.draw_people(self.bank, persona_id, moment)),
        )
        shown: Update = {self.is_open: True}
        for title, plot, text, (figure, description) in drawn:
            shown[plot] = gr.Plot(figure, visible=figure is not None)
            shown[text] = heading(title) + hint(description)
        return shown

    def redraw(self, persona_id: int | None, as_of: str | None, is_open: bool) -> Update:
        """Draw the plots if the panel is open."""
        return self.draw(persona_id, as_of) if is_open else {self.is_open: False}
