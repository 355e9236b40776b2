"""The Evaluate tab: run a benchmark in one click, watch it, and look into every figure down to one probe's trace."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import gradio as gr

from eval import benchmarks
from eval.evaluator import Evaluator, NoData
from eval.fetching.fetch import SOURCES, FetchFailed, fetch, manual_steps
from eval.reporting import render
from eval.reporting.compare import compare_runs
from eval.reporting.report import Report
from eval.tab import views as panels
from eval.tab.open_runs import Shelf, answers
from eval.tab.order_panel import OWN, filled, order_form
from eval.tab.orders import plan, presets_of
from eval.tab.result_clicks import listen
from eval.tab.result_panel import plain_table, result_panel, table
from eval.tab.running import Going, Plan, Runner
from eval.tab.runs_panel import run_list, run_row
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.exporting.json_values import to_json_values
from memory.progress import Task
from memory.tab.events import PRIVATE, UNCHANGED, Update, show_errors
from memory.tab.templates import empty_state, error_box, hint

WATCHING, WAITING = 1.0, 6.0
"""Seconds between two looks at the run: while one goes on, and while none does."""

SAVE = """(file) => {
  if (!file) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([file.text], { type: file.type }));
  link.download = file.name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}"""
"""Hands a text to the browser as a file, so that none need lie on the server until somebody asks for it."""

Saved = dict[str, str]


def evaluate_tab(tab: gr.Tab, evaluator: Evaluator, encoder: Embedder) -> None:
    """Build the tab inside `tab`; its runs go on in this process and embed with `encoder` where they can."""
    runner, shelf = Runner(evaluator, encoder), Shelf(evaluator.runs)
    seen: gr.State = gr.State(0)
    opened: gr.State = gr.State("")
    marked: gr.State = gr.State("")
    filled_for: gr.State = gr.State("")
    form = order_form(evaluator)
    runs = run_list()
    nothing = gr.HTML(padding=False, elem_id="eval-empty")
    with gr.Column(visible=False, elem_id="eval-sweep-result") as several:
        several_head = gr.HTML(padding=False)
        several_rows = plain_table("sweep-table", "A click on a row opens its run", chosen=True)
        several_notes = gr.HTML(padding=False)
    result = result_panel()
    file = gr.JSON(visible=False)
    clock = gr.Timer(WAITING, active=False)

    # --- what is filled in

    def files(name: str, typed: str | None) -> Update:
        """Whether a benchmark's files are here, and how to get them if not."""
        benchmark = benchmarks.find(name)
        sources = [(SOURCES[s].title, s) for s in SOURCES if s == name or s.startswith(f"{name}-")]
        try:
            path = evaluator.data_of(benchmark, Path(typed.strip()).expanduser() if typed and typed.strip() else None)
        except NoData as fault:
            why = str(fault) if typed else f"The files of {benchmark.title} are not on this machine."
            remedy = "Name the file or folder above, or get the official files." if sources else "Name them above."
            return {
                form.about: error_box(f"{why} {remedy}"),
                form.missing: gr.Row(visible=bool(sources)),
                form.source: gr.Dropdown(sources, value=sources[0][1] if sources else None, visible=len(sources) > 1),
            }
        return {form.about: hint(f"{benchmark.about} Read from {path}."), form.missing: gr.Row(visible=False)}

    def chosen(name: str) -> Update:
        """Turn to a benchmark, with the files that are found for it."""
        tables = [("None", ""), *((preset.title, preset.name) for preset in presets_of(name))]
        try:
            path = str(evaluator.data_of(benchmarks.find(name)))
        except NoData:
            path = ""
        return {
            filled_for: name,
            form.data: path,
            form.preset: gr.Dropdown(tables, value="", interactive=len(tables) > 1),
            form.fetched: "",
            nothing: _invitation(evaluator, name),
            **files(name, path),
        }

    def get(name: str, source: str | None, request: gr.Request) -> Iterator[Update]:
        """Download a benchmark's official files, or say how to get them by hand."""
        wanted = source or name
        folder = evaluator.settings.home / "benchmarks" / wanted
        if not SOURCES[wanted].repo:
            text = f"Its authors publish them where they cannot be downloaded for you:\n{manual_steps(wanted, folder)}"
            yield {form.fetched: panels.steps("By hand", text)}
            return

        def work(task: Task) -> Update:
            came: dict[str, float] = {}

            def progress(file: str, here: int, total: int) -> None:
                came[file] = here / max(total, 1)
                task.report(sum(came.values()) / len(SOURCES[wanted].files))

            try:
                paths = fetch(wanted, folder, progress)
            except FetchFailed as fault:
                return {form.fetched: panels.steps("Not downloaded", str(fault))}
            path = str(paths[0] if len(paths) == 1 else folder)
            return {form.fetched: hint("Downloaded and checked."), form.data: path, **files(name, path)}

        yield {form.fetched: ""}
        yield from form.fetching.run("Downloading", request, work)

    # --- a run

    def state(going: Going) -> Update:
        """How far the run is, and which of the buttons make sense."""
        return {
            form.status: panels.progress(going),
            form.run: gr.Button(visible=not going.is_on),
            form.stop: gr.Button(visible=going.is_on, interactive=going.stage == "going"),
            clock: gr.Timer(WATCHING if going.is_on else WAITING, active=True),
        }

    @show_errors
    def start(*values: Any) -> Update:  # noqa: ANN401  # what the components hold
        return state(runner.start(plan(evaluator, filled(*values))))

    def stop() -> Update:
        runner.stop()
        return state(runner.going)

    @show_errors
    def looked(shown: int) -> Update:
        """What any window sees of the run; once it has ended, its result."""
        going = runner.going
        if going.is_on:
            return state(going)
        if going.number == shown:
            return {clock: gr.skip()}
        return {**state(going), **listed(), **outcome(going), seen: going.number}

    def outcome(going: Going) -> Update:
        """What came of a piece of work: its one run, or the table of its runs."""
        known = {run.name for run in evaluator.runs.all()}
        names = {label: name for label, name in going.runs if name in known}  # others were deleted since
        if going.plan is None or not names:
            return {}
        shown = show(list(names.values())[-1])
        if not going.plan.is_table:
            return shown
        reports = {label: _of(going.plan, shelf.open(name).report) for label, name in names.items()}
        header, rows = render.sweep_rows(reports, going.plan.metrics or None)
        return {
            **shown,
            several: gr.Column(visible=True),
            several_head: panels.section(going.plan.title, ""),
            several_rows: table([*header, "kept as"], [[*row, names[row[0]]] for row in rows]),
            several_notes: panels.table_notes(going.plan),
        }

    # --- what came out

    def show(name: str) -> Update:
        """Open a run."""
        held = shelf.open(name)
        return {opened: name, nothing: "", several: gr.Column(visible=False), **result.show(held)}

    @show_errors
    def row_opened(event: gr.SelectData) -> Update:
        name = str(event.row_value[-1])
        return {opened: name, **result.show(shelf.open(name))}

    @show_errors
    def saved(name: str, kind: str) -> Saved:
        held = shelf.open(name).report
        if kind == "csv":
            return {"name": f"{name}.csv", "type": "text/csv", "text": render.to_csv(held)}
        if kind == "json":
            text = json.dumps(to_json_values(held), ensure_ascii=False, indent=1)
            return {"name": f"{name}.json", "type": "application/json", "text": text}
        return {"name": f"{name}.md", "type": "text/markdown", "text": render.to_markdown(held)}

    # --- earlier runs

    def listed() -> Update:
        """The runs there are, none of them chosen."""
        return {
            runs.listed: [run_row(run) for run in evaluator.runs.all()],
            marked: "",
            runs.chosen: "" if evaluator.runs.all() else hint("There is no run yet."),
            runs.actions: gr.Row(visible=False),
            runs.confirm: gr.Group(visible=False),
            **uncompared(),
        }

    def uncompared() -> Update:
        hidden = {runs.differences: gr.Dataframe(visible=False), runs.markdown: gr.Button(visible=False)}
        return {runs.outcome: "", **hidden}

    @show_errors
    def mark(event: gr.SelectData) -> Update:
        run = evaluator.runs.get(str(event.row_value[-1]))
        kin = [r for r in evaluator.runs.all() if r.spec.benchmark == run.spec.benchmark and r.name != run.name]
        others = [(panels.run_name(r), r.name) for r in kin]
        return {
            marked: run.name,
            runs.chosen: panels.run(run),
            runs.actions: gr.Row(visible=True),
            runs.other: gr.Dropdown(others, value=others[0][1] if others else None, interactive=bool(others)),
            runs.compare: gr.Button(interactive=bool(others)),
            runs.confirm: gr.Group(visible=False),
            **uncompared(),
        }

    @show_errors
    def open_marked(name: str) -> Update:
        return show(name)

    @show_errors
    def consider(name: str) -> Update:
        run = evaluator.runs.get(name)
        return {runs.warning: panels.deleting(run, answers(run)), runs.confirm: gr.Group(visible=True)}

    @show_errors
    def remove(name: str, current: str, benchmark: str) -> Update:
        going = runner.going
        if going.is_on and name in dict(going.runs).values():
            raise MemoirError("This run is going on. Stop it first.")
        evaluator.runs.get(name).delete()
        gone = {result.body: gr.Column(visible=False), several: gr.Column(visible=False), opened: ""}
        closed = {**gone, nothing: _invitation(evaluator, benchmark)} if name == current else {}
        return {**listed(), **closed, runs.outcome: panels.deleted(name)}

    @show_errors
    def compare(name: str, other: str | None) -> Update:
        if not other:
            raise MemoirError("There is no other run of this benchmark to compare it with.")
        held = compare_runs(evaluator.runs.get(name), evaluator.runs.get(other))
        return {
            runs.outcome: panels.compared(held),
            runs.differences: gr.Dataframe(render.comparison_rows(held), visible=True),
            runs.markdown: gr.Button(visible=True),
        }

    @show_errors
    def saved_comparison(name: str, other: str) -> Saved:
        text = render.comparison_markdown(compare_runs(evaluator.runs.get(name), evaluator.runs.get(other)))
        return {"name": f"{name}-compared.md", "type": "text/markdown", "text": text}

    # --- events

    def picked(name: str, before: str) -> Update:
        return UNCHANGED if name == before else chosen(name)

    @show_errors
    def entered(benchmark: str, typed: str, shown: int, current: str) -> Update:
        first = {} if current or typed else chosen(benchmark)
        return {**first, **listed(), **looked(shown), **state(runner.going)}

    filling = [filled_for, form.data, form.preset, form.fetched, form.about, form.missing, form.source, nothing]
    running = [form.status, form.run, form.stop, clock]
    shown_run = [opened, nothing, several, *result.outputs]
    all_runs = [marked, *runs.outputs]
    ended = [seen, several_head, several_rows, several_notes, *shown_run, *all_runs, *running]
    every = list(dict.fromkeys([*filling, *ended]))

    tab.select(entered, [form.benchmark, form.data, seen, opened], every, **PRIVATE)
    # A picker says "input" also when the keyboard only passes through it.
    form.benchmark.input(picked, [form.benchmark, filled_for], filling, **PRIVATE)
    typed = [form.benchmark, form.data]
    form.data.change(files, typed, [form.about, form.missing, form.source], trigger_mode="always_last", **PRIVATE)
    form.fetch.click(get, [form.benchmark, form.source], [*filling, *form.fetching.outputs], **PRIVATE)
    form.run.click(start, form.fields, running, **PRIVATE)
    form.stop.click(stop, None, running, **PRIVATE)
    clock.tick(looked, seen, ended, **PRIVATE)
    listen(result, opened, shelf)
    several_rows.select(row_opened, None, shown_run, **PRIVATE)
    for button, kind in ((result.csv, "csv"), (result.json, "json"), (result.markdown, "markdown")):
        button.click(lambda name, kind=kind: saved(name, kind), opened, file, **PRIVATE).then(None, file, None, js=SAVE)
    runs.listed.select(mark, None, all_runs, **PRIVATE)
    runs.open.click(open_marked, marked, shown_run, **PRIVATE)
    runs.delete.click(consider, marked, [runs.warning, runs.confirm], **PRIVATE)
    runs.keep.click(lambda: gr.Group(visible=False), None, runs.confirm, **PRIVATE)
    runs.sure.click(remove, [marked, opened, form.benchmark], [*all_runs, *shown_run], **PRIVATE)
    runs.compare.click(compare, [marked, runs.other], all_runs, **PRIVATE)
    runs.markdown.click(saved_comparison, [marked, runs.other], file, **PRIVATE).then(None, file, None, js=SAVE)


def _of(made: Plan, held: Report) -> Report:
    """The report of a table's row: of the ability that the table is about, where it is about one."""
    figures = held.by["ability"].get(made.ability, {}) if made.ability else held.metrics
    n = max((f.n for f in figures.values()), default=0) if made.ability else held.n
    return replace(held, metrics=figures, n=n)


def _invitation(evaluator: Evaluator, name: str) -> str:
    """What one click will do."""
    if name != OWN:
        return empty_state("Nothing open", "Run the benchmark, or open an earlier run.")
    benchmark = benchmarks.find(name)
    lives = list(benchmarks.histories(benchmark, evaluator.data_of(benchmark)))
    probes = benchmarks.count_probes(lives)
    text = f"Run asks {probes} probes over {len(lives)} invented lives: under two minutes, and nothing to download."
    return empty_state("How good is this memory?", text)
