"""The form of the Evaluate tab, which says what to run and with which settings, and the plan of its runs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import gradio as gr

from eval import benchmarks
from eval.benchmarks import BENCHMARKS, PRESETS, Benchmark, Preset
from eval.fetching.fetch import SOURCES, FetchFailed, fetch, manual_steps
from eval.play.systems import registry
from eval.play.systems.contract import MEMOIR
from eval.runs.evaluator import Evaluator, NoData
from eval.runs.experiment import RunRequest, combinations, with_settings
from eval.tab.runner import Plan, RunStatus
from eval.tab.screen import CONTROLS, look
from graph.models.registry import is_named
from graph.settings import ReaderEngine
from memory.errors import MemoirError
from memory.progress import Task
from memory.tab.parts import PRIVATE, TaskPanel, Update, error_box, hint, render

READER_NAMES = {"auto": "As in Chat", "extractive": "Extractive", "none": "None (retrieval only)"}
FIRST_BENCHMARK = next(iter(BENCHMARKS))
"""Memoir's own benchmark, which is chosen at first."""


@dataclass(frozen=True, slots=True)
class FormValues:
    """The values of the form: `controls` by setting, `lines` and `sweep` as text, `systems` to compare if several."""

    benchmark: str
    data: str = ""
    limit: str = ""
    reader: str = "auto"
    lines: str = ""
    sweep: str = ""
    preset: str = ""
    systems: tuple[str, ...] = (MEMOIR,)
    controls: Mapping[str, Any] = field(default_factory=dict)


