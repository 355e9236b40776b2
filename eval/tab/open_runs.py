"""Runs that are being looked at: their answers and their report, read once and kept while the files stay the same."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from eval import benchmarks
from eval.benchmarks.types import Benchmark
from eval.reporting.report import Report, report
from eval.runs.folder import Runs
from eval.runs.run import Run
from eval.tab.drill_down import words
from eval.types import Sample
from memory.errors import MemoirError

KEPT = 12
"""Runs whose figures are kept at hand: a sweep's rows, and a few beside."""

Key = tuple[str, int, int, bool]


class Opened:
    """A run with what was read of it; each part is read when it is first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @property
    def benchmark(self) -> Benchmark:
        """What it is a run of."""
        return benchmarks.find(self.run.spec.benchmark)

    @property
    def answered(self) -> bool:
        """Whether there was a reader, so that there are answers to judge."""
        return self.run.spec.settings.get("reader") != "none"

    @cached_property
    def samples(self) -> list[Sample]:
        """Its probes with their predictions."""
        return self.run.samples()

    @cached_property
    def report(self) -> Report:
        """Its figures."""
        return report(self.run)

    def put_down(self) -> None:
        """Let go of the probes, which can be hundreds of megabytes; the figures stay."""
        self.__dict__.pop("samples", None)

    def sample(self, history: str, probe: str) -> Sample:
        """One probe of it.

        Raises:
            MemoirError: it has none of that name.
        """
        for sample in self.samples:
            if (sample.prediction.history_id, sample.probe.id) == (history, probe):
                return sample
        raise MemoirError(f"{self.run.name} has no probe {probe} any more; open the run again.")


class Shelf:
    """The runs that were opened last."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self._held: OrderedDict[Key, Opened] = OrderedDict()
        self._words: tuple[tuple[str, str], Mapping[str, str]] = (("", ""), {})

    def open(self, name: str) -> Opened:
        """The run of that name.

        Raises:
            UnknownRun: there is none, or it cannot be read.
        """
        run = self.runs.get(name)
        key = (run.name, _size(run, "predictions.jsonl"), _size(run, "verdicts.jsonl"), run.is_done)
        opened = self._held.setdefault(key, Opened(run))
        self._held.move_to_end(key)
        while len(self._held) > KEPT:
            self._held.popitem(last=False)
        for other in self._held.values():
            if other is not opened:
                other.put_down()
        return opened

    def words(self, opened: Opened, history: str) -> Mapping[str, str]:
        """What was said in a history, by id; nothing where the benchmark's files are not there any more."""
        data = opened.run.spec.data
        if self._words[0] != (data, history):
            try:
                self._words = ((data, history), words(opened.benchmark, Path(data), history))
            except (MemoirError, OSError):
                return {}
        return self._words[1]


def answers(run: Run) -> int:
    """How many probes of a run are answered, without reading the answers."""
    path = run.folder / "predictions.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _size(run: Run, name: str) -> int:
    path = run.folder / name
    return path.stat().st_size if path.exists() else 0
