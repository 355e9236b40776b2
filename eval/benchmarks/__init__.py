"""Benchmarks: everything about one stands in its folder, and `BENCHMARKS` lists them with their scoring.

An adapter translates a benchmark's files into histories and probes and does nothing else: no metrics, no model, no
network. What is remembered comes from the same importer that reads a user's own file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from eval.benchmarks.beam import adapter as beam
from eval.benchmarks.dialsim import adapter as dialsim
from eval.benchmarks.dialsim.metrics import official_scores as dialsim_scores
from eval.benchmarks.locomo import adapter as locomo
from eval.benchmarks.locomo.metrics import official_scores as locomo_scores
from eval.benchmarks.longmemeval import adapter as longmemeval
from eval.benchmarks.longmemeval.metrics import official_scores as longmemeval_scores
from eval.benchmarks.madial import adapter as madial
from eval.benchmarks.madial.metrics import REPLY_METRICS, ndcg_madial
from eval.benchmarks.memoir import adapter as memoir
from eval.benchmarks.perltqa import adapter as perltqa
from eval.benchmarks.types import Benchmark, Preset, declare
from eval.metrics.evidence import Scoring
from eval.types import History
from memory.errors import MemoirError

_ALL = (
    declare("memoir", memoir),
    declare("conversations", memoir, title="Everyday conversations"),
    declare(
        "longmemeval", longmemeval, Scoring("sessions", (1, 3, 5, 10, 30, 50), official_ranking=longmemeval_scores)
    ),
    declare("locomo", locomo, Scoring("sessions", official_answer=locomo_scores), asks_as_authors=True),
    declare("perltqa", perltqa, Scoring("items", (1, 2, 3, 5, 10), summed_up_ndcg=ndcg_madial)),
    declare(
        "madial-bench",
        madial,
        Scoring("items", official_ndcg=ndcg_madial, summed_up_ndcg=ndcg_madial, text_metrics=REPLY_METRICS),
        asks_as_authors=True,
    ),
    declare("dialsim", dialsim, Scoring("sessions", official_answer=dialsim_scores)),
    declare("beam", beam),
)
BENCHMARKS: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}

PRESETS: Mapping[str, Preset] = {preset.name: preset for benchmark in _ALL for preset in benchmark.presets}
"""Every table that can be run, by name."""


def find(name: str) -> Benchmark:
    """Return the benchmark of that name, in any case, with or without hyphens; raises `MemoirError` for none."""
    asked = name.strip().casefold()
    for benchmark in BENCHMARKS.values():
        if asked in (benchmark.name, benchmark.name.replace("-", "")):
            return benchmark
    raise MemoirError(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")


def histories(
    benchmark: Benchmark, path: Path, *, limit: int | None = None, only: Sequence[str] = ()
) -> Iterator[History]:
    """Read the histories that have probes: the first `limit` probes, of the histories in `only` if any are named.

    Raises `MemoirError` if there is nothing to ask, and `UnreadableFile` if it is not a file of this benchmark.
    """
    left, is_empty = limit, True
    for history in benchmark.load(path):
        if only and history.id not in only:
            continue
        chosen = replace(history, probes=history.probes[:left])
        if not chosen.probes:
            continue
        is_empty = False
        yield chosen
        if left is not None and (left := left - len(chosen.probes)) == 0:
            return
    if is_empty:
        where = f" in {', '.join(only)}" if only else ""
        raise MemoirError(f"{path}, read as {benchmark.title}, has no question that can be asked{where}")
