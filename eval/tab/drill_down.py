"""From a figure to the probes behind it, and from a probe to what became of each piece of its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from eval.benchmarks.types import Benchmark
from eval.metrics.scores import score
from eval.reporting.attribution import CAUSES, cause
from eval.reporting.report import AXES
from eval.types import History, RankedHit, Sample
from memory.types import SEMANTIC, STORES

ALL = "all probes"

ABSTENTION = (
    "answered, can be answered",
    "declined, can be answered",
    "answered, cannot be answered",
    "declined, cannot be answered",
)
"""The cells of the 2x2."""

KIND, DECLINED, ANSWERED_RIGHTLY = "kind told rightly", "declined", "answer_accuracy"

OF_WHOLES: Mapping[str, str] = {
    "classification_": KIND,
    "abstention_": DECLINED,
    "false_refusal_rate": DECLINED,
    "dist_": ANSWERED_RIGHTLY,
}
"""For figures that only a set of probes has: what of each probe they are made from, by how their name begins."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a probe's evidence: whether the bank holds it, at which rank it was found (from 1; None: not found
    among those that were looked at), and what became of it there."""

    unit: str
    stored: bool
    rank: int | None
    place: str
    text: str = ""


def groups(samples: Sequence[Sample], *, answered: bool) -> list[str]:
    """The groups of probes that can be looked into, as "axis: name"; those without a probe are left out."""
    found = {name for sample in samples for name in _groups_of(sample, answered)}
    known = [f"{axis}: {name}" for axis in AXES for name in sorted(_names(samples, axis))]
    verdicts = [f"verdict: {state}" for state in ("wrong", "right", "unscored")]
    causes = [f"wrong because: {name}" for name in CAUSES]
    cells = [f"abstention: {cell}" for cell in ABSTENTION]
    return [ALL, *(name for name in [*verdicts, *causes, *cells, *known] if name in found)]


def _names(samples: Iterable[Sample], axis: str) -> set[str]:
    return {name for sample in samples for name in AXES[axis](sample.probe)}


def _groups_of(sample: Sample, answered: bool) -> Iterator[str]:
    for axis, of in AXES.items():
        yield from (f"{axis}: {name}" for name in of(sample.probe))
    if not answered:
        return
    if sample.verdict is not None:
        yield f"verdict: {sample.verdict.state}"
    if (why := cause(sample)) is not None:
        yield f"wrong because: {why}"
    yield f"abstention: {_cell(sample)}"


def _cell(sample: Sample) -> str:
    declined = "declined" if sample.prediction.abstained else "answered"
    return f"{declined}, {'can' if sample.probe.gold.answerable else 'cannot'} be answered"


Ranked = list[tuple[Sample, float | None]]


def lowest_first(samples: Iterable[Sample], benchmark: Benchmark, metric: str, group: str, *, answered: bool) -> Ranked:
    """The probes of a group with what each has of a metric, the lowest first; those that have none come last."""
    measure = _measure(benchmark, metric, answered)
    chosen = [s for s in samples if group == ALL or group in _groups_of(s, answered)]
    valued = [(sample, measure(sample)) for sample in chosen]
    return sorted(valued, key=lambda pair: (pair[1] is None, pair[1] or 0.0, pair[0].probe.id))


def _measure(benchmark: Benchmark, metric: str, answered: bool) -> Callable[[Sample], float | None]:
    name = metric.replace("geometric_mean@", "map@")
    name = next((of for begins, of in OF_WHOLES.items() if name.startswith(begins)), name)
    if name == KIND:
        return _kind
    if name == DECLINED:
        return lambda sample: float(sample.prediction.abstained)
    return partial(_scored, benchmark, name, answered)


def _scored(benchmark: Benchmark, name: str, answered: bool, sample: Sample) -> float | None:
    return score(sample, benchmark.scoring, answered=answered).get(name)


def _kind(sample: Sample) -> float | None:
    stores = sample.prediction.stores
    if sample.probe.gold.kind is None or not stores:
        return None
    semantic = sum(stores.get(s, 0.0) for s in SEMANTIC) >= sum(stores.get(s, 0.0) for s in STORES if s not in SEMANTIC)
    return float(semantic == (sample.probe.gold.kind == "semantic"))


def evidence(sample: Sample, words: Mapping[str, str] | None = None) -> list[Piece]:
    """What became of each piece of the evidence, on the finest level that the benchmark gives."""
    gold = sample.probe.gold
    said = {unit: shown.text for shown in sample.prediction.shown for unit in shown.units} | dict(words or {})
    pieces = []
    for unit in gold.turns or gold.items or gold.sessions:
        rank, place = _place(sample.prediction.found, unit)
        pieces.append(Piece(unit, unit in sample.prediction.stored, rank, place, said.get(unit, "")))
    return pieces


def _place(found: Sequence[RankedHit], unit: str) -> tuple[int | None, str]:
    for rank, hit in enumerate(found, start=1):
        if unit in hit.units or unit == hit.session:
            return rank, {"read": "read", "beyond": "found, not read", "filtered": "dropped by its time"}[hit.place]
    return None, "not found"


def words(benchmark: Benchmark, path: Path, history_id: str) -> dict[str, str]:
    """What was said, by id, in one history of a benchmark's files; sessions have the beginning of each turn.

    Raises:
        UnreadableFile: the files are not there any more, or broken.
    """
    history = next((h for h in benchmark.load(path) if h.id == history_id), None)
    return _said(history) if history is not None else {}


def _said(history: History) -> dict[str, str]:
    said = {m.external_id: m.text for m in history.memories}
    for session in history.sessions:
        lines = [(turn, f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text) for turn in session.turns]
        said |= {turn.external_id: line for turn, line in lines}
        said[session.external_id] = "\n".join(line for _, line in lines)
    return said
