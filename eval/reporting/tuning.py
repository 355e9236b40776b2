"""Leave one benchmark out: choose the constants on the tuning halves of all others, and report its reporting half.

Histories are played once, in several processes, and their retrieval is measured there under any constants.

The choice is a coordinate descent over the grid: one constant after another gets the value with the best mean over
benchmarks, the others staying as they are, and again from the first until none changes. Of equal values the nearest to
off is chosen. Two settings are compared on the same probes; the spread of their difference is that of resampled
histories.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import chain
from math import hypot
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

from eval.benchmarks import find
from eval.metrics.evidence import Scoring, score_evidence
from eval.metrics.intervals import Difference, Z, compare, stars
from eval.play.engines.schedule import Processes
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import load_models
from eval.reporting.render import fill_in
from eval.reporting.results import FIGURES, LINES, available
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import HALVES, Experiment, Half, RunRequest, with_settings
from eval.runs.run import code_version, machine
from eval.types import Costs, History, ProbeKey, Sample, Watch
from memory import read_table
from memory.errors import MemoirError

Constants = Mapping[str, float]
"""A value for each name of `GRID`; `views` and `voice` are false or true."""

_FILE: Mapping[str, Any] = read_table(__file__, "tuning.toml")
GRID: Mapping[str, Sequence[float]] = _FILE["grid"]
"""The values of each constant, in the order in which the constants are chosen."""
LABELS: Mapping[str, str] = _FILE["labels"]
"""What is off where a constant is, if its name does not say it."""

PASSES = 4
"""Passes over all constants, if they do not settle before."""


def off() -> Constants:
    """Every factor off: where the choice starts, so that no earlier choice has a part in it."""
    return {name: values[0] for name, values in GRID.items()}


ProbeValues = dict[ProbeKey, float]
"""The values of some probes of a benchmark, under one setting; its figure is their mean."""

Values = Mapping[str, ProbeValues]
"""The values of each benchmark's probes."""

Measure = Callable[[Constants], Values]


def change(before: ProbeValues, after: ProbeValues) -> Difference:
    """The paired change of one benchmark's figure from one setting to another (see `eval.metrics.intervals`)."""
    return compare(before, after, {key: key[0] for key in before})


def mean_change(before: Values, after: Values) -> tuple[float, float]:
    """The change of the mean over benchmarks, which weigh alike whatever the number of their probes, and its error.

    The error is that of independent benchmarks, each with a quarter of the width of its 95 % interval (more exactly,
    the width over 2 * 1.96).
    """
    changes = [change(before[name], after[name]) for name in before]
    errors = [(each.high - each.low) / (2 * Z) for each in changes]
    return fmean(each.difference for each in changes), hypot(*errors) / len(changes)


@dataclass(frozen=True, slots=True)
class Trial:
    """One value of a constant, the others as chosen: the mean over benchmarks, its change from the chosen value with
    the standard error, and each benchmark's figure."""

    name: str
    value: float
    figure: float
    change: float
    error: float
    figures: Mapping[str, float]


def choose(measure: Measure, watch: Callable[[int, int], None] = lambda done, total: None) -> Constants:
    """The constants for the benchmarks that `measure` measures, chosen from all off on.

    `watch` is called after each value of a pass.
    """
    chosen, total = dict(off()), sum(map(len, GRID.values()))
    for _ in range(PASSES):
        before, done = dict(chosen), 0
        for name, values in GRID.items():
            tried = {}
            for value in values:
                tried[value] = measure({**chosen, name: value})
                done += 1
                watch(done, total)
            # Of equal values the first, since the grid goes from off upwards.
            chosen[name] = max(tried, key=lambda value: overall(tried[value]))
        if chosen == before:
            break
    return chosen


def overall(values: Values) -> float:
    """The mean over benchmarks, which weigh alike."""
    return fmean(fmean(of_probes.values()) for of_probes in values.values())


def trials(measure: Measure, chosen: Constants) -> list[Trial]:
    """Every value of every constant, with the others as chosen."""
    reference = measure(chosen)
    found = []
    for name, values in GRID.items():
        for value in values:
            measured = measure({**chosen, name: value})
            figures = {benchmark: fmean(of_probes.values()) for benchmark, of_probes in measured.items()}
            found.append(Trial(name, value, overall(measured), *mean_change(reference, measured), figures))
    return found


# --- measuring

Part = tuple[str, Half]
"""A benchmark's name, and one of its halves."""

PartValues = dict[Part, ProbeValues]
Work = Sequence[tuple[Part, History]]


class Player:
    """Histories, each played once into a bank of its own as soon as it is first asked."""

    def __init__(self, work: Work, experiment: Experiment, cache: Path) -> None:
        self._work = work
        self._experiment = experiment
        self._models = load_models(experiment, cache)
        self._folder = TemporaryDirectory(prefix="memoir-tune-")
        self._memory = functools.cache(self._play)

    def measure(self, constants: Constants, parts: Collection[Part]) -> PartValues:
        """The values of every probe with evidence in these parts."""
        experiment = with_settings(self._experiment, [f"{name}={value}" for name, value in constants.items()])
        found: PartValues = {part: {} for part in parts}
        for number, (part, history) in enumerate(self._work):
            if part in found:
                memory = self._memory(number)
                memory.ask_as(experiment, Costs())
                probes = (probe for probe in history.probes if probe.counted and probe.gold.evidence)
                found[part] |= _values(part[0], [Sample(probe, memory.ask(probe)) for probe in probes])
        return found

    def _play(self, number: int) -> MemoryUnderTest:
        home, history = Path(self._folder.name) / str(number), self._work[number][1]
        home.mkdir()
        memory = MemoryUnderTest(home, history, self._experiment, self._models)
        memory.remember(history.sessions, history.memories)
        return memory


