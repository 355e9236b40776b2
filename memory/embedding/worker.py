"""Embeds and packs, in the background, what the bank holds without a vector: a write is durable before it is embedded.

The rows are the queue: killed at any point, the next start goes on where this one stopped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from itertools import count

from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.engine import packing

BATCH = 256
"""Keys a transaction: enough to sort by length for the encoder, few enough to be found within seconds."""

PACK_EVERY = 32
"""Batches between two looks at what can be packed, while many are embedded."""


def embed_pending(bank: Bank, embedder: Embedder, persona_id: int | None = None, limit: int = BATCH) -> int:
    """Embed up to `limit` keys (of one persona, or of all) that have no vector yet, newest first; returns how many."""
    with bank.reading() as db:
        newest = f"SELECT m.id, m.key_hash, m.key {packing.UNEMBEDDED} ORDER BY m.id DESC LIMIT ?"
        found = [
            row for values in _gaps(db, embedder.model, persona_id) for row in db.conn.execute(newest, (*values, limit))
        ]
    pending = {key_hash: key for _, key_hash, key in sorted(found, reverse=True)[:limit]}
    if not pending:
        return 0
    vectors = embedder.encode(list(pending.values()))
    with bank.writing() as db:
        # Only keys that still exist: what was forgotten meanwhile must not come back as a vector.
        asked = json.dumps(list(pending))
        kept = "SELECT DISTINCT key_hash FROM memories WHERE key_hash IN (SELECT value FROM json_each(?))"
        held = {key_hash for (key_hash,) in db.conn.execute(kept, (asked,))}
        db.conn.executemany(
            "INSERT OR IGNORE INTO vectors (model, key_hash, vector) VALUES (?, ?, ?)",
            [
                (embedder.model, key_hash, vector.tobytes())
                for key_hash, vector in zip(pending, vectors, strict=True)
                if key_hash in held
            ],
        )
    return len(pending)


def embed_all(
    bank: Bank, embedder: Embedder, persona_id: int | None = None, stopped: Callable[[], bool] = lambda: False
) -> int:
    """Embed and pack whatever (of one persona, or of all) waits for it; returns how many keys were embedded."""
    done = 0
    for batch in count(1):
        new = 0 if stopped() else embed_pending(bank, embedder, persona_id)
        done += new
        if stopped():
            break
        if not new or batch % PACK_EVERY == 0:
            packing.pack(bank, embedder.model, embedder.dimensions, persona_id)
        if not new:
            break
    return done


def waiting(bank: Bank, model: str) -> int:
    """How many keys have no vector of this model yet."""
    with bank.reading() as db:
        found = (
            db.conn.execute(f"SELECT m.key_hash {packing.UNEMBEDDED}", values) for values in _gaps(db, model, None)
        )
        return len({key_hash for rows in found for (key_hash,) in rows})


def _gaps(db: Database, model: str, persona_id: int | None) -> list[tuple[int, int, int, str]]:
    """Where there may be memories without a vector, as `packing.UNEMBEDDED` asks."""
    return [(gap.persona_id, gap.after, gap.before, model) for gap in packing.gaps(db, model, persona_id)]


class Indexer:
    """A thread that embeds and packs whenever it is woken, until nothing waits."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        self.bank = bank
        self.embedder = embedder
        self._work = threading.Event()
        self._idle = threading.Event()
        self._stop = threading.Event()
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="indexer", daemon=True)

    def start(self) -> None:
        """Start the thread; it loads the encoder and does what is left from last time."""
        self._work.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that something was written."""
        self._idle.clear()
        self._work.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing waits for a vector; False if the time ran out first."""
        return self._idle.wait(timeout)

    def end(self) -> None:
        """Have the thread end after the batch in hand."""
        self._stop.set()
        self._work.set()

    def stop(self) -> None:
        """End the thread after the batch in hand, and wait for that."""
        self.end()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._work.wait()
            self._work.clear()
            try:
                embed_all(self.bank, self.embedder, stopped=self._stop.is_set)
                self._fault = None
            except Exception as fault:  # a thread has no caller: the fault is shown by `fault`
                self._fault = fault
            if not self._work.is_set():
                self._idle.set()

    @property
    def fault(self) -> Exception | None:
        """What stopped the last attempt, if anything did; the rows are still there to be embedded."""
        return self._fault