class RunForm:
    """The components of the form; `filled_for` holds the benchmark that it was filled in for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.filled_for: gr.State = gr.State("")
        path = self._path_of(benchmarks.find(FIRST_BENCHMARK))
        self._build_first_row(path)
        # Filled in now: Gradio may lose what an event brings to a tab that it is just making.
        about = self._about(benchmarks.find(FIRST_BENCHMARK), path) if path else ""
        self.about = gr.HTML(about, padding=False, elem_id="eval-about")
        with gr.Row(visible=False, elem_classes="memoir-filters") as self.missing:
            self.source = gr.Dropdown(label="Files to download", scale=3, min_width=200, elem_id="eval-source")
            fetch_button = gr.Button("Download the official files", scale=0, min_width=220, elem_id="eval-fetch")
        self.task = TaskPanel("eval-fetch")
        self.fetched = gr.HTML(padding=False, elem_id="eval-fetched")
        self.status = gr.HTML(padding=False, elem_id="eval-status")
        with gr.Accordion("Advanced settings", open=False, elem_id="eval-settings"):
            self._build_settings()
        files: list[Any] = [self.about, self.missing, self.source]
        self.filling: list[Any] = [self.filled_for, self.data, self.preset, self.fetched, *files]
        self.status_outputs: list[Any] = [self.status, self.run, self.stop]
        typed = [self.benchmark, self.data]
        self.data.change(self.show_files, typed, files, trigger_mode="always_last", **PRIVATE)
        wanted, fetched = [self.benchmark, self.source], [*self.filling, *self.task.outputs]
        fetch_button.click(self.fetch_files, wanted, fetched, **PRIVATE)

    def _build_first_row(self, path: str) -> None:
        choices = [(benchmark.title, benchmark.name) for benchmark in BENCHMARKS.values()]
        readers = [(READER_NAMES.get(name, name), name) for name in get_args(ReaderEngine)]
        with gr.Row(elem_classes="memoir-filters memoir-order"):
            self.benchmark = gr.Dropdown(choices, value=FIRST_BENCHMARK, **look("benchmark"))
            self.data, self.limit = gr.Textbox(path, **look("data")), gr.Textbox(**look("limit"))
            self.reader = gr.Dropdown(readers, value=readers[0][1], **look("reader"))
            with gr.Column(scale=1, min_width=110, elem_classes="memoir-go"):
                self.run = gr.Button("Run", variant="primary", elem_id="eval-run")
                self.stop = gr.Button("Stop", variant="stop", visible=False, elem_id="eval-stop")

    def _build_settings(self) -> None:
        values = initial_values(self.evaluator)
        with gr.Row(elem_classes="memoir-controls"):
            self.controls = [_build_control(name, values[name]) for name in CONTROLS]
        names, ticked = registry.names(), [self.evaluator.experiment.system]
        self.systems = gr.CheckboxGroup(names, value=ticked, label="Memory systems to compare", elem_id="eval-systems")
        with gr.Row(elem_classes="memoir-filters"):
            self.lines, self.sweep = gr.Textbox(**look("lines")), gr.Textbox(**look("sweep"))
            self.preset = gr.Dropdown(label="Reproduce a table from a paper", min_width=250, elem_id="eval-preset")

    @property
    def inputs(self) -> list[Any]:
        """The components whose values `read` takes, in its order."""
        fields = [self.benchmark, self.data, self.limit, self.reader, self.lines, self.sweep, self.preset]
        return [*fields, self.systems, *self.controls]

    @staticmethod
    def read(*values: Any) -> FormValues:  # noqa: ANN401  # what the components hold
        """Read the values of `inputs`."""
        benchmark, data, limit, reader, lines, sweep, preset, systems, *controls = values
        settings = dict(zip(CONTROLS, controls, strict=True))
        data, limit, lines, sweep, preset = (text or "" for text in (data, limit, lines, sweep, preset))
        return FormValues(benchmark, data, limit, reader, lines, sweep, preset, tuple(systems), settings)

    def choose_benchmark(self, name: str) -> Update:
        """Fill in the form for a benchmark, with its files if they are found."""
        benchmark = benchmarks.find(name)
        tables = [("None", ""), *((preset.title, preset.name) for preset in benchmark.presets)]
        path = self._path_of(benchmark)
        return {
            self.filled_for: name,
            self.data: path,
            self.preset: gr.Dropdown(tables, value="", interactive=len(tables) > 1),
            self.fetched: "",
            **self.show_files(name, path),
        }

    def _path_of(self, benchmark: Benchmark) -> str:
        """Where the files of a benchmark are found; empty if they are not."""
        try:
            return str(self.evaluator.data_of(benchmark))
        except NoData:
            return ""

    @staticmethod
    def _about(benchmark: Benchmark, path: object) -> str:
        return hint(f"{benchmark.about} Read from {path}.")

    def show_files(self, name: str, typed: str | None) -> Update:
        """Show which files of a benchmark would be read, or how to get them."""
        benchmark, path = benchmarks.find(name), (typed or "").strip()
        sources = [(SOURCES[s].title, s) for s in SOURCES if s == name or s.startswith(f"{name}-")]
        try:
            found = self.evaluator.data_of(benchmark, Path(path).expanduser() if path else None)
        except NoData as error:
            problem = str(error) if path else f"The files of {benchmark.title} are not on this machine."
            remedy = "Enter the file or folder above" + (", or download the official files." if sources else ".")
            return {
                self.about: error_box(f"{problem} {remedy}"),
                self.missing: gr.Row(visible=bool(sources)),
                self.source: gr.Dropdown(sources, value=sources[0][1] if sources else None, visible=len(sources) > 1),
            }
        return {self.about: self._about(benchmark, found), self.missing: gr.Row(visible=False)}

    def fetch_files(self, name: str, source: str | None, request: gr.Request) -> Iterator[Update]:
        """Download a benchmark's official files, or say how to get them by hand."""
        wanted = source or name
        folder = self.evaluator.settings.home / "benchmarks" / wanted
        if not SOURCES[wanted].repo:
            text = f"These files cannot be downloaded automatically.\n{manual_steps(wanted, folder)}"
            yield {self.fetched: render("download_steps.html", title="Download by hand", text=text)}
            return

        def work(task: Task) -> Update:
            shares: dict[str, float] = {}

            def progress(file: str, received: int, total: int) -> None:
                shares[file] = received / max(total, 1)
                task.report(sum(shares.values()) / len(SOURCES[wanted].files))

            try:
                paths = fetch(wanted, folder, progress)
            except FetchFailed as error:
                return {self.fetched: render("download_steps.html", title="Download failed", text=str(error))}
            path = str(paths[0] if len(paths) == 1 else folder)
            return {self.fetched: hint("Downloaded and checked."), self.data: path, **self.show_files(name, path)}

        yield {self.fetched: ""}
        yield from self.task.run("Downloading", request, work)

    def show_status(self, status: RunStatus) -> Update:
        """Show the progress of a run, and the button that makes sense."""
        return {
            self.status: render("run_status.html", status=status),
            self.run: gr.Button(visible=not status.is_active),
            self.stop: gr.Button(visible=status.is_active, interactive=status.stage == "running"),
        }


