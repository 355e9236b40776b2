"""Make a plan of runs from the values of the form."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval import benchmarks
from eval.benchmarks import PRESETS
from eval.benchmarks.types import Preset
from eval.play.systems import registry
from eval.play.systems.contract import MEMOIR
from eval.runs.evaluator import Evaluator, NoData, RunRequest
from eval.runs.experiment import combinations, with_settings
from eval.tab.runner import Plan
from eval.tab.screen import CONTROLS
from graph.models.registry import is_named
from memory.errors import MemoirError


@dataclass(frozen=True, slots=True)
class FormValues:
    """The values of the form: `controls` by setting, `lines` and `sweep` as text, `systems` to compare if several."""

    benchmark: str
    data: str = ""
    limit: str = ""
    reader: str = "auto"
    controls: Mapping[str, Any] | None = None
    lines: str = ""
    sweep: str = ""
    preset: str = ""
    systems: tuple[str, ...] = (MEMOIR,)


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
    controls = [f"{name}={_typed(name, value)}" for name, value in (form.controls or {}).items()]
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
