"""Benchmarks: everything about one stands in its folder, and `BENCHMARKS` lists them.

An adapter translates a benchmark's files into histories and probes and does nothing else: no metrics, no model, no
network. What is remembered comes from the same importer that reads a user's own file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks import dialsim, locomo, longmemeval, madial, memoir, perltqa
from memory.errors import MemoirError

if TYPE_CHECKING:
    from eval.benchmarks.types import Benchmark, Preset
    from eval.types import History

BENCHMARKS: Mapping[str, Benchmark] = {
    "memoir": memoir.BENCHMARK,
    "longmemeval": longmemeval.BENCHMARK,
    "locomo": locomo.BENCHMARK,
    "perltqa": perltqa.BENCHMARK,
    "madial-bench": madial.BENCHMARK,
    "dialsim": dialsim.BENCHMARK,
}

PRESETS: Mapping[str, Preset] = {
    preset.name: preset for benchmark in BENCHMARKS.values() for preset in benchmark.presets
}
"""Every table that can be run, by name."""


class NoProbes(MemoirError):
    """A file, or the chosen part of it, has no question that can be asked."""


class UnknownBenchmark(MemoirError):
    """No benchmark of that name."""


def find(name: str) -> Benchmark:
    """Return the benchmark of that name, in any case and with or without hyphens.

    Raises:
        UnknownBenchmark: there is none.
    """
    asked = name.strip().casefold()
    for benchmark in BENCHMARKS.values():
        if asked in (benchmark.name, benchmark.name.replace("-", "")):
            return benchmark
    raise UnknownBenchmark(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")


def histories(
    benchmark: Benchmark, path: Path, *, limit: int | None = None, only: Sequence[str] = ()
) -> Iterator[History]:
    """Read the histories that have probes: the first `limit` probes, of the histories in `only` if any are named.

    Raises:
        NoProbes: the file, or the chosen part of it, has nothing to ask.
        UnreadableFile: it is not a file of this benchmark.
    """
    left = limit
    is_empty = True
    for history in benchmark.load(path):
        if only and history.id not in only:
            continue
        chosen = history if left is None else replace(history, probes=history.probes[:left])
        if not chosen.probes:
            continue
        is_empty = False
        left = None if left is None else left - len(chosen.probes)
        yield chosen
        if left == 0:
            return
    if is_empty:
        where = f" in {', '.join(only)}" if only else ""
        raise NoProbes(f"{path}, read as {benchmark.title}, has no question that can be asked{where}")


def count_probes(histories: Iterable[History]) -> int:
    """Count the probes of some histories."""
    return sum(len(history.probes) for history in histories)
