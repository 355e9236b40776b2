"""Split the questions of a benchmark into a half that tunes and a half that reports, and draw samples of them.

A history is in the half that the first bit of a digest of its name says: the same one on every machine and in every
portion. Where that puts all histories of a file into one half (a file may hold only one), probes are split by the
session of their evidence instead. Our own conversations are split by folder.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from typing import Literal

from eval.types import History, Probe

Half = Literal["tuning", "reporting"]
HALVES: tuple[Half, ...] = ("tuning", "reporting")

FOLDERS: dict[str, dict[Half, str]] = {"conversations": {"tuning": "development", "reporting": "reported"}}
"""The benchmarks with a folder for each half, which are neighbours."""


def half_of(*names: str) -> Half:
    """The half of what has these names: the benchmark's, the history's and, in a split by probes, the session's."""
    return HALVES[sha256("/".join(names).encode()).digest()[0] >> 7]


def in_half(benchmark: str, histories: Iterator[History], half: Half) -> Iterator[History]:
    """The histories of one half; where one half has none, all of them with the probes of that half."""
    if benchmark in FOLDERS:
        yield from histories
        return
    first: list[History] = []  # read until both halves have one
    for history in histories:
        first.append(history)
        if half_of(benchmark, history.id) != half_of(benchmark, first[0].id):
            yield from (h for h in chain(first, histories) if half_of(benchmark, h.id) == half)
            return
    for history in first:
        chosen = (p for p in history.probes if half_of(benchmark, history.id, evidence_session(p)) == half)
        yield replace(history, probes=tuple(chosen))


def in_sample(read: Callable[[], Iterator[History]], size: int) -> Iterator[History]:
    """The histories with `size` of their probes, or all of them if there are fewer; `read` is called twice.

    Every so many-th is taken of the probes in the order of kind, history and a digest, so that each kind and each
    history has about the share that it has in the whole.
    """
    order = sorted((p.ability, h.id, sha256(p.id.encode()).digest(), p.id) for h in read() for p in h.probes)
    count = min(size, len(order))
    chosen = {order[(2 * n + 1) * len(order) // (2 * count)][1::2] for n in range(count)}
    for history in read():
        yield replace(history, probes=tuple(p for p in history.probes if (history.id, p.id) in chosen))


def evidence_session(probe: Probe) -> str:
    """The first session of a probe's evidence, a memory of it if no session said it, or the probe if it has none."""
    gold = probe.gold
    return min(gold.sessions or gold.items or gold.turns, default=probe.id)