def _values(benchmark: str, samples: Sequence[Sample]) -> Iterator[tuple[ProbeKey, float]]:
    """The mean of those figures of the benchmark that each probe has."""
    names = FIGURES[benchmark]
    cutoffs = sorted({int(name.partition("@")[2]) for name in names})
    scoring = Scoring(find(benchmark).scoring.level, tuple(cutoffs))
    for sample, scores in zip(samples, score_evidence(samples, scoring), strict=True):
        values = [value for name in names if (value := scores.get(name)) is not None]
        if values:
            yield sample.key, fmean(values)


class Measurements:
    """What several players measured, by setting, so that none is measured twice."""

    def __init__(self, players: Sequence[Callable[..., Future[PartValues]]]) -> None:
        self._players = players
        self.kept: dict[tuple[float, ...], PartValues] = defaultdict(dict)

    def measure(self, parts: Collection[Part], constants: Constants) -> Values:
        """The values of every probe with evidence in these parts, those of a benchmark's halves together."""
        kept = self.kept[tuple(constants.values())]
        if missing := [part for part in parts if part not in kept]:
            try:
                asked = [player("measure", constants, missing) for player in self._players]
                found = [each.result() for each in asked]
            except Processes.deaths:
                raise MemoirError("A process that measured was killed, perhaps because memory ran out") from None
            kept |= {part: dict(chain.from_iterable(each[part].items() for each in found)) for part in missing}
        together: dict[str, ProbeValues] = defaultdict(dict)
        for part in parts:
            together[part[0]] |= kept[part]
        return together


# --- leaving one out


@dataclass(frozen=True, slots=True)
class Holdout:
    """A benchmark's reporting half under constants that were chosen without the benchmark.

    `lost` is the change to these from constants that were chosen on both halves of all benchmarks, "in view", `gained`
    that from those of a chat; `without` is the change where one of the constants is off, for those that are not. The
    probes of `tuning` only tune, and not this benchmark.
    """

    benchmark: str
    constants: Constants
    lost: Difference
    gained: Difference
    without: Mapping[str, Difference]
    tuning: int


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `tune` found: the constants of a chat, those chosen with everything in view and what every other value of
    the grid gave beside them, and each benchmark left out. `settings` counts those measured."""

    today: Constants
    in_view: Constants
    trials: tuple[Trial, ...]
    left_out: tuple[Holdout, ...]
    settings: int
    machine: str
    code: str


def tune(evaluator: Evaluator, jobs: int, watch: Watch, limit: int | None = None) -> Tuning:
    """Tune on every benchmark whose files are here, without a reader, in so many processes.

    `limit` asks the first so many probes of each half only. Raises `MemoirError` if there are fewer than two.
    """
    experiment = with_settings(evaluator.experiment, ["reader=none"])
    lines = [line for line in LINES if line.benchmark in FIGURES and line.edition in ("", "en") and line.shows_all]
    here = available(evaluator, lines)
    if len(here) < 2:
        raise MemoirError("constants are chosen on other benchmarks than they are measured on, and one is here")
    requests = {
        (line.benchmark, half): RunRequest(line.benchmark, path, experiment, limit, half=half)
        for line, path in here
        for half in HALVES
    }
    benchmarks = [line.benchmark for line, _ in here]
    today: Constants = {name: experiment.settings[name] for name in GRID}
    work = [(part, history) for part, request in requests.items() for history in evaluator.histories(request)]
    # Each process plays histories with about as many probes.
    ordered = sorted(work, key=lambda one: -len(one[1].probes)) if jobs > 1 else work
    shares = [ordered[first::jobs] for first in range(min(jobs, len(ordered)))]
    cache = evaluator.settings.cache_path
    with Processes([experiment], cache, jobs) as processes:
        measured = Measurements([processes.start(Player, share, experiment, cache) for share in shares])
        everything = partial(measured.measure, list(requests))
        in_view = choose(everything, partial(watch, "everything in view"))
        tried = trials(everything, in_view)
        left_out = []
        for name in benchmarks:
            others: list[Part] = [(other, "tuning") for other in benchmarks if other != name]
            chosen = choose(partial(measured.measure, others), partial(watch, f"without {name}"))
            left_out.append(_leave_out(name, measured, chosen, in_view, today))
        return Tuning(today, in_view, tuple(tried), tuple(left_out), len(measured.kept), machine(), code_version())


def _leave_out(name: str, measured: Measurements, chosen: Constants, in_view: Constants, today: Constants) -> Holdout:
    def measure_half(constants: Constants) -> ProbeValues:
        return measured.measure([(name, "reporting")], constants)[name]

    left_out, seen, chat = (measure_half(constants) for constants in (chosen, in_view, today))
    without = {factor: {**chosen, factor: value} for factor, value in off().items() if chosen[factor] != value}
    return Holdout(
        benchmark=name,
        constants=chosen,
        lost=change(seen, left_out),
        gained=change(chat, left_out),
        without={factor: change(left_out, measure_half(constants)) for factor, constants in without.items()},
        tuning=len(measured.measure([(name, "tuning")], in_view)[name]),
    )


def to_markdown(found: Tuning) -> str:
    """The left-out figures, the choices, and what each value of the grid gave."""
    p_values = {(name, each.benchmark): change.p for each in found.left_out for name, change in each.without.items()}
    chosen = {name: {each.constants[name] for each in found.left_out} for name in GRID}
    same = {name: min(values) for name, values in chosen.items() if len(values) == 1}
    tables = {"grid": GRID, "labels": LABELS, "figures": FIGURES, "stars": stars(p_values), "same": same}
    return fill_in("tuning.md", found=found, **tables)
