"""How an answer came about, made visible: its sources, and what each node decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING

from graph.assistant import Answer
from graph.state import Citation, Note, Reason
from memory.bank.bank import Bank
from memory.dates.expressions import describe_span
from memory.search.scoring import FACTORS
from memory.tab.formatting import STORE_NAMES, clip, format_count, format_day, memory_date
from memory.tab.memory_card import render_sources
from memory.tab.templates import badge, empty_state, hint
from memory.types import STORES, Hit, Memory, Persona

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NOTES = 5
"""Notes that are shown; further ones say next to nothing."""

EARLIER = 5
"""Earlier answers whose sources stay in sight."""

REACH = 30
"""Turns shown before and after a quoted one."""

Answered = tuple[str, list[int]]
"""What was asked, and the ids of the memories that the answer relied on."""

STEP_NAMES = {
    "classify": "Understand",
    "retrieve": "Search",
    "views": "· in several ways",
    "voice": "· in their words",
    "coverage": "· words or meaning",
    **{factor.score: f"· {factor.label}" for factor in FACTORS.values()},
    "rerank": "Order",
    "time_filter": "Check the time",
    "read": "Read",
    "persist": "Remember",
}
STATUS = {
    "classify": "Searching the memory…",
    "retrieve": "Putting the best first…",
    "rerank": "Checking the time…",
    "time_filter": "Reading what was found…",
    "read": "Remembering this exchange…",
}
"""What goes on once a node is done."""

WHY_NOT: Mapping[Reason, str] = {
    "nothing found": "Nothing that is remembered comes near this question.",
    "found but does not say": "Some memories come near this question, but none of them answers it.",
    "premise contradicted": "What is remembered contradicts something that the question takes for granted.",
    "outside the known time": "The question is about a time that this memory does not reach.",
}
"""Why there is no answer, in a sentence."""

CANDIDATE_HEADERS = [
    *("No.", "Place", "Kind", "Memory", "Words", "Meaning", "Both", "Kind fits", "Total"),
    *("Factors", "Note", "Outcome"),
]
CANDIDATE_WIDTHS = (5, 6, 10, 21, 6, 7, 5, 5, 5, 10, 11, 9)
NOTE_HEADERS = ["Fit", "Note", "From"]
STEP_HEADERS = ["Step", "What it decided", "Milliseconds"]

Row = list[str | int | float]


def source(bank: Bank, citation: Citation, answer_number: int) -> str:
    """A cited line as a card; opened, it shows the conversation around it."""
    memory = citation.memory
    anchor = f"source-{answer_number}-{citation.number}"
    teller = f" · {escape(memory.speaker)}" if memory.speaker else ""
    stale = f" · may be out of date since {format_day(memory.stale_since)}" if memory.stale_since else ""
    when = f"<time>{escape(memory_date(memory))}</time>{teller}{stale}"
    meta = f'<span class="memoir-meta">{when} {badge(memory.store)}</span>'
    return (
        f'<details class="memoir-card memoir-source" id="{anchor}"><summary><span class="memoir-number">'
        f'{citation.number}</span><span class="memoir-source-head">{meta}<q class="memoir-quote">'
        f"{escape(citation.quote)}</q></span></summary>{render_sources(bank, memory, REACH)}</details>"
    )


def sources(bank: Bank, question: str, citations: Sequence[Citation], answer_number: int) -> str:
    """The cards of all that one answer relies on."""
    cards = "".join(source(bank, c, answer_number) for c in citations)
    asked = f'<p class="memoir-overline">{escape(clip(question, 90))}</p>'
    return f'{asked}<div class="memoir-sources">{cards}</div>'


def earlier(groups: Sequence[str]) -> str:
    """The sources of earlier answers, folded away."""
    if not groups:
        return ""
    return f'<details class="memoir-earlier"><summary>Sources of earlier answers</summary>{"".join(groups)}</details>'


def all_sources(bank: Bank, answer: Answer, before: Sequence[Answered]) -> str:
    """The sources of an answer and, folded, those of the last ones `before` it that relied on something."""
    citations, number = answer.reading.citations, len(before) + 1
    newest = sources(bank, answer.ask.text, citations, number) if citations else no_sources(answer)
    relied = [(n, question, ids) for n, (question, ids) in enumerate(before, 1) if ids]
    groups = [
        sources(bank, question, remembered_before(bank, answer.ask.persona.id, ids), n)
        for n, question, ids in relied[-EARLIER:]
    ]
    return f'<div data-answer="{number}">{newest}{earlier(groups[::-1])}</div>'


def no_sources(answer: Answer) -> str:
    """Why an answer relies on nothing."""
    if answer.reading.abstained:
        reason = answer.reading.reason
        return empty_state("No sources", WHY_NOT[reason] if reason else "Nothing that is remembered answers this.")
    if answer.reading.by not in ("", "extractive"):
        return empty_state("No sources", "The chat model named none for this answer, so take it with care.")
    return empty_state("No sources needed", "Nothing was asked, so nothing was looked up.")


def remembered_before(bank: Bank, persona_id: int, cited: Sequence[int]) -> list[Citation]:
    """The citations of an earlier answer, less what was forgotten since."""
    held = {m.id: m for m in bank.chosen(persona_id, list(cited))}
    return [Citation(n, held[i], clip(held[i].text), {}) for n, i in enumerate(cited, 1) if i in held]


def welcome(bank: Bank, persona: Persona | None) -> str:
    """What an empty chat says of the persona."""
    if persona is None:
        return empty_state("Nobody to talk with yet", "Create a persona, or bring in a history.")
    counts, known = bank.counts(persona.id), bank.time_range(persona.id)
    if known is None:
        return empty_state(
            f"{persona.name} remembers nothing yet", "Tell something about yourself, or bring in a history."
        )
    memories = sum(n for store, n in counts.items() if store not in ("sessions", "turns"))
    span = f"{format_day(known.start)} to {format_day(known.end)}"
    return empty_state(
        f"Talk with {persona.name}",
        f"{format_count(memories, 'memory', 'memories')}, {span}. Ask, or tell something new.",
    )


def summary(answer: Answer) -> str:
    """In a sentence or two: what was asked for, in what time, and what was read."""
    kept = sum(hit.kept for hit in answer.hits)
    if not answer.hits:
        return hint("Nothing was looked up for this message.")
    found = Counter(hit.memory.store for hit in answer.hits)
    stores = ", ".join(f"{found[s]} of {STORE_NAMES[s].lower()}" for s in STORES if found[s])
    looked = f"{format_count(len(answer.hits), 'candidate')} ({stores}), {kept} of them read."
    if not answer.window:
        return hint(f"{looked} The question names no time, so nothing was left out for its date.")
    times = "; ".join(f"“{w.text}” means {describe_span(w.span)}{'' if w.sure else ', perhaps'}" for w in answer.window)
    return hint(f"{looked} {times}.")


def classes(answer: Answer) -> dict[str, float]:
    """How likely each kind of memory is asked for, by the name on the screen."""
    figures = next((dict(line.figures) for line in answer.trace if line.node == "classify"), {})
    return {STORE_NAMES[store]: figures[store] for store in STORES if store in figures}


def candidates(answer: Answer) -> list[Row]:
    """A row a candidate, in the order in which they would be read: what it got, what was noted, what came of it."""
    cited = {c.memory.id: c.number for c in answer.reading.citations}
    noted = {n.memory.id: n for n in reversed(answer.reading.notes)}
    return [_candidate(place, hit, noted, cited) for place, hit in enumerate(answer.hits, 1)]


def _candidate(place: int, hit: Hit, noted: Mapping[int, Note], cited: Mapping[int, int]) -> Row:
    memory, found = hit.memory, int(hit.scores.get("found", place))
    note = noted.get(memory.id)
    raised = (f"{f.label} +{hit.scores[f.score]:.2f}" for f in FACTORS.values() if hit.scores.get(f.score, 0.0) > 0)
    outcome = "read" if hit.kept else hit.why
    return [
        memory.id,
        str(place) if found == place else f"{place} (was {found})",
        STORE_NAMES[memory.store],
        f"{memory_date(memory)} — {clip(memory.text, 140)}",
        *(round(hit.scores.get(name, 0.0), 2) for name in ("lexical", "dense", "fused", "class", "rerank")),
        ", ".join(raised),
        f"{note.relevance:.0%}: {clip(note.quote, 60)}" if note else "",
        f"relied on [{cited[memory.id]}]" if memory.id in cited else outcome,
    ]


def notes(answer: Answer) -> list[Row]:
    """A row a note, the most relevant first."""
    return [[f"{n.relevance:.0%}", clip(_noted(n), 160), _from(n.memory)] for n in answer.reading.notes[:NOTES]]


def _noted(note: Note) -> str:
    return f"{note.quote} — {note.says}" if note.says else note.quote


def steps(answer: Answer) -> list[Row]:
    """A row a node: what it decided and how long it took."""
    rows: list[Row] = [
        [STEP_NAMES.get(line.node, line.node), line.decided, round(line.milliseconds, 1)] for line in answer.trace
    ]
    return [*rows, ["All", "", round(sum(line.milliseconds for line in answer.trace), 1)]]


def _from(memory: Memory) -> str:
    return " · ".join(part for part in (memory.speaker, format_day(memory.said_at) or memory_date(memory)) if part)


def timeline(answer: Answer) -> Figure | None:
    """The candidates on a line of time, with the stretch that was asked about; None where nothing has a date."""
    from plotly.graph_objects import Figure, Scatter  # half a second, and only answers with a date need it

    figure = Figure()
    for kept, name, colour in ((True, "read", "#c0552f"), (False, "left out", "#968a76")):
        dated = [(hit, when) for hit in answer.hits if hit.kept == kept and (when := _moment(hit.memory))]
        if dated:
            figure.add_trace(
                Scatter(
                    x=[when for _, when in dated],
                    y=[STORE_NAMES[hit.memory.store] for hit, _ in dated],
                    text=[escape(clip(hit.memory.text, 70)) for hit, _ in dated],
                    hovertemplate="%{x|%-d %b %Y}<br>%{text}<extra></extra>",
                    mode="markers",
                    name=name,
                    marker={"size": 11, "color": colour, "opacity": 0.85},
                )
            )
    if not figure.data:
        return None
    first, last = _reach(answer)
    for window in answer.window:
        start, end = max(window.span.start, first), min(window.span.end, last)
        if start < end:
            figure.add_vrect(x0=start, x1=end, fillcolor="#6f9cc6", opacity=0.25, line_width=0)
    # Not add_vline with a text, which cannot average dates.
    figure.add_vline(x=answer.ask.as_of, line_dash="dot", line_color="#968a76")
    figure.add_annotation(x=answer.ask.as_of, y=1, yref="paper", text="asked", showarrow=False, yshift=9)
    figure.update_layout(
        height=260,
        margin={"l": 10, "r": 10, "t": 44, "b": 10},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": "#968a76", "size": 13},
        legend={"orientation": "h", "y": 1.18, "x": 0},
        xaxis={"gridcolor": "rgba(150,138,118,.25)", "range": [first, last]},
        yaxis={"gridcolor": "rgba(150,138,118,.25)", "automargin": True},
        dragmode=False,
    )
    return figure


def _moment(memory: Memory) -> datetime | None:
    return memory.event.start if memory.event else memory.said_at


def _reach(answer: Answer) -> tuple[datetime, datetime]:
    """From a little before the first candidate to a little after the moment of asking."""
    moments = [answer.ask.as_of, *(when for hit in answer.hits if (when := _moment(hit.memory)))]
    margin = max((max(moments) - min(moments)) / 30, timedelta(days=1))
    return min(moments) - margin, max(moments) + margin
