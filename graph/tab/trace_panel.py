"""The panel "How I remembered": each step from the question to the answer, and where a candidate comes from."""

from __future__ import annotations

from dataclasses import dataclass

import gradio as gr

from graph.assistant import Answer
from graph.tab import views as panels
from graph.tab.views import CANDIDATE_HEADERS, CANDIDATE_WIDTHS, NOTE_HEADERS, STEP_HEADERS
from memory.bank.bank import Bank
from memory.tab.events import PRIVATE, Update, show_errors
from memory.tab.memory_card import render_memory
from memory.tab.templates import empty_state, hint


@dataclass(frozen=True, slots=True)
class HowPanel:
    """The parts that `explain` fills."""

    explained: gr.HTML
    kinds: gr.Label
    timeline: gr.Plot
    candidates: gr.Dataframe
    one: gr.HTML
    notes: gr.Dataframe
    steps: gr.Dataframe

    @property
    def outputs(self) -> list[gr.components.Component]:
        """All of them."""
        return [self.explained, self.kinds, self.timeline, self.candidates, self.one, self.notes, self.steps]

    def explain(self, answer: Answer | None) -> Update:
        """How this answer came about; without one, what will stand here."""
        if answer is None:
            nothing = empty_state("No answer yet", "Ask something, and each step to the answer shows here.")
            hidden = (self.kinds, self.timeline, self.candidates, self.notes, self.steps)
            return {self.explained: nothing, self.one: "", **{part: gr.update(visible=False) for part in hidden}}
        figure = panels.timeline(answer)
        rows, taken = panels.candidates(answer), panels.notes(answer)
        return {
            self.explained: panels.summary(answer),
            self.kinds: gr.Label(panels.classes(answer), visible=bool(rows)),
            self.timeline: gr.Plot(figure, visible=figure is not None),
            self.candidates: gr.Dataframe(rows, visible=bool(rows)),
            self.one: hint("A click on a candidate shows where it comes from." if rows else ""),
            self.notes: gr.Dataframe(taken, visible=bool(taken)),
            self.steps: gr.Dataframe(panels.steps(answer), visible=True),
        }


def how_panel(bank: Bank, persona: gr.Dropdown) -> HowPanel:
    """Build the panel; `persona` holds the id of whom the answers are of."""
    with gr.Accordion("How I remembered", open=False, elem_classes="memoir-trace", elem_id="how"):
        explained = gr.HTML(padding=False)
        with gr.Row():
            kinds = gr.Label(label="Kind of memory asked for", show_heading=False, num_top_classes=5, visible=False)
            timeline = gr.Plot(label="The candidates in time", visible=False)
        candidates = _table("Candidates", CANDIDATE_HEADERS, CANDIDATE_WIDTHS)
        one = gr.HTML(padding=False, elem_id="how-one")
        with gr.Row():
            notes = _table("Notes", NOTE_HEADERS, (16, 56, 28))
            steps = _table("Steps", STEP_HEADERS, (24, 54, 22))

    @show_errors
    def look_at(persona_id: int, event: gr.SelectData) -> str:
        return render_memory(bank, bank.memory(persona_id, int(event.row_value[0])), panels.REACH)

    candidates.select(look_at, persona, one, trigger_mode="always_last", **PRIVATE)
    return HowPanel(explained, kinds, timeline, candidates, one, notes, steps)


def _table(label: str, headers: list[str], percents: tuple[int, ...]) -> gr.Dataframe:
    return gr.Dataframe(
        headers=headers,
        label=label,
        type="array",
        interactive=False,
        wrap=True,
        max_height=420,
        column_widths=[f"{percent}%" for percent in percents],
        buttons=[],
        visible=False,
        elem_id=f"how-{label.lower()}",
    )
