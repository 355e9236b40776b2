"""Leave one benchmark out: choose the constants on the tuning halves of all others, and report its reporting half."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from statistics import fmean

from eval.metrics.intervals import INTERVALS, TESTED, Difference, stars
from eval.reporting.render import markdown_table
from eval.reporting.results import LINES, available
from eval.reporting.tuning import choice
from eval.reporting.tuning.choice import FIGURES, GRID, LABELS, Constants, ProbeValue, Trial
from eval.reporting.tuning.players import Measurements, Part, play
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import HALVES, RunRequest, with_settings
from eval.runs.run import code_version, machine
from eval.types import Watch
from memory.errors import MemoirError


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


def measure(evaluator: Evaluator, jobs: int, watch: Watch, limit: int | None = None) -> Tuning:
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
    benchmarks, today = [line.benchmark for line, _ in here], choice.constants_of(experiment)
    work = [(part, history) for part, request in requests.items() for history in evaluator.histories(request)]
    with play(work, experiment, evaluator.settings.cache_path, jobs) as measured:
        everything = partial(measured.measure, list(requests))
        in_view = choice.choose(everything, partial(watch, "everything in view"))
        tried = choice.trials(everything, in_view)
        left_out = []
        for name in benchmarks:
            others: list[Part] = [(other, "tuning") for other in benchmarks if other != name]
            chosen = choice.choose(partial(measured.measure, others), partial(watch, f"without {name}"))
            left_out.append(_leave_out(name, measured, chosen, in_view, today))
        return Tuning(today, in_view, tuple(tried), tuple(left_out), len(measured.kept), machine(), code_version())


def _leave_out(name: str, measured: Measurements, chosen: Constants, in_view: Constants, today: Constants) -> Holdout:
    def measure_half(constants: Constants) -> Sequence[ProbeValue]:
        return measured.measure([(name, "reporting")], constants)[name]

    left_out, seen, chat = (measure_half(constants) for constants in (chosen, in_view, today))
    off = {factor: {**chosen, factor: value} for factor, value in choice.off().items() if chosen[factor] != value}
    return Holdout(
        benchmark=name,
        constants=chosen,
        lost=choice.change(seen, left_out),
        gained=choice.change(chat, left_out),
        without={factor: choice.change(left_out, measure_half(constants)) for factor, constants in off.items()},
        tuning=len(measured.measure([(name, "tuning")], in_view)[name]),
    )


# --- the tables


def to_markdown(found: Tuning) -> str:
    """The left-out figures, the choices, and what each value of the grid gave."""
    tables = {"left_out": _left_out(found.left_out), "without": _without(found.left_out)}
    tables |= {"choices": _choices(found), "grid": _grid(found)}
    said = {"figures": _figures(found), "agreement": _agreement(found), "intervals": INTERVALS, "tested": TESTED}
    return choice.TEXT.format(found=found, today=date.today(), **said, **tables)


def _figures(found: Tuning) -> str:
    benchmarks: dict[tuple[str, ...], list[str]] = {}
    for each in found.left_out:
        benchmarks.setdefault(tuple(FIGURES[each.benchmark]), []).append(each.benchmark)
    return "; ".join(f"{' and '.join(names)} ({', '.join(of)})" for names, of in benchmarks.items())


def _left_out(left_out: Sequence[Holdout]) -> str:
    rows, values = [], []
    for each in left_out:
        lost, gained, numbers = each.lost, each.gained, map(str, (each.lost.n, each.lost.histories, each.tuning))
        points = [_points(lost.value_b), _points(lost.value_a), _change(lost), _points(gained.value_a), _change(gained)]
        rows.append([each.benchmark, *numbers, *points])
        values.append([lost.value_b, lost.value_a, lost.difference, gained.value_a, gained.difference])
    means = map(fmean, zip(*values, strict=True))
    mean = [f"{100 * value:{sign}.1f}" for value, sign in zip(means, ("", "", "+", "", "+"), strict=True)]
    header = ["left out", "n", "histories", "n tuning", "left-out", "in view", "change", "of a chat", "change"]
    return markdown_table([*rows, ["mean", "", "", "", *mean]], header)


def _without(left_out: Sequence[Holdout]) -> str:
    changes = {(name, each.benchmark): change for each in left_out for name, change in each.without.items()}
    starred = stars({at: change.p for at, change in changes.items()})
    cells = {at: _change(change, starred[at]) for at, change in changes.items()}
    benchmarks = [each.benchmark for each in left_out]
    rows = [
        [f"no {LABELS.get(name, _short(name))}", *(cells.get((name, benchmark), "off") for benchmark in benchmarks)]
        for name in GRID
    ]
    return markdown_table(rows, ["", *benchmarks])


def _choices(found: Tuning) -> str:
    choices = {
        **{f"without {each.benchmark}": each.constants for each in found.left_out},
        "everything in view": found.in_view,
        "of a chat": found.today,
    }
    return markdown_table([[label, *map(_value, c.values())] for label, c in choices.items()], ["", *map(_short, GRID)])


def _agreement(found: Tuning) -> str:
    """Which factors every choice leaves off, and which constants every choice has the same."""
    choices: list[Constants] = [each.constants for each in found.left_out]
    same = {name: values[0] for name in GRID if len(set(values := [c[name] for c in choices])) == 1}
    off = [_short(name) for name, value in same.items() if value == GRID[name][0]]
    others = [f"{_short(name)} {_value(value)}" for name, value in same.items() if value != GRID[name][0]]
    return f"Off in all left-out choices: {', '.join(off) or 'none'}; the same in all: {', '.join(others) or 'none'}."


def _grid(found: Tuning) -> str:
    benchmarks = [each.benchmark for each in found.left_out]
    rows = []
    for trial in found.trials:
        chosen = trial.value == found.in_view[trial.name]
        change = "+" if chosen else f"{100 * trial.change:+.2f} ± {100 * trial.error:.2f}"
        figures = [_points(trial.figures[benchmark]) for benchmark in benchmarks]
        rows.append([_short(trial.name), _value(trial.value), _points(trial.figure), change, *figures])
    return markdown_table(rows, ["constant", "value", "mean", "change", *benchmarks])


def _points(figure: float) -> str:
    return f"{100 * figure:.1f}"


def _change(change: Difference, star: str = "") -> str:
    return f"{100 * change.difference:+.1f}{star} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _value(value: float) -> str:
    return {False: "off", True: "on"}[value] if isinstance(value, bool) else f"{value:g}"
