"""The part of the Memory tab that plots what is remembered, drawn when it is opened.

The number of marks in a plot is bounded, and every text in it is escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

import gradio as gr

from memory.bank.bank import Bank
from memory.bank.queries import listing
from memory.bank.queries.listing import Months, Tie
from memory.bank.relations import YOU
from memory.formatting import STORE_NAMES, clip, format_count, format_day, parse_date
from memory.tab.parts import COLOURS, PRIVATE, QUIET, TRACES, UNCHANGED, Update, hint, look, new_figure, render
from memory.types import STORES, Memory

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

UNITS = {1: "month", 3: "quarter", 12: "year", 120: "decade", 1200: "century"}

BINS = 60
"""Bins that a plot has room for; a longer life is counted by quarters, years or decades."""

ROW = 36
"""Pixels of a row: a name, and below it the relationship."""

FIRST, STEP = 0.3, 0.08
"""Where the people around the middle begin, and how much further out those are whom only these know."""

NAME_ROOM, RELATION_ROOM = 22, 28
"""Characters of a name and of a relationship; half a phone has room for little more."""

HALF_YEAR = timedelta(days=183)


class PlotsPanel:
    """The panel's components."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        """Build the panel, which follows the persona chosen in `persona`."""
        self.bank = bank
        self.is_open: gr.State = gr.State(False)
        with gr.Accordion("Plots", open=False, elem_classes="memoir-trace", elem_id="memory-pictures") as fold:
            dated = [_build_plot("timeline"), _build_plot("holdings")]
            self.as_of = gr.Textbox(**look("picture-as-of"))
            self._plots = [*dated, _build_plot("people")]
        self._inputs: list[Any] = [persona, self.as_of]
        self._outputs: list[Any] = [self.is_open, *chain(*self._plots)]
        fold.expand(self.draw, self._inputs, self._outputs, **PRIVATE)
        fold.collapse(lambda: False, None, self.is_open, **PRIVATE)
        self.as_of.submit(self.draw, self._inputs, self._outputs, **PRIVATE)
        self.redraw_after(persona.change)

    def redraw_after(self, event: Callable[..., Any]) -> None:
        """Draw again after an event of the tab, if the panel is open."""
        event(self.draw, [*self._inputs, self.is_open], self._outputs, **PRIVATE)

    def draw(self, persona_id: int | None, as_of: str | None, is_open: bool = True) -> Update:
        """Draw the plots of a persona if the panel is open; `as_of` is the date of the relationships, now if empty."""
        if not is_open:
            return UNCHANGED
        if persona_id is None:
            hidden = {plot: gr.Plot(visible=False) for _, plot in self._plots}
            texts = {text: "" for text, _ in self._plots}
            return {self.is_open: True, **hidden, **texts, self._plots[0][0]: hint("Choose a persona.")}
        day, now = parse_date(as_of), datetime.now(UTC)
        drawn = (
            ("Timeline", *draw_timeline(self.bank, persona_id, now)),
            ("Memories by kind", *draw_stores(self.bank, persona_id)),
            ("Relationships", *draw_people(self.bank, persona_id, day.end if day else now)),
        )
        shown: Update = {self.is_open: True}
        for (text, plot), (title, figure, description) in zip(self._plots, drawn, strict=True):
            shown[plot] = gr.Plot(figure, visible=figure is not None)
            shown[text] = render("heading.html", text=title) + hint(description)
        return shown


def _build_plot(name: str) -> tuple[gr.HTML, gr.Plot]:
    text = gr.HTML(padding=False, elem_id=f"picture-{name}-words")
    return text, gr.Plot(show_label=False, visible=False, elem_id=f"picture-{name}")


def draw_stores(bank: Bank, persona_id: int) -> tuple[Figure | None, str]:
    """Draw the memories by store and month as stacked bars, and describe the plot."""
    months, beyond = trim_sparse_ends(listing.count_by_month(bank, persona_id, *STORES))
    wide, stores = bin_width(months), [store for store in STORES if months[store]]
    if not stores:
        return None, "No memory has a date yet."
    figure = new_figure(300)
    for store in stores:
        bins = bin_counts(months[store], wide)
        figure.add_bar(
            x=list(bins),
            y=list(bins.values()),
            name=STORE_NAMES[store],
            marker={"color": COLOURS[store]},
            xperiod=f"M{wide}",
            hovertemplate=f"{STORE_NAMES[store]}: %{{y:,}}<extra></extra>",
        )
    figure.update_layout(barmode="stack", hovermode="x unified")
    dated = [month for bars in figure.data for month in bars.x]
    if max(dated) - min(dated) < HALF_YEAR:  # or a single month would be as wide as the plot
        figure.update_xaxes(range=[min(dated) - HALF_YEAR, max(dated) + HALF_YEAR])
    total = sum(sum(counted.values()) for counted in months.values())
    text = f"{format_count(total, 'memory', 'memories')} with a date, one bar per {UNITS[wide]}."
    return figure, text + _left_out(beyond)


