"""Compare two runs on the probes that both asked."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eval.benchmarks import find
from eval.metrics.scores import is_evidence, score
from eval.metrics.significance import Difference, compare
from eval.runs.run import Run
from eval.types import Prediction, Probe, Sample
from memory.errors import MemoirError


class Incomparable(MemoirError):
    """Two runs have no probe in common."""


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

    Raises `Incomparable` if they are of different benchmarks, or asked different probes.
    """
    if first.spec.benchmark != second.spec.benchmark:
        raise Incomparable(
            f"{first.name} is a run of {first.spec.benchmark}, {second.name} one of {second.spec.benchmark}. Choose "
            "two runs of the same benchmark"
        )
    before, after = ({s.probe.id: s for s in run.samples(words=False)} for run in (first, second))
    ours, theirs = _scored(first, before), _scored(second, after)
    common = sorted(set(ours) & set(theirs))
    if not common:
        raise Incomparable(f"{first.name} and {second.name} have no probe in common")
    histories = {probe: before[probe].prediction.history_id for probe in common}
    names = dict.fromkeys(name for probe in common for name in ours[probe])
    differences = {}
    for name in names:
        one = {p: v for p in common if (v := ours[p].get(name)) is not None}
        other = {p: v for p in common if (v := theirs[p].get(name)) is not None}
        if one.keys() & other.keys():
            differences[name] = compare(one, other, histories)
    a, b = _conditions(first), _conditions(second)
    changed = {name: (a.get(name), b.get(name)) for name in {**a, **b} if a.get(name) != b.get(name)}
    both_answer = first.has_reader and second.has_reader
    flips = tuple(_flips((before[p], after[p]) for p in common)) if both_answer else ()
    return Comparison(first.name, second.name, len(common), changed, differences, flips)


def _flips(pairs: Iterable[tuple[Sample, Sample]]) -> list[Flip]:
    """The questions of which one answer is right and the other wrong."""
    flips = [
        Flip(one.probe, other.verdict.state == "right", one.prediction, other.prediction)
        for one, other in pairs
        if one.verdict and other.verdict and {one.verdict.state, other.verdict.state} == {"right", "wrong"}
    ]
    return sorted(flips, key=lambda flip: flip.fixed)


def _scored(run: Run, samples: Mapping[str, Sample]) -> dict[str, dict[str, float | None]]:
    scored = score(list(samples.values()), find(run.spec.benchmark).scoring, answered=run.has_reader)
    # As in a report, figures about evidence are of counted probes alone.
    return {
        one.sample.probe.id: {n: v for n, v in one.scores.items() if one.sample.probe.counted or not is_evidence(n)}
        for one in scored
    }


def _conditions(run: Run) -> Mapping[str, object]:
    """What can make a difference: settings, data, portion, code, versions of libraries."""
    spec = run.spec
    fixed = {"data": spec.checksum[:12], "portion": spec.portion, "code": spec.code}
    return {**spec.settings, **fixed, **{f"version of {name}": number for name, number in spec.versions.items()}}
