"""Compare two runs on the probes that both asked, or several in one table: quality, seconds, tokens and bytes."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eval.benchmarks import find
from eval.metrics.evidence import Scores
from eval.metrics.intervals import Difference, compare, stars
from eval.metrics.scores import score, without_uncounted
from eval.play.systems.registry import WITHOUT_MODEL
from eval.reporting.render import COSTS, INTERVALS, MATCHING, TESTED, fill_in, format_figure, format_fraction, headlines
from eval.reporting.report import Report, report
from eval.runs.run import Run, versions
from eval.types import Prediction, Probe, Sample
from graph.models.registry import is_named
from memory.errors import MemoirError
from memory.formatting import clip, csv_text

COMPARISON_NOTE = f"{INTERVALS}. {TESTED}."

MAX_ANSWER = 160
"""Characters of a question or an answer in a table of flipped questions."""


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that one run answered right and the other wrong; `fixed` says whether the second is right."""

    probe: Probe
    fixed: bool
    first: Prediction
    second: Prediction


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two runs differ, and the difference of each figure with its significance.

    `flips` are the questions with another verdict, those that the second run got wrong first. `settings` holds the
    settings that differ, and also data, portion, code and library versions where they differ.
    """

    first: str
    second: str
    n: int
    settings: Mapping[str, tuple[object, object]]
    differences: Mapping[str, Difference]
    flips: tuple[Flip, ...] = ()


def compare_runs(first: Run, second: Run) -> Comparison:
    """Compare every figure that both runs have of single probes (paired: each probe with itself).

    Raises `MemoirError` if they are of different benchmarks, or asked different probes.
    """
    if first.spec.benchmark != second.spec.benchmark:
        raise MemoirError(
            f"{first.name} is a run of {first.spec.benchmark}, {second.name} one of {second.spec.benchmark}. Choose "
            "two runs of the same benchmark"
        )
    before, after = _by_probe(first, second)
    ours, theirs = _scored(first, before), _scored(second, after)
    common = sorted(set(ours) & set(theirs))
    if not common:
        raise MemoirError(f"{first.name} and {second.name} have no probe in common")
    histories = {probe: before[probe].prediction.history_id for probe in common}
    names = dict.fromkeys(name for probe in common for name in ours[probe])
    differences = {}
    for name in names:
        one, other = ({p: v for p in common if (v := run[p].get(name)) is not None} for run in (ours, theirs))
        if one.keys() & other.keys():
            differences[name] = compare(one, other, histories)
    a, b = _conditions(first), _conditions(second)
    changed = {name: (a.get(name), b.get(name)) for name in {**a, **b} if a.get(name) != b.get(name)}
    both_answer = first.has_reader and second.has_reader
    flips = [
        Flip(one.probe, other.verdict.state == "right", one.prediction, other.prediction)
        for one, other in ((before[p], after[p]) for p in (common if both_answer else ()))
        if one.verdict and other.verdict and {one.verdict.state, other.verdict.state} == {"right", "wrong"}
    ]
    flips.sort(key=lambda flip: flip.fixed)
    return Comparison(first.name, second.name, len(common), changed, differences, tuple(flips))


def _by_probe(*runs: Run) -> list[dict[str, Sample]]:
    """The samples of each run by the probe's id, after its history's where several histories share the id."""
    asked = [run.samples(words=False) for run in runs]
    shared = {name for own in asked for name, n in Counter(s.probe.id for s in own).items() if n > 1}
    return [
        {f"{s.prediction.history_id}/{s.probe.id}" if s.probe.id in shared else s.probe.id: s for s in own}
        for own in asked
    ]


def _scored(run: Run, samples: Mapping[str, Sample]) -> dict[str, Scores]:
    scored = score(list(samples.values()), find(run.spec.benchmark).scoring, answered=run.has_reader)
    return {name: one.scores for name, one in zip(samples, without_uncounted(scored), strict=True)}


def _conditions(run: Run) -> Mapping[str, object]:
    """What can make a difference: settings, data, portion, code, versions of libraries."""
    spec = run.spec
    fixed = {"data": spec.checksum[:12], "portion": spec.portion, "code": spec.code}
    return {**spec.settings, **fixed, **{f"version of {name}": number for name, number in spec.versions.items()}}


def comparison_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """One row for each figure, with a star where p < .05 after Holm's correction for all of them."""
    rows: list[tuple[str, ...]] = []
    starred = stars({name: d.p for name, d in comparison.differences.items()})
    for name, d in comparison.differences.items():
        values = format_fraction(d.value_a), format_fraction(d.value_b)
        spread = f"{d.difference:+.3f} [{d.low:+.3f}, {d.high:+.3f}]"
        rows.append((name, *values, spread, f"{d.p:.3f}", str(d.n), starred[name]))
    return rows


