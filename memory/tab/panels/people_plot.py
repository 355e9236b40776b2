"""Draw people and their relationships: the user in the middle, everybody else on a row of their own.

    best friend  Priya o---.         .---o Sami  father
                            (  Noor  )
         cat     Comma o---'         '---o Leila  younger sister
                                           `--o Daan  husband of Leila

No two labels can overlap, however many people there are, and on a phone the picture only grows longer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from memory.bank.bank import Bank
from memory.bank.queries import statistics
from memory.bank.queries.statistics import Tie
from memory.bank.relations import YOU
from memory.formatting import clip, format_count, format_day
from memory.tab.figure import COLOURS, RULE, new_figure

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ROW = 36
"""Pixels of a row: a name, and below it the relationship."""

FIRST, STEP = 0.3, 0.08
"""Where the people around the middle begin, and how much further out those are whom only these know."""

PILL = "#2f6690"
"""The background of the name in the middle, dark enough for white letters."""

NAME_ROOM, RELATION_ROOM = 22, 28
"""Characters of a name and of a relationship; half a phone has room for little more."""


class Place(NamedTuple):
    """Where a person is drawn: `x` is negative on the left, `y` counts rows upwards."""

    x: float
    y: float


def draw_people(bank: Bank, persona_id: int, as_of: datetime) -> tuple[Figure | None, str]:
    """Draw people and their relationships at a moment as a graph, and describe the plot."""
    name = bank.persona(persona_id).name
    user = statistics.user_name(bank, persona_id)
    ties = statistics.relations(bank, persona_id, name, as_of, user)
    if not ties:
        return None, f"No relationships are known on {format_day(as_of)}."
    everyone = Counter(each for tie in ties for each in (tie.tail, tie.head))
    middle = user if user in everyone else everyone.most_common(1)[0][0]
    counts = f"{format_count(len(everyone), 'name')} and {format_count(len(ties), 'relationship')}"
    lines = [f"{t.tail}, your {t.name}" if t.head == YOU else f"{t.tail}, {t.name} of {t.head}" for t in ties]
    return _draw(ties, middle, user), f"{counts} on {format_day(as_of)}: {'; '.join(lines)}."


def lay_out(ties: Sequence[Tie], middle: str) -> tuple[dict[str, Place], dict[str, Tie]]:
    """The place of each person, and the tie that leads to each from somebody nearer to the middle."""
    branches, reached = _branches(ties, middle)
    sides: tuple[list[tuple[str, int]], list[tuple[str, int]]] = ([], [])
    for branch in branches:
        min(sides, key=len).extend(branch)
    places = {middle: Place(0, 0)}
    for side, sign in zip(sides, (1, -1), strict=True):
        for row, (name, depth) in enumerate(side):
            places[name] = Place(sign * (FIRST + STEP * depth), (len(side) - 1) / 2 - row)
    return places, reached


def _branches(ties: Sequence[Tie], middle: str) -> tuple[list[list[tuple[str, int]]], dict[str, Tie]]:
    """Each person next to the middle with those to whom they lead, as (name, steps from there), row by row.

    Those whom nothing connects to the middle are a branch of their own.
    """
    import networkx

    graph = networkx.Graph()
    for tie in ties:
        if not graph.has_edge(tie.head, tie.tail):
            graph.add_edge(tie.head, tie.tail, tie=tie)
    branches: list[list[tuple[str, int]]] = []
    reached: dict[str, Tie] = {}
    for names in sorted(networkx.connected_components(graph), key=lambda names: (middle not in names, min(names))):
        start = middle if middle in names else max(names, key=lambda name: (graph.degree(name), name))
        # Breadth first: everybody is drawn beside the person who knows them most directly.
        tree = networkx.bfs_tree(graph, start)
        steps = networkx.single_source_shortest_path_length(tree, start)
        for top in tree.successors(start) if start == middle else [start]:
            branches.append([(name, steps[name] - steps[top]) for name in networkx.dfs_preorder_nodes(tree, top)])
        reached |= {child: graph.edges[parent, child]["tie"] for parent, child in tree.edges}
    return branches, reached


def _draw(ties: Sequence[Tie], middle: str, user: str) -> Figure:
    places, reached = lay_out(ties, middle)
    tallest = 1 + 2 * max(abs(place.y) for place in places.values())
    figure = new_figure(round(ROW * (tallest + 1.5)))
    _draw_lines(figure, ties, places)
    people = [name for name in places if name != middle]
    figure.add_scatter(
        x=[places[name].x for name in people],
        y=[places[name].y for name in people],
        text=[_label(name, reached.get(name)) for name in people],
        customdata=[escape(clip(reached[name].text, 120)) if name in reached else "" for name in people],
        mode="markers+text",
        textposition=["middle right" if places[name].x > 0 else "middle left" for name in people],
        textfont={"size": 13},
        cliponaxis=False,
        marker={"size": 9, "color": COLOURS["profile"]},
        hovertemplate="%{customdata}<extra></extra>",
    )
    named = f"{clip(middle, NAME_ROOM)} (you)" if middle == user != YOU else clip(middle, NAME_ROOM)
    # An annotation, because it has a background: all lines meet behind it.
    figure.add_annotation(
        x=0, y=0, text=escape(named), showarrow=False, bgcolor=PILL, borderpad=5, font={"color": "white"}
    )
    figure.update_layout(showlegend=False, hovermode="closest")
    figure.update_xaxes(visible=False, range=[-1, 1])
    figure.update_yaxes(visible=False, range=[-tallest / 2 - 0.3, tallest / 2 + 0.3])
    return figure


def _draw_lines(figure: Figure, ties: Sequence[Tie], places: Mapping[str, Place]) -> None:
    ends = [(places[tie.tail], places[tie.head]) for tie in ties]
    figure.add_scatter(
        x=[x for one, other in ends for x in (one.x, other.x, None)],
        y=[y for one, other in ends for y in (one.y, other.y, None)],
        mode="lines",
        line={"color": RULE, "width": 2},
        hoverinfo="skip",
    )


def _label(name: str, tie: Tie | None) -> str:
    """A name, and below it what this person is to the one by whom they are reached."""
    shown = f"<b>{escape(clip(name, NAME_ROOM))}</b>"
    if tie is None:
        return shown
    relation = tie.name if tie.tail == name else f"{tie.tail}: {tie.name}"
    colour = COLOURS["relationship"]
    return f"{shown}<br><span style='color:{colour};font-size:11px'>{escape(clip(relation, RELATION_ROOM))}</span>"
