"""Leave one benchmark out: choose the constants on the tuning halves of all others, and report its reporting half."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eval.metrics.significance import Difference
from eval.reporting.results import LINES, available
from eval.reporting.tuning.choice import (
    FIGURES,
    Constants,
    ProbeValue,
    Trial,
    Values,
    change,
    choose,
    constants_of,
    mean,
    off,
    paired,
    trials,
)
from eval.reporting.tuning.players import Measurements, Part, PartValues, play
from eval.runs.evaluator import Evaluator, RunRequest
from eval.runs.experiment import with_settings
from eval.runs.halves import HALVES
from eval.runs.provenance import code_version, machine
from eval.types import Figure, Watch
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError


class TooFewBenchmarks(MemoirError):
    """With one benchmark there is none to choose constants on that are measured on another."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A benchmark's reporting half under constants that were chosen without the benchmark.

    `figure` is its value with these, `in_view` with those chosen on both halves of all benchmarks, `today` with those
    of a chat. `lost` is the change from `in_view`, `gained` that from `today`; `without` is the change where one of the
    constants is off, for those that are not. `histories` are those that report; the probes of `tuning` only tune, and
    not this benchmark.
    """

    benchmark: str
    constants: Constants
    figure: float
    in_view: float
    today: float
    lost: Figure
    gained: Figure
    without: Mapping[str, Difference]
    histories: int
    tuning: int


@dataclass(frozen=True, slots=True)
class Tuning:
    """What `tune` found: the constants of a chat, those chosen with everything in view and what every other value of
    the grid gave beside them, and each benchmark left out. `settings` counts those measured."""

    today: Constants
    in_view: Constants
    trials: tuple[Trial, ...]
    left_out: tuple[LeftOut, ...]
    settings: int
    machine: str
    code: str


def measure(
    evaluator: Evaluator, jobs: int, watch: Watch, limit: int | None = None, encoder: Embedder | None = None
) -> Tuning:
    """Tune on every benchmark whose files are here, without a reader.

    `limit` asks the first so many probes of each half only; an `encoder`, a loaded embedding model, keeps everything in
    this process. Raises `TooFewBenchmarks` if there are fewer than two.
    """
    experiment = with_settings(evaluator.experiment, ["reader=none"])
    lines = [line for line in LINES if line.benchmark in FIGURES and line.edition in ("", "en") and line.shows_all]
    here = available(evaluator, lines)
    if len(here) < 2:
        raise TooFewBenchmarks("constants are chosen on other benchmarks than they are measured on, and one is here")
    requests = {
        Part(line.benchmark, half): RunRequest(line.benchmark, path, experiment, limit, half=half)
        for line, path in here
        for half in HALVES
    }
    work = [(part, history) for part, request in requests.items() for history in evaluator.histories(request)]
    with play(work, experiment, evaluator.settings.cache_path, jobs=jobs, encoder=encoder) as measured:
        return _tune(measured, [line.benchmark for line, _ in here], constants_of(experiment), watch)


def _tune(measured: Measurements, benchmarks: Sequence[str], today: Constants, watch: Watch) -> Tuning:
    everything = [Part(benchmark, half) for benchmark in benchmarks for half in HALVES]

    def on_everything(constants: Constants) -> Values:
        return _by_benchmark(measured.measure(constants, everything))

    in_view = choose(on_everything, lambda done, total: watch("everything in view", done, total))
    tried = trials(on_everything, in_view)
    left_out = []
    for name in benchmarks:
        chosen = _choose_without(name, measured, benchmarks, watch)
        left_out.append(_leave_out(name, measured, chosen, in_view, today))
    return Tuning(today, in_view, tuple(tried), tuple(left_out), measured.settings, machine(), code_version())


def _choose_without(name: str, measured: Measurements, benchmarks: Sequence[str], watch: Watch) -> Constants:
    """The constants for the tuning halves of the other benchmarks."""
    others = [Part(other, "tuning") for other in benchmarks if other != name]
    return choose(
        lambda constants: _by_benchmark(measured.measure(constants, others)),
        lambda done, total: watch(f"without {name}", done, total),
    )


def _leave_out(name: str, measured: Measurements, chosen: Constants, in_view: Constants, today: Constants) -> LeftOut:
    part, tuning = Part(name, "reporting"), Part(name, "tuning")
    left_out, seen, chat = (measured.measure(constants, [part])[part] for constants in (chosen, in_view, today))
    return LeftOut(
        name,
        chosen,
        mean(left_out),
        mean(seen),
        mean(chat),
        change(seen, left_out),
        change(chat, left_out),
        {
            constant: paired(left_out, measured.measure({**chosen, constant: value}, [part])[part])
            for constant, value in off().items()
            if chosen[constant] != value
        },
        len({each.history for each in left_out}),
        len(measured.measure(in_view, [tuning])[tuning]),
    )


def _by_benchmark(values: PartValues) -> Values:
    """The values of both halves of a benchmark together."""
    found: dict[str, list[ProbeValue]] = defaultdict(list)
    for part, of_part in values.items():
        found[part.benchmark].extend(of_part)
    return found