def draw_timeline(bank: Bank, persona_id: int, now: datetime) -> tuple[Figure | None, str]:
    """Draw conversations and events by month, and each fact as a bar for as long as it was true; describe the plot."""
    found = listing.count_by_month(bank, persona_id, "event", "session")
    months, beyond = trim_sparse_ends({"Events": found["event"], "Conversations": found["session"]})
    facts = listing.dated_facts(bank, persona_id)
    if not facts and not any(months.values()):
        return None, "No conversation, event or fact has a date yet."
    figure = new_figure(170 + 22 * len(facts))
    _bars_of_facts(figure, facts, now)
    wide = bin_width(months)
    for place, (name, counted) in enumerate(months.items(), len(facts)):
        bins = bin_counts(counted, wide)
        most = max(bins.values(), default=1)
        figure.add_scatter(
            x=list(bins),
            y=[place] * len(bins),
            customdata=list(bins.values()),
            mode="markers",
            marker={"size": [6 + 16 * (n / most) ** 0.5 for n in bins.values()], "color": QUIET, "opacity": 0.8},
            hovertemplate=f"%{{customdata:,}} {name.lower()} in the {UNITS[wide]} from %{{x|%B %Y}}<extra></extra>",
        )
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


def _bars_of_facts(figure: Figure, facts: Sequence[Memory], now: datetime) -> None:
    # What began today can be seen, too.
    least = max(timedelta(days=1), (now - min((fact.valid_from or now for fact in facts), default=now)) / 100)
    spans = [(fact, fact.valid_from or now, fact.valid_to or max(now, fact.valid_from or now)) for fact in facts]
    figure.add_bar(
        base=[start for _, start, _ in spans],
        x=[max(end - start, least).total_seconds() * 1000 for _, start, end in spans],
        y=list(range(len(spans))),
        marker={"color": [COLOURS[fact.store] for fact, _, _ in spans]},
        text=[f"{escape(clip(fact.text, 90))}<br>{_validity(fact)}" for fact in facts],
        **TRACES["facts"],
    )


def _validity(fact: Memory) -> str:
    start = format_day(fact.valid_from)
    return f"from {start} to {format_day(fact.valid_to)}" if fact.valid_to else f"since {start}"


def draw_people(bank: Bank, persona_id: int, as_of: datetime) -> tuple[Figure | None, str]:
    """Draw people and their relationships at a moment as a graph, and describe the plot.

    The user is in the middle, everybody else on a row of their own:

        best friend  Priya o---.         .---o Sami  father
                                (  Noor  )
             cat     Comma o---'         '---o Leila  younger sister
                                               `--o Daan  husband of Leila

    No two labels can overlap, however many people there are, and on a phone the picture only grows longer.
    """
    user, ties = listing.relations(bank, persona_id, as_of)
    if not ties:
        return None, f"No relationships are known on {format_day(as_of)}."
    everyone = Counter(each for tie in ties for each in (tie.tail, tie.head))
    middle = user if user in everyone else everyone.most_common(1)[0][0]
    counts = f"{format_count(len(everyone), 'name')} and {format_count(len(ties), 'relationship')}"
    lines = [f"{t.tail}, your {t.name}" if t.head == YOU else f"{t.tail}, {t.name} of {t.head}" for t in ties]
    return _draw(ties, middle, user), f"{counts} on {format_day(as_of)}: {'; '.join(lines)}."