def flip_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """One row for each question whose answer became right or wrong; those that became wrong first."""
    return [
        (
            "became right" if flip.fixed else "became wrong",
            clip(flip.probe.question, MAX_ANSWER),
            clip(" / ".join(flip.probe.gold.answers), MAX_ANSWER) if flip.probe.gold.answerable else "(none)",
            *("(declined)" if p.abstained else clip(p.answer, MAX_ANSWER) for p in (flip.first, flip.second)),
        )
        for flip in comparison.flips
    ]


def comparison_markdown(comparison: Comparison) -> str:
    """Format a comparison."""
    rows = {"rows": comparison_rows(comparison), "flip_rows": flip_rows(comparison)}
    return fill_in("comparison.md", comparison=comparison, note=COMPARISON_NOTE, **rows) + "\n"


def comparisons_to_csv(comparisons: Iterable[Comparison]) -> str:
    """Format every figure of every comparison as one row of CSV; p is without correction for the number of tests."""
    header = ("first", "second", "metric", "first_value", "second_value", "difference", "low", "high", "p", "n")
    rows = (
        (compared.first, compared.second, name, d.value_a, d.value_b, d.difference, d.low, d.high, d.p, d.n)
        for compared in comparisons
        for name, d in compared.differences.items()
    )
    return csv_text(header, rows)


# --- several runs

MOST_FIGURES = 8
"""Most figures of quality."""


def side_by_side(runs: Mapping[str, Run]) -> tuple[Mapping[str, Report], Sequence[Sequence[str]], str]:
    """Compare the headline figures of each run with those of the first; Holm corrects for all these tests.

    Returns the reports of the runs by their labels, their table, and what it means and which systems had no chat model.
    The table has a row for each figure and each cost, with a star where a figure differs from the first run's, and one
    for the packages that a run needed beside Memoir's own, with their versions.
    """
    reports = {label: report(run) for label, run in runs.items()}
    first, *others = runs
    names = [name for name, _ in headlines(reports[first], MOST_FIGURES)]
    compared = {label: compare_runs(runs[first], runs[label]).differences for label in others}
    tests = {(label, name): found[name].p for label, found in compared.items() for name in names if name in found}
    starred = stars(tests)

    def cell(label: str, name: str) -> str:
        figure = reports[label].metrics.get(name)
        return f"{format_figure(figure)}{starred.get((label, name), '')}" if figure else ""

    own = versions()
    brought = ((f"{name} {n}" for name, n in run.spec.versions.items() if name not in own) for run in runs.values())
    about = [("package", *map(", ".join, brought)), *zip(COSTS, *map(_costs, reports.values()), strict=True)]
    rows = [(name, *(cell(label, name) for label in reports)) for name in names]
    notes = [f"{INTERVALS}. Compared with {first}: {TESTED}. {MATCHING}"]
    models = {str(each.settings.get("system")): str(each.settings.get("model", "")) for each in reports.values()}
    for system, model in models.items():
        if system in WITHOUT_MODEL and not is_named(model):
            notes.append(f"{system} had no chat model: {WITHOUT_MODEL[system]}.")
    return reports, rows + [row for row in about if any(row[1:])], " ".join(notes)


def _costs(report: Report) -> list[str]:
    """What a run cost, for each of `COSTS`; empty where it is not known."""
    known = {**report.timing, **{kind: n for kind, n in report.tokens.items() if n}}
    if stored := report.timing.get("bytes"):  # what a system keeps elsewhere is not known
        known["mb"] = stored / 1e6
    cells = []
    for form in COSTS.values():
        try:
            cells.append(form.format_map(known))
        except KeyError:
            cells.append("")
    return cells
