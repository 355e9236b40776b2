"""Banks of made-up talk of any size, made once for each run or kept in a folder."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from eval.speed.synthetic import A_SESSION, Life, fill
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.indexer import embed_all
from memory.types import PersonaDraft, SessionDraft

BATCH = 100
"""Sessions a transaction, as a large file is imported."""

Watch = Callable[[str, int, int], None]
"""Told what goes on, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Size:
    """How many personas know how many memories each."""

    personas: int
    memories: int

    def __str__(self) -> str:
        return f"{self.memories:,}" if self.personas == 1 else f"{self.personas:,} x {self.memories:,}"

    @property
    def total(self) -> int:
        """Memories in all; sessions are whole, so that it may be a few more than asked for."""
        return self.personas * -(-self.memories // A_SESSION) * A_SESSION


@dataclass(frozen=True, slots=True)
class World:
    """A bank that was made: its personas by number, the seconds that storing and packing took, its size on disk."""

    path: Path
    personas: tuple[int, ...]
    import_s: float
    pack_s: float
    disk_mib: float


def make(folder: Path, size: Size, life: Life, texts: Sequence[str], embedder: Embedder, watch: Watch) -> World:
    """The bank of that size in the folder; one that was made before is taken as it is.

    `texts` are those that are given their own vectors.
    """
    home = folder / f"{size.personas}x{size.memories}-seed-{life.seed}"
    whole = home / "world.json"
    if whole.exists():
        kept = json.loads(whole.read_text("utf-8"))
        return World(**{**kept, "path": home / "bank.db", "personas": tuple(kept["personas"])})
    shutil.rmtree(home, ignore_errors=True)  # one that was broken off
    home.mkdir(parents=True)
    bank = Bank(home / "bank.db")
    personas, import_s = _told(bank, size, life, watch)
    fill(bank, embedder, texts, partial(watch, f"{size}: vectors"))
    started = time.perf_counter()
    embed_all(bank, embedder)  # all is embedded; what is left to it is to pack
    pack_s = time.perf_counter() - started
    disk = sum(file.stat().st_size for file in home.glob("bank.db*")) / 2**20
    world = World(bank.path, personas, import_s, pack_s, disk)
    whole.write_text(json.dumps(asdict(world), default=str), "utf-8")  # last: what is without it was broken off
    return world


def sessions_of(size: Size, persona: int) -> range:
    """The numbers of the sessions that a persona has part in: all personas share one life, in turn."""
    return range(persona, persona + size.personas * -(-size.memories // A_SESSION), size.personas)


def _told(bank: Bank, size: Size, life: Life, watch: Watch) -> tuple[tuple[int, ...], float]:
    """Tell each persona its sessions; their numbers, and the seconds that the bank took."""
    personas, took, done = [], 0.0, 0
    for place in range(size.personas):
        persona = bank.create_persona(PersonaDraft(f"Bench {place}")).id
        personas.append(persona)
        for sessions in _batches(life.sessions(size.memories, first=place, every=size.personas)):
            started = time.perf_counter()
            stored = bank.remember(persona, sessions)
            took += time.perf_counter() - started
            done += stored.memories
            watch(f"{size}: import", done, size.total)
    return tuple(personas), took


def _batches(sessions: Iterator[SessionDraft]) -> Iterator[list[SessionDraft]]:
    while batch := list(islice(sessions, BATCH)):
        yield batch
