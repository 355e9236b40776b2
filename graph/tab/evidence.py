"""What an answer relies on: each cited line as a card, and the panel "How I remembered" with every step."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from html import escape
from typing import TYPE_CHECKING

import gradio as gr
from markupsafe import Markup

from graph.assistant import Answer
from graph.state import Reading
from graph.tab.messages import Chat, PastAnswer
from graph.understanding.times import moment_of
from memory.bank.bank import Bank
from memory.dates.expressions import describe_time
from memory.formatting import STORE_NAMES, clip, format_day, memory_date
from memory.search.quotes import contains
from memory.search.scoring import FACTORS
from memory.tab.memory_card import render_memory, render_sources
from memory.tab.parts import PRIVATE, TEXTS, TRACES, Update, build_table, empty_state, hint, look, new_figure, render
from memory.types import STORES, Memory

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

NO_READING = Reading("")
"""That of an answer which was given before."""

MAX_NOTES = 5
"""Notes shown; those after the most relevant ones add little."""

STEP_NAMES = {**TEXTS["steps"], **{name: f"· {factor.label}" for name, factor in FACTORS.items()}}

Row = list[str | int | float]


def render_sources_of(bank: Bank, persona_id: int, answer: PastAnswer, reading: Reading = NO_READING) -> Markup:
    """Render the sources of an answer, or why it has none; the `reading` is that of the answer just given."""
    known = still_remembered(bank, persona_id, [answer])
    cited = [(n, known[memory_id], quote) for n, memory_id, quote in answer.cited if memory_id in known]
    cards = [(*each, render_sources(bank, each[1]), _is_corrected(bank, each[1])) for each in cited]
    why = {"has_cited": bool(answer.cited), "reading": reading, "why": TEXTS["abstentions"].get(reading.reason or "")}
    return render("answer_sources.html", question=answer.question, number=answer.number, cards=cards, **why)


def _is_corrected(bank: Bank, memory: Memory) -> bool:
    """Whether a line was not said so: its words were put right later."""
    said = bank.sources(memory.persona_id, memory.id) if memory.store == "dialogue" else []
    return bool(said) and not any(contains(turn.text, memory.text) for turn in said)


def still_remembered(bank: Bank, persona_id: int | None, answers: Sequence[PastAnswer]) -> dict[int, Memory]:
    """The memories that answers cite, by id, without those that were forgotten or taken back; corrected ones stay."""
    ids = [memory_id for answer in answers for _, memory_id, _ in answer.cited]
    cited = bank.memories_by_id(persona_id, ids) if persona_id is not None and ids else []
    return {memory.id: memory for memory in cited if memory.retracted_at is None or memory.superseded_by is not None}


def render_last_sources(bank: Bank, chat: Chat) -> Markup:
    """Render the sources of the last answer of a chat."""
    if chat.persona_id is None or not chat.answers:
        return empty_state("No answer yet", "The lines that an answer relies on are shown here.")
    return render_sources_of(bank, chat.persona_id, chat.answers[-1])


class TracePanel:
    """The panel's components; `persona` holds the id of the persona that answers.

    What it shows of the last `answer`, a plot and three tables, is made only while it `is_open`.
    """

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        self.answer, self.is_open = gr.State(), gr.State(False)
        with gr.Accordion("How I remembered", open=False, elem_classes="memoir-trace", elem_id="how") as panel:
            self.summary = gr.HTML(padding=False)
            with gr.Row():
                self.classes = gr.Label(**look("how-classes"))
                self.plot = gr.Plot(label="Candidates over time", visible=False)
            self.candidates = build_table("how-candidates")
            self.candidate = gr.HTML(padding=False, elem_id="how-one")
            with gr.Row():
                self.notes, self.steps = build_table("how-notes"), build_table("how-steps")
        self.tables = [self.candidates, self.notes, self.steps]
        shown = [self.summary, self.classes, self.plot, self.candidate, *self.tables]
        self.outputs = [self.answer, *shown]
        panel.expand(self.open, self.answer, [self.is_open, *shown], **PRIVATE)
        panel.collapse(lambda: False, None, self.is_open, **PRIVATE)
        self.candidates.select(self.show_candidate, persona, self.candidate, trigger_mode="always_last", **PRIVATE)

    def clear(self) -> Update:
        """Show that there is no answer yet."""
        nothing = empty_state("No answer yet", "Ask something, and every step of the answer is shown here.")
        hidden = {part: gr.update(visible=False) for part in (self.classes, self.plot, *self.tables)}
        return {self.answer: None, self.summary: nothing, self.candidate: "", **hidden}

    def open(self, answer: Answer | None) -> Update:
        """Show how the last answer was found, and from now on each at once."""
        return {self.is_open: True, **(self.explain(answer) if answer else {})}

    def explain(self, answer: Answer) -> Update:
        """Show how an answer was found."""
        figure, candidates, notes = plot_candidates(answer), candidate_rows(answer), note_rows(answer)
        counts = Counter(hit.memory.store for hit in answer.hits)
        likely = next((line.figures for line in answer.trace if line.node == "classify"), {})
        return {
            self.summary: hint(render("answer_search.html", answer=answer, counts=counts, describe_time=describe_time)),
            self.classes: gr.Label(
                {STORE_NAMES[store]: likely[store] for store in STORES if store in likely}, visible=bool(candidates)
            ),
            self.plot: gr.Plot(figure, visible=figure is not None),
            self.candidates: gr.Dataframe(candidates, visible=bool(candidates)),
            self.candidate: hint("Click a candidate to see where it comes from." if candidates else ""),
            self.notes: gr.Dataframe(notes, visible=bool(notes)),
            self.steps: gr.Dataframe(step_rows(answer), visible=True),
        }

    def show_candidate(self, persona_id: int, event: gr.SelectData) -> str:
        """Show a candidate and the conversation it comes from."""
        return render_memory(self.bank, self.bank.memory(persona_id, int(event.row_value[0])))


def candidate_rows(answer: Answer) -> list[Row]:
    """A row for each candidate in the order of reading: its scores, its note and what came of it."""
    cited = {c.memory.id: c.number for c in answer.reading.citations}
    notes = {n.memory.id: f"{n.relevance:.0%}: {clip(n.quote, 60)}" for n in reversed(answer.reading.notes)}
    rows: list[Row] = []
    for rank, hit in enumerate(answer.hits, 1):
        memory, scores, found = hit.memory, defaultdict(float, hit.scores), int(hit.scores.get("found", rank))
        outcome = f"cited [{cited[memory.id]}]" if memory.id in cited else "read" if hit.kept else hit.why
        rows.append(
            [
                memory.id,
                str(rank) if found == rank else f"{rank} (was {found})",
                STORE_NAMES[memory.store],
                f"{memory_date(memory)} — {clip(memory.text, 140)}",
                *(round(scores[name], 2) for name in ("lexical", "dense", "fused", "class", "rerank")),
                ", ".join(f"{f.label} +{scores[name]:.2f}" for name, f in FACTORS.items() if scores[name] >= 0.005),
                notes.get(memory.id, ""),
                outcome,
            ]
        )
    return rows


def note_rows(answer: Answer) -> list[Row]:
    """A row for each note, the most relevant first."""
    rows: list[Row] = []
    for note in answer.reading.notes[:MAX_NOTES]:
        memory, text = note.memory, f"{note.quote} — {note.says}" if note.says else note.quote
        origin = " · ".join(filter(None, [memory.speaker, format_day(memory.said_at) or memory_date(memory)]))
        rows.append([f"{note.relevance:.0%}", clip(text, 160), origin])
    return rows


def step_rows(answer: Answer) -> list[Row]:
    """A row for each line of the trace: what was decided and how long it took."""
    rows: list[Row] = [
        [STEP_NAMES.get(line.node, line.node), line.decided, round(line.milliseconds, 1)] for line in answer.trace
    ]
    return [*rows, ["Total", "", round(sum(line.milliseconds for line in answer.trace), 1)]]


def plot_candidates(answer: Answer) -> Figure | None:
    """Plot when the candidates happened, with the times asked about; None if no candidate has a date."""
    figure = new_figure(280)
    for kept, part in ((True, "read"), (False, "left_out")):
        dated = [(hit, when) for hit in answer.hits if hit.kept == kept and (when := moment_of(hit.memory))]
        if dated:
            figure.add_scatter(
                x=[when for _, when in dated],
                y=[STORE_NAMES[hit.memory.store] for hit, _ in dated],
                text=[escape(clip(hit.memory.text, 70)) for hit, _ in dated],
                **TRACES[part],
            )
    if not figure.data:
        return None
    first, last = _range(answer)
    for window in answer.window:
        start, end = max(window.span.start, first), min(window.span.end, last)
        if start < end:
            figure.add_vrect(x0=start, x1=end, **TRACES["window"])
    # Not add_vline with a text, which cannot average dates.
    figure.add_vline(x=answer.ask.as_of, **TRACES["as_of"])
    figure.add_annotation(x=answer.ask.as_of, **TRACES["asked"])
    figure.update_layout(xaxis_range=(first, last), **TRACES["candidates"])
    return figure


def _range(answer: Answer) -> tuple[datetime, datetime]:
    """From a little before the first candidate to a little after the moment of asking."""
    moments = [answer.ask.as_of, *(when for hit in answer.hits if (when := moment_of(hit.memory)))]
    margin = max((max(moments) - min(moments)) / 30, timedelta(days=1))
    return min(moments) - margin, max(moments) + margin
