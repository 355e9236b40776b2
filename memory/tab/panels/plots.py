"""The part of the Memory tab that plots what is remembered, drawn when it is opened.

The number of marks in a plot is bounded, and every text in it is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from memory.bank.bank import Bank
from memory.bank.queries import statistics
from memory.bank.queries.statistics import Months
from memory.formatting import STORE_NAMES, clip, format_count, format_day, parse_date
from memory.tab.events import PRIVATE, Update
from memory.tab.figure import COLOURS, QUIET, new_figure
from memory.tab.panels.people_plot import draw_people
from memory.tab.templates import heading, hint
from memory.types import STORES, Memory

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

UNITS = {1: "month", 3: "quarter", 12: "year", 120: "decade", 1200: "century"}


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
        shown = [self.timeline, self.timeline_text, self.stores, self.stores_text, self.people, self.people_text]
        self._outputs: list[Any] = [self.is_open, *shown]
        fold.expand(self.draw, self._inputs, self._outputs, **PRIVATE)
        fold.collapse(lambda: False, None, self.is_open, **PRIVATE)
        self.as_of.submit(self.draw, self._inputs, self._outputs, **PRIVATE)
        self.redraw_after(persona.change)

    def redraw_after(self, event: Callable[..., Any]) -> None:
        """Draw again after an event of the tab, if the panel is open."""
        event(self.redraw, [*self._inputs, self.is_open], self._outputs, **PRIVATE)

    def draw(self, persona_id: int | None, as_of: str | None) -> Update:
        """Draw the plots of a persona; `as_of` is the date of the relationships, now if empty."""
        if persona_id is None:
            hidden = {plot: gr.Plot(visible=False) for plot in (self.timeline, self.stores, self.people)}
            texts = {self.timeline_text: hint("Choose a persona."), self.stores_text: "", self.people_text: ""}
            return {self.is_open: True, **texts, **hidden}
        day = parse_date(as_of)
        moment = day.end if day else datetime.now(UTC)
        drawn = (
            ("Timeline", self.timeline, self.timeline_text, draw_timeline(self.bank, persona_id)),
            ("Memories by kind", self.stores, self.stores_text, draw_stores(self.bank, persona_id)),
            ("Relationships", self.people, self.people_text, draw_people(self.bank, persona_id, moment)),
        )
        shown: Update = {self.is_open: True}
        for title, plot, text, (figure, description) in drawn:
            shown[plot] = gr.Plot(figure, visible=figure is not None)
            shown[text] = heading(title) + hint(description)
        return shown

    def redraw(self, persona_id: int | None, as_of: str | None, is_open: bool) -> Update:
        """Draw the plots if the panel is open."""
        return self.draw(persona_id, as_of) if is_open else {self.is_open: False}


def draw_stores(bank: Bank, persona_id: int) -> tuple[Figure | None, str]:
    """Draw the memories by store and month as stacked bars, and describe the plot."""
    months, beyond = statistics.trim_sparse_ends(statistics.memories_by_month(bank, persona_id))
    wide, stores = statistics.bin_width(months), [store for store in STORES if months[store]]
    if not stores:
        return None, "No memory has a date yet."
    figure = new_figure(300)
    for store in stores:
        bins = statistics.bin_counts(months[store], wide)
        figure.add_bar(
            x=list(bins),
            y=list(bins.values()),
            name=STORE_NAMES[store],
            marker={"color": COLOURS[store]},
            xperiod=f"M{wide}",
            hovertemplate=f"{STORE_NAMES[store]}: %{{y:,}}<extra></extra>",
        )
    figure.update_layout(barmode="stack", hovermode="x unified")
    total = sum(sum(counted.values()) for counted in months.values())
    text = f"{format_count(total, 'memory', 'memories')} with a date, one bar per {UNITS[wide]}."
    return figure, text + _left_out(beyond)


def draw_timeline(bank: Bank, persona_id: int, now: datetime | None = None) -> tuple[Figure | None, str]:
    """Draw conversations and events by month, and each fact as a bar for as long as it was true; describe the plot."""
    now = now or datetime.now(UTC)
    all_months: Months = {
        "Events": statistics.memories_by_month(bank, persona_id)["event"],
        "Conversations": statistics.sessions_by_month(bank, persona_id)["session"],
    }
    months, beyond = statistics.trim_sparse_ends(all_months)
    facts = statistics.dated_facts(bank, persona_id)
    if not facts and not any(months.values()):
        return None, "No conversation, event or fact has a date yet."
    figure = new_figure(170 + 22 * len(facts))
    _bars_of_facts(figure, facts, now)
    wide = statistics.bin_width(months)
    for place, (name, counted) in enumerate(months.items(), len(facts)):
        _row_of_counts(figure, place, name, statistics.bin_counts(counted, wide), UNITS[wide])
    names = [*(escape(clip(fact.text, 22)) for fact in facts), *months]
    figure.update_layout(showlegend=False, barmode="overlay")
    figure.update_xaxes(type="date")
    figure.update_yaxes(tickvals=list(range(len(names))), ticktext=names, showgrid=False)
    text = f"Conversations and events: one dot per {UNITS[wide]}, larger for more."
    if facts:
        text += f" {format_count(len(facts), 'fact')}: each bar shows how long it was true; outdated ones come last."
    return figure, text + _left_out(beyond)


def _left_out(beyond: int) -> str:
    return f" Not shown: {beyond:,} from long before or after." if beyond else ""


def _row_of_counts(figure: Figure, place: int, name: str, bins: Mapping[datetime, int], unit: str) -> None:
    most = max(bins.values(), default=1)
    figure.add_scatter(
        x=list(bins),
        y=[place] * len(bins),
        customdata=list(bins.values()),
        mode="markers",
        marker={"size": [6 + 16 * (n / most) ** 0.5 for n in bins.values()], "color": QUIET, "opacity": 0.8},
        hovertemplate=f"%{{customdata:,}} {name.lower()} in the {unit} from %{{x|%B %Y}}<extra></extra>",
    )


def _bars_of_facts(figure: Figure, facts: Sequence[Memory], now: datetime) -> None:
    spans = [(fact, fact.valid_from or now, fact.valid_to or max(now, fact.valid_from or now)) for fact in facts]
    figure.add_bar(
        orientation="h",
        base=[start for _, start, _ in spans],
        x=[max((end - start).total_seconds() * 1000, 1.0) for _, start, end in spans],
        y=list(range(len(spans))),
        marker={"color": [COLOURS[fact.store] for fact, _, _ in spans]},
        text=[f"{escape(clip(fact.text, 90))}<br>{escape(_validity(fact))}" for fact, _, _ in spans],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
    )


def _validity(fact: Memory) -> str:
    start = format_day(fact.valid_from)
    return f"from {start} to {format_day(fact.valid_to)}" if fact.valid_to else f"since {start}"
