"""The Evaluate tab: run a benchmark in one click, watch it, and look into every metric down to one probe's trace."""

from typing import Any

import gradio as gr

from eval.reporting.compare import side_by_side
from eval.reporting.render import sweep_rows
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import RunRequest
from eval.tab.drill_down import OpenRuns
from eval.tab.result_panel import ResultPanel
from eval.tab.run_form import FIRST_BENCHMARK, RunForm, make_plan
from eval.tab.runner import Plan, Runner, RunStatus
from eval.tab.runs_panel import RunsPanel
from eval.tab.screen import table, table_value
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.tab.parts import PRIVATE, UNCHANGED, Update, empty_state, hint, render

ACTIVE_TICK, IDLE_TICK = 1.0, 6.0
"""Seconds between two looks at the status: while a run is in progress, and while none is."""


class EvaluateTab:
    """The parts of the tab, and what happens between them."""

    def __init__(self, tab: gr.Tab, evaluator: Evaluator, embedder: Embedder) -> None:
        """Build the tab inside `tab`; runs belong to this process and embed with `embedder` where they can."""
        self.evaluator = evaluator
        self.runner = Runner(evaluator, embedder)
        self.open_runs = OpenRuns(evaluator.runs)
        self.shown: gr.State = gr.State(0)
        """The number of the plan whose result this window shows."""
        self.form = RunForm(evaluator)
        self.list = RunsPanel(evaluator.runs)
        self.empty = gr.HTML(padding=False, elem_id="eval-empty")
        with gr.Column(visible=False, elem_id="eval-sweep-result") as self.table_body:
            self.table_heading = gr.HTML(padding=False)
            self.table = table("sweep-table")
            self.table_notes = gr.HTML(padding=False)
        self.result = ResultPanel(self.open_runs)
        self.clock = gr.Timer(IDLE_TICK, active=False)
        self._connect(tab)

    def _connect(self, tab: gr.Tab) -> None:
        form, runs, result = self.form, self.list, self.result
        filling = [*form.filling, self.empty]
        running = [*form.status_outputs, self.clock]
        opened = [self.empty, self.table_body, *result.outputs]
        ended = [self.shown, self.table_heading, self.table, self.table_notes, *opened, *runs.outputs, *running]
        everything = list(dict.fromkeys([*filling, *ended]))
        # One after the other, or a slow answer that is older would replace what a newer one shows.
        in_turn = {"concurrency_id": "run status", "concurrency_limit": 1, **PRIVATE}
        tab.select(self.enter, [form.benchmark, form.filled_for, self.shown, result.name], everything, **in_turn)
        form.benchmark.input(self.choose_benchmark, [form.benchmark, form.filled_for], filling, **PRIVATE)
        form.run.click(self.start, form.inputs, running, **in_turn)
        form.stop.click(self.stop, None, running, **in_turn)
        self.clock.tick(self.refresh, self.shown, ended, **in_turn)
        self.table.select(self.open_row, None, opened, **PRIVATE)
        runs.open.click(self.open, runs.selected, opened, **PRIVATE)
        chosen = [runs.selected, result.name, form.benchmark]
        runs.confirm.sure.click(self.delete, chosen, [*runs.outputs, *opened], **PRIVATE)

    def enter(self, benchmark: str, filled_for: str, shown: int, current: str) -> Update:
        """Show the tab as it is now: its form, the runs, and what is in progress."""
        filled = {} if current or filled_for else self.choose_benchmark(benchmark, "")
        if filled.get(self.form.data) == self.form.data.value:  # or what was typed since the page was built would go
            del filled[self.form.data]
        return {**filled, **self.list.show(), **self.refresh(shown), **self._show_status(self.runner.status)}

    def choose_benchmark(self, name: str, filled_for: str) -> Update:
        """Fill in the form for a benchmark.

        A dropdown reports an input also when the keyboard only passes through it.
        """
        return UNCHANGED if name == filled_for else {**self.form.choose_benchmark(name), self.empty: self._invite(name)}

    def start(self, *values: Any) -> Update:  # noqa: ANN401  # what the components hold
        """Start the runs that the form describes."""
        return self._show_status(self.runner.start(make_plan(self.evaluator, self.form.read(*values))))

    def stop(self) -> Update:
        """Stop after the current probe."""
        self.runner.stop()
        return self._show_status(self.runner.status)

    def refresh(self, shown: int) -> Update:
        """Show the progress; once the runs have ended, their result."""
        status = self.runner.status
        if status.is_active:
            return self._show_status(status)
        if status.number == shown:
            return {self.clock: gr.skip()}
        told = {**self._show_status(status), **self.list.show(), **self._show_outcome(status)}
        return {**told, self.shown: status.number}

    def _show_status(self, status: RunStatus) -> Update:
        tick = ACTIVE_TICK if status.is_active else IDLE_TICK
        return {**self.form.show_status(status), self.clock: gr.Timer(tick, active=True)}

    def _show_outcome(self, status: RunStatus) -> Update:
        """Show the last run of a plan, and all of them as a table if it made several."""
        existing = {run.name for run in self.evaluator.runs.all()}
        names = {label: name for label, name in status.runs if name in existing}  # others were deleted since
        if status.plan is None or not names:
            return {}
        opened = self.open(list(names.values())[-1])
        return {**opened, **self._show_table(status.plan, names)} if status.plan.is_table else opened

    def _show_table(self, plan: Plan, names: dict[str, str]) -> Update:
        about = render("table_notes.html", plan=plan)
        if plan.compares_systems:
            _, columns, notes = side_by_side({label: self.evaluator.runs.get(name) for label, name in names.items()})
            header, *rows = [list(row) for row in zip(["run", *names], *columns, strict=True)]
            about = hint(notes)
        else:
            by_label = {label: self.open_runs.open(name).report for label, name in names.items()}
            header, rows = sweep_rows(by_label, plan.preset)
        return {
            self.table_body: gr.Column(visible=True),
            self.table_heading: render("section_heading.html", text=plan.title),
            self.table: table_value([*header, "run"], [[*row, names[row[0]]] for row in rows]),
            self.table_notes: about,
        }

    def open(self, name: str) -> Update:
        """Show one run."""
        return {self.empty: "", self.table_body: gr.Column(visible=False), **self.result.show(name)}

    def open_row(self, event: gr.SelectData) -> Update:
        """Show the run whose row of the table was clicked."""
        return self.result.show(str(event.row_value[-1]))

    def delete(self, name: str, current: str, benchmark: str) -> Update:
        """Delete the selected run; hide its result if it is open."""
        status = self.runner.status
        if status.is_active and name in dict(status.runs).values():
            raise MemoirError("This run is in progress. Stop it first.")
        self.evaluator.runs.get(name).delete()
        shown: Update = {**self.list.show(), self.list.outcome: render("message_box.html", text=f"Deleted {name}.")}
        if name == current:
            shown |= {part: gr.Column(visible=False) for part in (self.result.body, self.table_body)}
            shown |= {self.result.name: "", self.empty: self._invite(benchmark)}
        return shown

    def _invite(self, name: str) -> str:
        """Say what one click will do."""
        if name != FIRST_BENCHMARK:
            return empty_state("No run open", "Run the benchmark, or open an earlier run.")
        return render("first_run.html", histories=list(self.evaluator.histories(RunRequest(name))))
