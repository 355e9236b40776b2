"""The panel "How I remembered": each step from the question to the answer, and where a candidate comes from."""

from __future__ import annotations

import gradio as gr

from graph.assistant import Answer
from graph.tab.sources_view import REACH
from graph.tab.trace import trace_view
from graph.tab.trace.candidate_plot import plot_candidates
from memory.bank.bank import Bank
from memory.tab.events import PRIVATE, Update
from memory.tab.memory_card import render_memory
from memory.tab.tables import build_table
from memory.tab.templates import empty_state, hint


class TracePanel:
    """The panel's components; `persona` holds the id of the persona that answers."""

    def __init__(self, bank: Bank, persona: gr.Dropdown) -> None:
        self.bank = bank
        with gr.Accordion("How I remembered", open=False, elem_classes="memoir-trace", elem_id="how"):
            self.summary = gr.HTML(padding=False)
            with gr.Row():
                self.classes = gr.Label(
                    label="Kind of memory asked for", show_heading=False, num_top_classes=5, visible=False
                )
                self.plot = gr.Plot(label="Candidates over time", visible=False)
            self.candidates = build_table(
                "how-candidates",
                "Candidates",
                trace_view.CANDIDATE_HEADERS,
                widths=trace_view.CANDIDATE_WIDTHS,
                clickable=True,
                max_height=420,
                visible=False,
            )
            self.candidate = gr.HTML(padding=False, elem_id="how-one")
            with gr.Row():
                self.notes = build_table(
                    "how-notes", "Notes", trace_view.NOTE_HEADERS, widths=(16, 56, 28), visible=False
                )
                self.steps = build_table(
                    "how-steps", "Steps", trace_view.STEP_HEADERS, widths=(24, 54, 22), visible=False
                )
        self.tables = [self.candidates, self.notes, self.steps]
        self.outputs = [self.summary, self.classes, self.plot, self.candidate, *self.tables]
        self.candidates.select(self.show_candidate, persona, self.candidate, trigger_mode="always_last", **PRIVATE)

    def clear(self) -> Update:
        """Show that there is no answer yet."""
        nothing = empty_state("No answer yet", "Ask something, and every step of the answer is shown here.")
        hidden = {part: gr.update(visible=False) for part in (self.classes, self.plot, *self.tables)}
        return {self.summary: nothing, self.candidate: "", **hidden}

    def explain(self, answer: Answer) -> Update:
        """Show how an answer was found."""
        figure = plot_candidates(answer)
        candidates, notes = trace_view.candidate_rows(answer), trace_view.note_rows(answer)
        return {
            self.summary: trace_view.render_summary(answer),
            self.classes: gr.Label(trace_view.class_probabilities(answer), visible=bool(candidates)),
            self.plot: gr.Plot(figure, visible=figure is not None),
            self.candidates: gr.Dataframe(candidates, visible=bool(candidates)),
            self.candidate: hint("Click a candidate to see where it comes from." if candidates else ""),
            self.notes: gr.Dataframe(notes, visible=bool(notes)),
            self.steps: gr.Dataframe(trace_view.step_rows(answer), visible=True),
        }

    def show_candidate(self, persona_id: int, event: gr.SelectData) -> str:
        """Show a candidate and the conversation it comes from."""
        return render_memory(self.bank, self.bank.memory(persona_id, int(event.row_value[0])), REACH)
