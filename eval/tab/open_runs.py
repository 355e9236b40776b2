"""The runs that were opened last: answers and reports are read once and kept while the files stay the same."""

from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path

from eval import benchmarks
from eval.benchmarks.types import Benchmark
from eval.metrics.scores import Scored, score
from eval.reporting.report import Report, report
from eval.runs.run import Run, Runs
from eval.tab.drill_down import load_texts
from eval.types import Sample
from memory.errors import MemoirError

MAX_OPEN = 12
"""Runs that are kept: the rows of a sweep and a few more."""


class OpenRun:
    """A run with what was read of it; each part is read when it is first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def scored(self) -> list[Scored]:
        """The probes with their scores."""
        return score(self.samples, self.benchmark.scoring, answered=self.run.has_reader)

    @property
    def benchmark(self) -> Benchmark:
        """The benchmark of the run."""
        return benchmarks.find(self.run.spec.benchmark)

    @cached_property
    def samples(self) -> list[Sample]:
        """The probes with their predictions."""
        return self.run.samples()

    @cached_property
    def report(self) -> Report:
        """The metrics."""
        return report(self.run)

    def find_sample(self, history: str, probe: str) -> Sample:
        """Find one probe; raises `MemoirError` if the run has no such probe."""
        for sample in self.samples:
            if (sample.prediction.history_id, sample.probe.id) == (history, probe):
                return sample
        raise MemoirError(f"{self.run.name} has no probe {probe} any more. Open the run again.")


class OpenRuns:
    """The runs that were opened last."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._open = lru_cache(MAX_OPEN)(lambda name, *state: OpenRun(runs.get(name)))
        self._last: OpenRun | None = None
        self._load_texts = lru_cache(maxsize=1)(load_texts)

    def open(self, name: str) -> OpenRun:
        """Open the run of that name; raises `UnknownRun` if there is none, or it cannot be read."""
        run = self.runs.get(name)
        opened = self._open(run.name, _size(run, "predictions.jsonl"), _size(run, "verdicts.jsonl"), run.is_done)
        if self._last is not None and self._last is not opened:
            # The probes can take hundreds of megabytes; the report is kept.
            vars(self._last).pop("samples", None)
            vars(self._last).pop("scored", None)
        self._last = opened
        return opened

    def texts(self, opened: OpenRun, history: str) -> Mapping[str, str]:
        """The texts of a history, by id; none if the benchmark's files have moved."""
        try:
            return self._load_texts(opened.benchmark, Path(opened.run.spec.data), history)
        except (MemoirError, OSError):
            return {}


def count_answers(run: Run) -> int:
    """Count the answered probes of a run without reading the answers."""
    path = run.folder / "predictions.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _size(run: Run, name: str) -> int:
    path = run.folder / name
    return path.stat().st_size if path.exists() else 0