def lay_out(ties: Sequence[Tie], middle: str) -> tuple[dict[str, tuple[float, float]], dict[str, Tie]]:
    """The place of each person, and the tie that leads to each from somebody nearer to the middle.

    x is negative on the left, y counts rows upwards. Those whom nothing connects to the middle are a branch of it.
    """
    import networkx

    graph = networkx.Graph()
    for tie in ties:
        if not graph.has_edge(tie.head, tie.tail):
            graph.add_edge(tie.head, tie.tail, tie=tie)
    for names in sorted(networkx.connected_components(graph), key=min):
        if middle not in names:
            graph.add_edge(middle, max(names, key=lambda name: (graph.degree(name), name)))
    # Breadth first: everybody is drawn beside the person who knows them most directly.
    tree = networkx.bfs_tree(graph, middle)
    steps = networkx.single_source_shortest_path_length(tree, middle)
    sides: tuple[list[str], list[str]] = ([], [])
    for top in tree.successors(middle):
        min(sides, key=len).extend(networkx.dfs_preorder_nodes(tree, top))
    places: dict[str, tuple[float, float]] = {middle: (0, 0)}
    for side, sign in zip(sides, (1, -1), strict=True):
        for row, name in enumerate(side):
            places[name] = sign * (FIRST + STEP * (steps[name] - 1)), (len(side) - 1) / 2 - row
    known = ((child, graph.edges[parent, child].get("tie")) for parent, child in tree.edges)
    return places, {child: tie for child, tie in known if tie}


def _draw(ties: Sequence[Tie], middle: str, user: str) -> Figure:
    places, reached = lay_out(ties, middle)
    tallest = 1 + 2 * max(abs(y) for _, y in places.values())
    figure = new_figure(round(ROW * (tallest + 1.5)))
    ends = [(*places[tie.tail], *places[tie.head]) for tie in ties]
    figure.add_scatter(
        x=[x for x1, _, x2, _ in ends for x in (x1, x2, None)],
        y=[y for _, y1, _, y2 in ends for y in (y1, y2, None)],
        **TRACES["ties"],
    )
    people = [name for name in places if name != middle]
    figure.add_scatter(
        x=[places[name][0] for name in people],
        y=[places[name][1] for name in people],
        text=[_label(name, reached.get(name)) for name in people],
        customdata=[escape(clip(reached[name].text, 120)) if name in reached else "" for name in people],
        textposition=["middle right" if places[name][0] > 0 else "middle left" for name in people],
        **TRACES["people"],
    )
    named = f"{clip(middle, NAME_ROOM)} (you)" if middle == user != YOU else clip(middle, NAME_ROOM)
    # An annotation, because it has a background: all lines meet behind it.
    figure.add_annotation(text=escape(named), **TRACES["middle"])
    figure.update_layout(showlegend=False, hovermode="closest")
    figure.update_xaxes(visible=False, range=[-1, 1])
    figure.update_yaxes(visible=False, range=[-tallest / 2 - 0.3, tallest / 2 + 0.3])
    return figure


def _label(name: str, tie: Tie | None) -> str:
    """A name, and below it what this person is to the one by whom they are reached."""
    shown = f"<b>{escape(clip(name, NAME_ROOM))}</b>"
    if tie is None:
        return shown
    relation = tie.name if tie.tail == name else f"{tie.tail}: {tie.name}"
    colour = COLOURS["relationship"]
    return f"{shown}<br><span style='color:{colour};font-size:11px'>{escape(clip(relation, RELATION_ROOM))}</span>"


def trim_sparse_ends(months: Months) -> tuple[Months, int]:
    """The months without the first and the last 2 % of what is counted, and how much that leaves out.

    Otherwise one memory of a childhood would squeeze the year that a thousand memories are about into one bar.
    """
    ordered = sorted(chain.from_iterable(Counter(counted).elements() for counted in months.values()))
    room = len(ordered) // 50
    shown = set(ordered[room : len(ordered) - room])
    kept = {kind: {m: n for m, n in counted.items() if m in shown} for kind, counted in months.items()}
    return kept, len(ordered) - sum(sum(counted.values()) for counted in kept.values())


def bin_width(months: Months) -> int:
    """The number of months per bin for which all bins fit."""
    known = [month for counted in months.values() for month in counted]
    reach = max(known, default=0) - min(known, default=0) + 1
    return next((wide for wide in (1, 3, 12, 120) if reach / wide < BINS - 1), 1200)


def bin_counts(counted: dict[int, int], wide: int) -> dict[datetime, int]:
    """The counts of months summed by bin, by the beginning of each bin, in order."""
    total: Counter[int] = Counter()
    for month, n in counted.items():
        total[max(month - month % wide, 12)] += n  # there is no year 0
    return {datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC): total[month] for month in sorted(total)}
