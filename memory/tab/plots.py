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
from memory.bank.queries.statistics import Months, Tie
from memory.bank.relations import YOU
from memory.formatting import STORE_NAMES, clip, format_count, format_day, parse_date
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.templates import heading, hint
from memory.types import STORES, Memory, Store

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

COLOURS: Mapping[Store, str] = {
    "profile": "#4f86b5",
    "relationship": "#b8577a",
    "world": "#5d9455",
    "event": "#c08a2e",
    "dialogue": "#8474b8",
}
"""The stores' colours, of a middle tone that shows on a light and on a dark page."""

QUIET, RULE = "#8a7f6c", "rgba(150,138,118,.25)"
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
    figure = _figure(300)
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
    figure = _figure(170 + 22 * len(facts))
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


def draw_people(bank: Bank, persona_id: int, as_of: datetime) -> tuple[Figure | None, str]:
    """Draw people and their relationships at a moment as a graph, and describe the plot."""
    name = bank.persona(persona_id).name
    ties = statistics.relations(bank, persona_id, name, as_of)
    if not ties:
        return None, f"No relationships are known on {format_day(as_of)}."
    figure = _figure(520)
    _draw(figure, ties, _lay_out(ties))
    figure.update_layout(showlegend=False, hovermode="closest")
    figure.update_xaxes(visible=False, range=[-1.3, 1.3])
    figure.update_yaxes(visible=False, range=[-1.15, 1.15])
    everyone = {n for relation in ties for n in (relation.tail, relation.head)}
    counts = f"{format_count(len(everyone), 'name')} and {format_count(len(ties), 'relationship')}"
    lines = [f"{r.tail}, your {r.name}" if r.head == YOU else f"{r.tail}, {r.name} of {r.head}" for r in ties]
    return figure, f"{counts} on {format_day(as_of)}: {'; '.join(lines)}."


def _lay_out(ties: Sequence[Tie]) -> dict[str, tuple[float, float]]:
    import networkx

    graph = networkx.Graph([(relation.tail, relation.head) for relation in ties])
    placed = networkx.spring_layout(graph, k=2.2 / len(graph) ** 0.5, iterations=120, seed=1)
    return {name: (float(x), float(y)) for name, (x, y) in placed.items()}


def _draw(figure: Figure, ties: Sequence[Tie], places: Mapping[str, tuple[float, float]]) -> None:
    ends = [(places[r.tail], places[r.head]) for r in ties]
    figure.add_scatter(
        x=[x for (ax, _), (bx, _) in ends for x in (ax, bx, None)],
        y=[y for (_, ay), (_, by) in ends for y in (ay, by, None)],
        mode="lines",
        line={"color": RULE, "width": 2},
        hoverinfo="skip",
    )
    # Closer to the person who is described than to the one in the middle, where the labels would overlap.
    figure.add_scatter(
        x=[0.6 * ax + 0.4 * bx for (ax, _), (bx, _) in ends],
        y=[0.6 * ay + 0.4 * by for (_, ay), (_, by) in ends],
        text=[escape(clip(r.name, 28)) for r in ties],
        customdata=[escape(clip(r.text, 120)) for r in ties],
        mode="text",
        textfont={"size": 12, "color": COLOURS["relationship"]},
        hovertemplate="%{customdata}<extra></extra>",
    )
    figure.add_scatter(
        x=[x for x, _ in places.values()],
        y=[y for _, y in places.values()],
        text=[escape(clip(name, 28)) for name in places],
        mode="markers+text",
        textposition="top center",
        textfont={"size": 14},
        marker={"size": 12, "color": COLOURS["profile"]},
        hovertemplate="%{text}<extra></extra>",
    )


def _figure(height: int) -> Figure:
    from plotly.graph_objects import Figure  # takes half a second to import, and only plots need it

    return Figure(
        layout={
            "height": height,
            "margin": {"l": 10, "r": 10, "t": 28, "b": 10},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"color": QUIET, "size": 13},
            "legend": {"orientation": "h", "y": 1.14, "x": 0},
            "xaxis": {"gridcolor": RULE},
            "yaxis": {"gridcolor": RULE, "automargin": True},
            "dragmode": False,
        }
    )
