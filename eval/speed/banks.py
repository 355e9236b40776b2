"""Make banks of synthetic conversations of any size, or reuse those in a folder."""

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from eval.speed.synthetic import A_SESSION, Life, add_vectors
from eval.types import Watch
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.indexer import embed_all
from memory.types import PersonaDraft

BATCH = 100
"""Sessions in one transaction, as when a large file is imported."""


@dataclass(frozen=True, slots=True)
class Size:
    """A number of personas, and the memories of each."""

    personas: int
    memories: int

    def __str__(self) -> str:
        return f"{self.memories:,}" if self.personas == 1 else f"{self.personas:,} x {self.memories:,}"

    @property
    def total(self) -> int:
        """Memories in all; since sessions are whole, a few more than requested."""
        return self.personas * -(-self.memories // A_SESSION) * A_SESSION


@dataclass(frozen=True, slots=True)
class BankOfSize:
    """A bank that was made: the ids of its personas, the seconds of storing and packing, its size on disk."""

    path: Path
    personas: tuple[int, ...]
    import_s: float
    pack_s: float
    disk_mib: float


def make(folder: Path, size: Size, life: Life, texts: Sequence[str], embedder: Embedder, watch: Watch) -> BankOfSize:
    """Make the bank of a size in the folder, or reuse it if it was made before.

    `texts` are those that get their own vectors.
    """
    home = folder / f"{size.personas}x{size.memories}-seed-{life.seed}"
    record = home / "world.json"
    if record.exists():
        kept = json.loads(record.read_text("utf-8"))
        return BankOfSize(**{**kept, "path": home / "bank.db", "personas": tuple(kept["personas"])})
    shutil.rmtree(home, ignore_errors=True)  # an unfinished one
    home.mkdir(parents=True)
    bank = Bank(home / "bank.db")
    personas, import_s = _store_sessions(bank, size, life, watch)
    add_vectors(bank, embedder, texts, partial(watch, f"{size}: vectors"))
    started = time.perf_counter()
    embed_all(bank, embedder)  # all is embedded already; what is left is packing
    pack_s = time.perf_counter() - started
    disk = sum(file.stat().st_size for file in home.glob("bank.db*")) / 2**20
    made = BankOfSize(bank.path, personas, import_s, pack_s, disk)
    record.write_text(json.dumps(asdict(made), default=str), "utf-8")  # written last: a bank without it is unfinished
    return made


def sessions_of(size: Size, persona: int) -> range:
    """The numbers of a persona's sessions: all personas share one life, in turns."""
    return range(persona, persona + size.personas * -(-size.memories // A_SESSION), size.personas)


def _store_sessions(bank: Bank, size: Size, life: Life, watch: Watch) -> tuple[tuple[int, ...], float]:
    """Store each persona's sessions; return the personas' ids and the seconds it took."""
    personas, took, done = [], 0.0, 0
    for place in range(size.personas):
        persona = bank.create_persona(PersonaDraft(f"Bench {place}")).id
        personas.append(persona)
        coming = life.sessions(size.memories, first=place, every=size.personas)
        while sessions := list(islice(coming, BATCH)):
            started = time.perf_counter()
            stored = bank.remember(persona, sessions)
            took += time.perf_counter() - started
            done += stored.memories
            watch(f"{size}: import", done, size.total)
    return tuple(personas), took
