"""The earlier runs: a list to open, compare, rate and delete them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from eval.benchmarks import BENCHMARKS
from eval.rating import sheet
from eval.rating.sheet import Reply
from eval.rating.summary import summarise, to_markdown
from eval.reporting import compare as comparing
from eval.runs.experiment import changed_settings
from eval.runs.run import Run, Runs
from eval.tab.drill_down import count_answers
from eval.tab.screen import Download, connect_download, look, metric_name, screen_order, table
from memory.errors import MemoirError
from memory.formatting import format_time
from memory.tab.parts import PRIVATE, Confirm, Update, hint, render


class RatingPanel:
    """Rating by people: a sheet to download for the selected run, and what the filled ones say.

    `selected` and `other` hold the names of the runs whose replies are rated.
    """

    def __init__(self, runs: Runs, selected: gr.State, other: gr.Dropdown) -> None:
        self.runs = runs
        with gr.Accordion("Rate the replies", open=False, elem_id="eval-rate"):
            gr.Markdown(render("rating.html", columns=sheet.COLUMNS_TO_FILL))
            with gr.Row(elem_classes="memoir-filters"):
                both = gr.Checkbox(label="With the run that is chosen to compare", scale=2, min_width=240)
                reference = gr.Checkbox(label="With the benchmark's own replies", scale=2, min_width=240)
                button = gr.Button(**look("rate-sheet"))
            files = gr.File(**look("rate-files"))
            found = gr.Markdown(elem_id="eval-rate-found")
        chosen = [selected, other, both, reference]
        connect_download(button, self.export, chosen)
        gr.on([files.upload, files.delete], self.read, [files, *chosen], found, **PRIVATE)
        files.clear(lambda: "", None, found, **PRIVATE)

    def export(self, name: str, other: str | None, both: bool, reference: bool) -> Download:
        """Make an empty sheet."""
        lines = sheet.empty(self._replies(name, other, both, reference))
        return {"name": f"{name}-ratings.csv", "type": "text/csv", "text": sheet.to_csv(lines)}

    def read(self, files: Sequence[str] | None, name: str, other: str | None, both: bool, reference: bool) -> str:
        """Say what the raters found."""
        if not files:
            return ""
        replies = self._replies(name, other, both, reference)
        return to_markdown(summarise([sheet.read(Path(file), replies) for file in files], replies))

    def _replies(self, name: str, other: str | None, both: bool, reference: bool) -> list[Reply]:
        names = [name, other] if both and other else [name]
        return sheet.replies_of([self.runs.get(each) for each in names], reference=reference)


class RunsPanel:
    """The components of the panel; `selected` holds the name of the run that is selected in the list."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.selected: gr.State = gr.State("")
        with gr.Accordion("Earlier runs", open=False, elem_id="eval-runs"):
            self.table = table("list")
            self.card = gr.HTML(padding=False, elem_id="eval-chosen")
            with gr.Row(visible=False, elem_classes="memoir-filters memoir-chosen") as self.actions:
                self.open = gr.Button("Open", variant="primary", min_width=100, scale=1, elem_id="eval-open")
                self.other = gr.Dropdown(label="Compare with", min_width=250, scale=4, elem_id="eval-other")
                self.compare = gr.Button("Compare", min_width=110, scale=1, elem_id="eval-compare")
                delete = gr.Button("Delete…", variant="stop", min_width=100, scale=1, elem_id="eval-delete")
            with gr.Column(visible=False) as self.rating:
                RatingPanel(runs, self.selected, self.other)
            self.confirm = Confirm("eval-delete", "Delete for good")
            self.outcome = gr.HTML(padding=False, elem_id="eval-outcome")
            self.flips, self.differences = table("flips"), table("differences")
            self.download = gr.Button(**look("compare-markdown"))
        selection = [self.selected, self.card, self.actions, self.other, self.compare, self.rating, self.confirm.group]
        comparison = [self.outcome, self.flips, self.differences, self.download]
        self.outputs: list[Any] = [self.table, *selection, *comparison]
        """The components that the handlers update."""
        both = [self.selected, self.other]
        self.table.select(self.select, None, self.outputs, **PRIVATE)
        self.compare.click(self.show_comparison, both, self.outputs, **PRIVATE)
        connect_download(self.download, self.export_comparison, both)
        delete.click(self.ask_to_delete, self.selected, self.confirm.outputs, **PRIVATE)
        self.confirm.close_on()

    def show(self) -> Update:
        """List the runs, none selected."""
        runs = self.runs.all()
        selection = self._show_selection(None) | {self.card: "" if runs else hint("No runs yet.")}
        return {self.table: [_row(run) for run in runs], **selection}

    def _show_selection(self, run: Run | None) -> Update:
        return {
            self.selected: run.name if run else "",
            self.card: render("run_card.html", run=run, settings=_changed(run)) if run else "",
            self.actions: gr.Row(visible=run is not None),
            self.rating: gr.Column(visible=run is not None and run.has_reader),
            **self.confirm.close(),
            self.outcome: "",
            self.flips: gr.Dataframe(visible=False),
            self.differences: gr.Dataframe(visible=False),
            self.download: gr.Button(visible=False),
        }

    def select(self, event: gr.SelectData) -> Update:
        """Show the run whose row was clicked, and those it can be compared with."""
        run = self.runs.get(str(event.row_value[-1]))
        others = [r for r in self.runs.all() if r.spec.benchmark == run.spec.benchmark and r.name != run.name]
        choices = [
            (f"{_started(other)} · {other.spec.portion} · {_changed(other) or 'default settings'}", other.name)
            for other in others
        ]
        return {
            **self._show_selection(run),
            self.other: gr.Dropdown(choices, value=choices[0][1] if choices else None, interactive=bool(choices)),
            self.compare: gr.Button(interactive=bool(choices)),
        }

    def show_comparison(self, name: str, other: str | None) -> Update:
        """Compare the selected run with another."""
        if not other:
            raise MemoirError("There is no other run of this benchmark to compare with.")
        comparison = comparing.compare_runs(self.runs.get(name), self.runs.get(other))
        differences = sorted(comparing.comparison_rows(comparison), key=lambda row: screen_order(row[0]))
        rows = [[metric_name(row[0]), *row[1:], row[0]] for row in differences]
        flips = [list(row) for row in comparing.flip_rows(comparison)]
        return {
            self.outcome: render("run_comparison.html", comparison=comparison, note=comparing.COMPARISON_NOTE),
            self.flips: gr.Dataframe(flips, visible=bool(flips)),
            self.differences: gr.Dataframe(rows, visible=True),
            self.download: gr.Button(visible=True),
        }

    def export_comparison(self, name: str, other: str) -> Download:
        """Write the comparison as Markdown."""
        text = comparing.comparison_markdown(comparing.compare_runs(self.runs.get(name), self.runs.get(other)))
        return {"name": f"{name}-compared.md", "type": "text/markdown", "text": text}

    def ask_to_delete(self, name: str) -> Update:
        """Ask whether to delete the selected run."""
        run = self.runs.get(name)
        return self.confirm.ask(render("run_delete.html", name=run.name, answers=count_answers(run)))


def _row(run: Run) -> list[str | int]:
    benchmark, spec = BENCHMARKS.get(run.spec.benchmark), run.spec
    title, state = benchmark.title if benchmark else spec.benchmark, "finished" if run.is_done else "unfinished"
    return [_started(run), title, spec.portion, count_answers(run), state, _changed(run), run.name]


def _started(run: Run) -> str:
    return format_time(run.created.astimezone())


def _changed(run: Run) -> str:
    return ", ".join(changed_settings(run.spec.settings))
