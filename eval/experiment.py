"""What an evaluation varies: the pipeline's settings, and what a replay stores, indexes and hands to the reader."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import product
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from eval.play.simulation.simulate import SimulationSettings
from graph.settings import PipelineSettings
from memory.embedding.embedder import DEFAULT_MODEL
from memory.errors import MemoirError

Granularity = Literal["turn", "round", "session", "summary"]
Key = Literal["value", "value+facts", "value+summary", "value+keyphrases"]
ReaderInput = Literal["memory", "nothing", "everything", "oracle", "wrong"]
RememberedKinds = Literal["both", "semantic", "episodic"]


class UnknownSetting(MemoirError):
    """No such setting, or a value that it cannot take; the message names those there are."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """All that can differ between two runs over the same data.

    `pipeline` is what a chat uses. `granularity` is what one dialogue memory holds (LongMemEval, section 5.2; DialSim's
    stores): a turn, a round (what the user said and the replies to it), a session, or a session's summary. `key` is
    what it is found by (section 5.3), `keys` whether the additions are merged with the text or ranked as memories of
    their own. `remembered` leaves out what is of the other kind (PerLTQA, figure 4). `given` is what the reader gets:
    what the memory finds, nothing, everything, the evidence itself, or what is found without the evidence (PerLTQA,
    table 6); `times` where the time filter takes the time from: the words of the question or the dates of its evidence.
    `questions` are those of the benchmark, or one- and two-hop ones made from the history's own dated relations.
    `pooled` tells all histories to one persona (`eval.play.pooled`) instead of each to one of its own.
    """

    pipeline: PipelineSettings = field(default_factory=PipelineSettings)
    granularity: Granularity = "turn"
    key: Key = "value"
    keys: Literal["merged", "separate"] = "merged"
    remembered: RememberedKinds = "both"
    given: ReaderInput = "memory"
    times: Literal["asked", "oracle"] = "asked"
    questions: Literal["own", "graph"] = "own"
    pooled: bool = False
    embedding_model: str = DEFAULT_MODEL
    simulation: SimulationSettings = field(default_factory=SimulationSettings)
    seed: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting by the name it is set by ("rerank.alpha")."""
        return dict(_flat(self))


_ADAPTER = TypeAdapter(Experiment)


def with_setting(experiment: Experiment, name: str, value: str) -> Experiment:
    """The experiment with one setting changed: `name` as `Experiment.settings` has it, `value` as typed.

    Raises:
        UnknownSetting: there is no such setting, or it cannot have that value.
    """
    known = experiment.settings
    if name not in known:
        raise UnknownSetting(f"there is no setting {name!r}; known: {', '.join(f'{n}={v}' for n, v in known.items())}")
    path = name.split(".")
    if path[0] not in {f.name for f in fields(Experiment)}:
        path = ["pipeline", *path]
    values = _nested(experiment)
    inner = values
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    try:
        made = _ADAPTER.validate_python(values)
    except ValidationError as fault:
        why = fault.errors()[0]["msg"]
        raise UnknownSetting(f"{name}={value}: {why} (it is {known[name]} by default)") from fault
    set_to = made.settings[name]
    if isinstance(set_to, (int, float)) and not 0 <= set_to < math.inf:
        raise UnknownSetting(f"{name}={value}: a number from 0 on is expected (it is {known[name]} by default)")
    return made


def with_settings(experiment: Experiment, assignments: list[str]) -> Experiment:
    """The experiment with each `name=value` set in turn."""
    for assignment in assignments:
        name, sign, value = assignment.partition("=")
        if not sign:
            raise UnknownSetting(f"{assignment!r} sets nothing; write name=value, as in rerank.alpha=0.3")
        experiment = with_setting(experiment, name.strip(), value.strip())
    return experiment


def combinations(experiment: Experiment, sweeps: list[str]) -> Iterator[tuple[str, Experiment]]:
    """Every combination of `name=value,value,...`, each with a label that names what differs."""
    axes = []
    for sweep in sweeps:
        name, sign, values = sweep.partition("=")
        if not sign or not values.strip():
            raise UnknownSetting(f"{sweep!r} sweeps over nothing; write name=value,value as in search.k=5,10,20")
        axes.append([f"{name.strip()}={value.strip()}" for value in values.split(",")])
    for combination in product(*axes):
        yield " ".join(combination), with_settings(experiment, list(combination))


def _nested(thing: Any) -> Any:  # noqa: ANN401  # dataclasses all the way down
    if is_dataclass(thing):
        return {f.name: _nested(getattr(thing, f.name)) for f in fields(thing)}
    return thing


def _flat(thing: object, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for f in fields(thing):  # type: ignore[arg-type]  # only called with dataclasses
        value = getattr(thing, f.name)
        if is_dataclass(value):
            yield from _flat(value, prefix if f.name == "pipeline" else f"{prefix}{f.name}.")
        else:
            yield f"{prefix}{f.name}", value
