"""Other people's benchmarks, and Memoir's own: one adapter a benchmark, each with one `load`.

An adapter translates files into histories and probes and does nothing else: no metrics, no model, no network. What is
remembered comes from the same importer that a user's own file goes through; what is right is read beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from eval.benchmarks.dialsim import adapter as dialsim
from eval.benchmarks.locomo import adapter as locomo
from eval.benchmarks.longmemeval import adapter as longmemeval
from eval.benchmarks.madial import adapter as madial
from eval.benchmarks.memoir import adapter as memoir
from eval.benchmarks.perltqa import adapter as perltqa
from eval.metrics.retrieval import ndcg_longmemeval, ndcg_madial
from eval.types import History
from memory.errors import MemoirError

OfficialNDCG = Callable[[Sequence[str], Set[str], int], float]


class NoProbes(MemoirError):
    """A file holds nothing to ask; running it would measure nothing."""


class UnknownBenchmark(MemoirError):
    """No benchmark of that name."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a benchmark is called, how it is read, and how its protocol ranks.

    `level` is what `ndcg@k`, `map@k` and `mrr@k` rank: sessions, or memories that are retrieved as a whole. `ks` are
    the cut-offs it reports; `official_ndcg` its own DCG where that differs from the standard one.
    """

    name: str
    title: str
    about: str
    load: Callable[[Path], Iterator[History]]
    level: Literal["sessions", "items"]
    ks: tuple[int, ...] = (1, 3, 5, 10)
    official_ndcg: OfficialNDCG | None = None


BENCHMARKS: dict[str, Benchmark] = {
    b.name: b
    for b in (
        Benchmark(
            memoir.NAME,
            memoir.TITLE,
            "Three invented lives of a year each, written for Memoir; comes with the program.",
            memoir.load,
            "sessions",
        ),
        Benchmark(
            longmemeval.NAME,
            longmemeval.TITLE,
            "500 questions, each with a chat history of its own (Wu et al., ICLR 2025).",
            longmemeval.load,
            "sessions",
            (1, 3, 5, 10, 30, 50),
            ndcg_longmemeval,
        ),
        Benchmark(
            locomo.NAME,
            locomo.TITLE,
            "Ten long conversations of two friends, 1,986 questions (Maharana et al., ACL 2024).",
            locomo.load,
            "sessions",
        ),
        Benchmark(
            perltqa.NAME,
            perltqa.TITLE,
            "Profiles, relations, events and dialogues of 141 characters (Du et al., SIGHAN 2024).",
            perltqa.load,
            "items",
            (1, 2, 3, 5, 10),
        ),
        Benchmark(
            madial.NAME,
            madial.TITLE,
            "160 dialogues in which a memory is to be brought up unasked (He et al., NAACL 2025).",
            madial.load,
            "items",
            (1, 3, 5, 10),
            ndcg_madial,
        ),
        Benchmark(
            dialsim.NAME,
            dialsim.TITLE,
            "Scripts of TV shows, asked about while they go on (Kim et al., 2024).",
            dialsim.load,
            "sessions",
        ),
    )
}


def find(name: str) -> Benchmark:
    """The benchmark of that name.

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
    """The histories of a file that have something to ask: the first `limit` probes, of the histories named if any.

    Raises:
        NoProbes: the file, or what was chosen of it, holds nothing to ask.
        UnreadableFile: it is no file of this benchmark.
    """
    left = limit
    any_at_all = False
    for history in benchmark.load(path):
        if only and history.id not in only:
            continue
        chosen = history if left is None else replace(history, probes=history.probes[:left])
        if not chosen.probes:
            continue
        any_at_all = True
        left = None if left is None else left - len(chosen.probes)
        yield chosen
        if left == 0:
            return
    if not any_at_all:
        chosen_of = f" in {', '.join(only)}" if only else ""
        raise NoProbes(f"{path}, read as {benchmark.title}, holds no question that can be asked{chosen_of}")


def count_probes(found: Iterable[History]) -> int:
    """How many probes some histories hold."""
    return sum(len(history.probes) for history in found)