def _build_control(name: str, value: float | str) -> gr.Number | gr.Dropdown:
    options = {"min_width": 165, "elem_id": f"eval-{name.replace('.', '-')}", **CONTROLS[name]}
    if "choices" in options:
        return gr.Dropdown(value=str(value), **options)
    return gr.Number(float(value), **{"minimum": 0, "maximum": 1, "step": 0.05, **options})


# --- the plan


def initial_values(evaluator: Evaluator) -> dict[str, Any]:
    """The value of each control at first, by setting."""
    settings = evaluator.experiment.settings
    values = {name: settings[name] for name in CONTROLS}
    return {name: {True: "on", False: "off"}[v] if isinstance(v, bool) else v for name, v in values.items()}


def make_plan(evaluator: Evaluator, form: FormValues) -> Plan:
    """Make the plan of runs that the form describes; raises `MemoirError` for an invalid value."""
    benchmark, typed = benchmarks.find(form.benchmark), form.data.strip()
    data = Path(typed).expanduser() if typed else None
    try:
        evaluator.data_of(benchmark, data)
    except NoData as error:
        problem = f"“Files” is {data}, which does not exist" if data else f"The files of {benchmark.title} are missing"
        raise MemoirError(f"{problem}. Enter their file or folder, or download the official ones.") from error
    controls = [f"{name}={_typed(name, value)}" for name, value in form.controls.items()]
    if not form.systems:
        raise MemoirError("Tick a memory system.")
    assignments = [*controls, f"reader={form.reader}", f"system={form.systems[0]}", *_lines(form.lines)]
    experiment = with_settings(evaluator.experiment, assignments)
    request, title = RunRequest(form.benchmark, data, experiment, _limit(form.limit)), benchmark.title
    compares_systems = len(form.systems) > 1
    sweep = [*_lines(form.sweep), *([f"system={','.join(form.systems)}"] if compares_systems else [])]
    if form.preset and sweep:
        raise MemoirError("Choose a table from a paper, or enter a sweep or tick several memory systems, not both.")
    if form.preset:
        return _plan_table(PRESETS[form.preset], request)
    rows = tuple((label, replace(request, experiment=e)) for label, e in combinations(experiment, sweep))
    for _, row in rows:
        registry.check(row.experiment.system, has_model=is_named(row.experiment.pipeline.model))
    names = ", ".join(line.partition("=")[0].strip() for line in sweep)
    return Plan(f"{title}, a sweep over {names}" if sweep else title, rows, compares_systems=compares_systems)


def _plan_table(preset: Preset, request: RunRequest) -> Plan:
    if preset.benchmark != request.benchmark:
        raise MemoirError(f"{preset.title} is about another benchmark. Choose {preset.benchmark} first.")
    experiments, left_out = preset.experiments(request.experiment)
    if not experiments:
        raise MemoirError(f"No row of {preset.title} can be run: each needs a feature or model that is missing.")
    rows = tuple((label, replace(request, experiment=experiment)) for label, experiment in experiments.items())
    return Plan(preset.title, rows, tuple(f"{row.label} (needs {row.needs})" for row in left_out), preset)


def _typed(name: str, value: object) -> str:
    if value is None or value == "":
        raise MemoirError(f"The setting “{CONTROLS[name]['label']}” is empty. Enter a value.")
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _limit(typed: str) -> int | None:
    text = typed.strip().casefold()
    if text in ("", "all"):
        return None
    if not text.isdecimal() or int(text) < 1:
        raise MemoirError("“Probes” must be a whole number of at least 1, or empty for all.")
    return int(text)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]
