"""Open a run, and find the probes behind a metric and what became of each piece of a probe's evidence."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from eval.benchmarks import Benchmark, find
from eval.metrics import confusion
from eval.metrics.scores import Scored, score
from eval.reporting.report import AXES, CAUSES, Report, cause, report
from eval.runs.run import Run, Runs
from eval.types import Sample
from memory.errors import MemoirError

ALL = "all probes"

ABSTENTION = tuple(f"{done}, {able} be answered" for able in ("can", "cannot") for done in ("answered", "declined"))
"""The cells of the 2x2."""

OUTCOMES = {"read": "read", "beyond": "found, not read", "filtered": "removed by the time filter"}
"""The screen's words for a hit's place."""


def group_names(scored: Iterable[Scored], *, has_reader: bool) -> list[str]:
    """List the groups that have probes, as "axis: name"."""
    present = {name for one in scored for name in _groups_of(one.sample, has_reader)}
    verdicts = [f"verdict: {state}" for state in ("wrong", "right", "unreadable", "unscored")]
    causes = [f"wrong because: {name}" for name in CAUSES]
    cells = [f"abstention: {cell}" for cell in ABSTENTION]
    by_axis = [name for axis in AXES for name in sorted(present) if name.startswith(f"{axis}: ")]
    return [ALL, *(name for name in [*verdicts, *causes, *cells] if name in present), *by_axis]


def _groups_of(sample: Sample, has_reader: bool) -> Iterator[str]:
    for axis, of in AXES.items():
        yield from (f"{axis}: {name}" for name in of(sample.probe))
    if not has_reader:
        return
    if sample.verdict is not None:
        yield f"verdict: {sample.verdict.state}"
    if (why := cause(sample)) is not None:
        yield f"wrong because: {why}"
    declined, able = sample.prediction.declined, sample.probe.gold.answerable
    if sample.probe.is_question:
        yield f"abstention: {'declined' if declined else 'answered'}, {'can' if able else 'cannot'} be answered"


def sort_by_metric(
    scored: Iterable[Scored], metric: str, group: str, *, has_reader: bool
) -> list[tuple[Sample, float | None]]:
    """Sort the probes of a group by a metric, lowest first; those without a value come last."""
    chosen = [one for one in scored if group == ALL or group in _groups_of(one.sample, has_reader)]
    valued = [(one.sample, _value(one, metric)) for one in chosen]
    return sorted(valued, key=lambda pair: (pair[1] is None, pair[1] or 0.0, pair[0].probe.id))


def _value(one: Scored, metric: str) -> float | None:
    """A probe's value of a metric; of one that only a set of probes has, what that is computed from."""
    if metric.startswith("classification_"):
        kinds = confusion.kinds(one.sample)
        return float(kinds[0] == kinds[1]) if kinds else None
    if metric in ("abstention_precision", "abstention_f1"):
        return float(one.sample.prediction.declined) if one.sample.probe.is_question else None
    if metric.startswith("dist_"):
        return one.scores.get("answer_accuracy")
    return one.scores.get(metric.replace("geometric_mean@", "map@"))


def trace_evidence(sample: Sample, texts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Find what became of each piece of the evidence, on the finest level that the benchmark names.

    That is whether the bank has it (`stored`), its `rank` from 1 (None if it was not among the candidates), and its
    `place` there. `texts` are the texts of the history by id, for pieces that the reader did not get.
    """
    known = {unit: shown.text for shown in sample.prediction.shown for unit in shown.units} | dict(texts)
    pieces = []
    for unit in sample.probe.gold.evidence:
        hits = enumerate(sample.prediction.found, start=1)
        ranks = ((rank, OUTCOMES[hit.place]) for rank, hit in hits if unit in hit.units or unit == hit.session)
        rank, place = next(ranks, (None, "not found"))
        stored = unit in sample.prediction.stored
        pieces.append({"unit": unit, "text": known.get(unit, ""), "stored": stored, "rank": rank, "place": place})
    return pieces


def load_texts(benchmark: Benchmark, path: Path, history_id: str) -> dict[str, str]:
    """Load the texts of a history by the id of a memory, turn or session; raises `UnreadableFile` for broken files."""
    history = next((h for h in benchmark.load(path) if h.id == history_id), None)
    if history is None:
        return {}
    texts = {m.external_id: m.text for m in history.memories}
    for session in history.sessions:
        lines = [(turn, f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text) for turn in session.turns]
        texts |= {turn.external_id: line for turn, line in lines}
        texts[session.external_id] = "\n".join(line for _, line in lines)
    return texts


# --- the runs that were opened last

MAX_OPEN = 12
"""Runs whose reports are kept: the rows of a sweep and a few more."""


@dataclass
class OpenRun:
    """A run with its report, and its probes, which are read when they are first asked for."""

    run: Run
    report: Report

    @cached_property
    def scored(self) -> list[Scored]:
        """The probes with their scores."""
        return score(self.run.samples(), find(self.run.spec.benchmark).scoring, answered=self.run.has_reader)

    def find_sample(self, history: str, probe: str) -> Sample:
        """Find one probe; raises `MemoirError` if the run has no such probe."""
        for one in self.scored:
            if one.sample.key == (history, probe):
                return one.sample
        raise MemoirError(f"{self.run.name} has no probe {probe} any more. Open the run again.")


class OpenRuns:
    """The runs that were opened last: the reports of several, and the probes of one, which take most of the memory."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._report = lru_cache(MAX_OPEN)(lambda name, *state: report(runs.get(name)))
        self._open = lru_cache(1)(lambda name, *state: OpenRun(runs.get(name), self._report(name, *state)))
        self._load_texts = lru_cache(maxsize=1)(load_texts)

    def open(self, name: str) -> OpenRun:
        """Open the run of that name; raises `UnknownRun` if there is none, or it cannot be read."""
        run = self.runs.get(name)
        sizes = ((file, file.stat().st_size) for file in sorted(run.folder.glob("*.jsonl")))
        return self._open(run.name, *sizes, run.is_done)

    def texts(self, opened: OpenRun, history: str) -> Mapping[str, str]:
        """The texts of a history, by id; none if the benchmark's files have moved."""
        try:
            return self._load_texts(find(opened.report.benchmark), Path(opened.run.spec.data), history)
        except (MemoirError, OSError):
            return {}


def count_answers(run: Run) -> int:
    """Count the answered probes of a run without reading the answers."""
    path = run.folder / "predictions.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
