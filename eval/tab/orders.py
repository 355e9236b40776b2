"""From what is filled in on the screen to a plan of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from eval import benchmarks
from eval.benchmarks import PRESETS
from eval.benchmarks.types import Preset
from eval.evaluator import Evaluator, NoData, RunRequest
from eval.experiment import Experiment, Granularity, Key, ReaderInput, RememberedKinds, combinations, with_settings
from eval.tab.running import Plan
from graph.settings import ClassifierEngine
from memory.errors import MemoirError


@dataclass(frozen=True, slots=True)
class Control:
    """A setting that has a field of its own: its name, its label, and what it can be (choices, or a range)."""

    setting: str
    label: str
    choices: tuple[str, ...] = ()
    highest: float = 1
    step: float = 0.05
    lowest: float = 0


CONTROLS: tuple[Control, ...] = (
    Control("search.k", "Candidates a store (k)", (), 200, 1, 1),
    Control("budget", "Memories read", (), 200, 1, 1),
    Control("search.dense_weight", "Meaning against words"),
    Control("search.neighbours", "Lent to neighbours"),
    Control("rerank.alpha", "Kind's weight (alpha)"),
    Control("rerank.beta", "Fit's weight (beta)"),
    Control("classifier", "Classifier", get_args(ClassifierEngine)),
    Control("time_filter", "Time filter", ("on", "off")),
    Control("times", "Times it filters by", ("asked", "oracle")),
    Control("granularity", "One memory holds a", get_args(Granularity)),
    Control("key", "Found by", get_args(Key)),
    Control("keys", "Added keys are", ("merged", "separate")),
    Control("remembered", "What is remembered", get_args(RememberedKinds)),
    Control("given", "The reader gets", get_args(ReaderInput)),
)
"""The settings that are varied most; every other one can be named in the field for lines of NAME=VALUE."""


@dataclass(frozen=True, slots=True)
class Form:
    """What is filled in. `controls` are values by setting; `lines` and `sweep` are text with a setting a line."""

    benchmark: str
    data: str = ""
    limit: str = ""
    reader: str = "auto"
    controls: Mapping[str, Any] | None = None
    lines: str = ""
    sweep: str = ""
    preset: str = ""


class Incomplete(MemoirError):
    """What was filled in does not make a run; the message says which field, and what it takes."""


def base(evaluator: Evaluator) -> Experiment:
    """The experiment that the environment's settings make: what a run varies."""
    return Experiment(pipeline=evaluator.settings.pipeline(), embedding_model=evaluator.settings.embedding_model)


def initial(evaluator: Evaluator) -> dict[str, Any]:
    """What the controls show at first."""
    settings = base(evaluator).settings
    return {c.setting: _shown(settings[c.setting]) for c in CONTROLS}


def _shown(value: object) -> object:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else value


def presets_of(benchmark: str) -> list[Preset]:
    """The papers' tables over a benchmark."""
    return list(benchmarks.find(benchmark).presets)


def plan(evaluator: Evaluator, form: Form) -> Plan:
    """What is to be run.

    Raises:
        Incomplete: a field holds what it cannot.
        UnknownSetting: a setting is not known, or cannot have that value.
    """
    benchmark, data = benchmarks.find(form.benchmark), _path(form.data)
    try:
        evaluator.data_of(benchmark, data)
    except NoData as fault:
        where = (
            f"“Its files” is {data}, which does not exist" if data else f"The files of {benchmark.title} are not here"
        )
        raise Incomplete(f"{where}. Name their file or folder, or get the official ones.") from fault
    experiment = with_settings(base(evaluator), _assignments(form))
    order, title = RunRequest(form.benchmark, data, experiment, _limit(form.limit)), benchmark.title
    if form.preset and form.sweep.strip():
        raise Incomplete("Choose a paper's table or fill in a sweep, not both: each says which runs to make.")
    if form.preset:
        return _table(PRESETS[form.preset], order)
    if form.sweep.strip():
        rows = tuple((label, replace(order, experiment=e)) for label, e in combinations(experiment, _lines(form.sweep)))
        return Plan(f"{title}, a sweep over {', '.join(_names(form.sweep))}", rows)
    return Plan(title, (("", order),))


def _table(preset: Preset, order: RunRequest) -> Plan:
    if preset.benchmark != order.benchmark:
        raise Incomplete(f"{preset.title} is of another benchmark; choose {preset.benchmark} first.")
    model = order.experiment.pipeline.model
    rows = tuple(
        (row.label, replace(order, experiment=with_settings(order.experiment, list(row.settings))))
        for row in preset.rows
        if row.runs_with(model)
    )
    if not rows:
        raise Incomplete(f"No row of {preset.title} can be run: each needs what Memoir has not yet.")
    left_out = tuple(f"{row.label} (needs {row.needs})" for row in preset.rows if not row.runs_with(model))
    return Plan(preset.title, rows, left_out, preset.metrics, preset.ability, preset.remark)


def _assignments(form: Form) -> list[str]:
    controls = [f"{name}={_typed(name, value)}" for name, value in (form.controls or {}).items()]
    return [*controls, f"reader={form.reader}", *_lines(form.lines)]


def _typed(name: str, value: object) -> str:
    if value is None or value == "":
        label = next(c.label for c in CONTROLS if c.setting == name)
        raise Incomplete(f"The setting “{label}” is empty; give it a value.")
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _limit(typed: str) -> int | None:
    text = typed.strip().casefold()
    if text in ("", "all"):
        return None
    if not text.isdecimal() or int(text) < 1:
        raise Incomplete(f"“Probes” is {typed.strip()!r}; it takes a whole number from 1 on, or nothing for all.")
    return int(text)


def _path(text: str) -> Path | None:
    return Path(text.strip()).expanduser() if text.strip() else None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _names(sweep: str) -> Sequence[str]:
    return [line.partition("=")[0].strip() for line in _lines(sweep)]
