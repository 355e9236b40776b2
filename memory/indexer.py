"""Embeds what the bank holds without a vector, in the background, so that a write is durable before it is embedded.

The rows are the queue: killed at any point, the next start goes on where this one stopped.
"""

from __future__ import annotations

import json
import threading

from memory.bank import Bank
from memory.embedder import Embedder

BATCH = 256
"""Keys a transaction: enough to sort by length for the encoder, few enough to be found within seconds."""

_MISSING = """
FROM memories m WHERE NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model = ? AND v.key_hash = m.key_hash)
"""


def embed_pending(bank: Bank, embedder: Embedder, persona_id: int | None = None, limit: int = BATCH) -> int:
    """Embed up to `limit` keys (of one persona, or of all) that have no vector yet, newest first; returns how many."""
    with bank.reading() as db:
        pending = db.conn.execute(
            f"SELECT m.key_hash, min(m.key) {_MISSING} AND m.persona_id = coalesce(?, m.persona_id) "
            "GROUP BY m.key_hash ORDER BY max(m.id) DESC LIMIT ?",
            (embedder.model, persona_id, limit),
        ).fetchall()
    if not pending:
        return 0
    vectors = embedder.encode([key for _, key in pending])
    with bank.writing() as db:
        # Only keys that still exist: what was forgotten meanwhile must not come back as a vector.
        asked = json.dumps([key_hash for key_hash, _ in pending])
        kept = "SELECT DISTINCT key_hash FROM memories WHERE key_hash IN (SELECT value FROM json_each(?))"
        held = {key_hash for (key_hash,) in db.conn.execute(kept, (asked,))}
        db.table("vectors").insert_all(
            (
                {"model": embedder.model, "key_hash": key_hash, "vector": vector.tobytes()}
                for (key_hash, _), vector in zip(pending, vectors, strict=True)
                if key_hash in held
            ),
            ignore=True,
        )
    return len(pending)


def embed_all(bank: Bank, embedder: Embedder, persona_id: int | None = None) -> int:
    """Embed whatever (of one persona, or of all) has no vector yet; returns how many keys that were."""
    done = 0
    while batch := embed_pending(bank, embedder, persona_id):
        done += batch
    return done


def waiting(bank: Bank, model: str) -> int:
    """How many keys have no vector of this model yet."""
    with bank.reading() as db:
        return int(db.conn.execute(f"SELECT count(DISTINCT m.key_hash) {_MISSING}", (model,)).fetchone()[0])


class Indexer:
    """A thread that embeds whenever it is woken, until nothing waits."""

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

    def stop(self) -> None:
        """End the thread after the batch in hand."""
        self._stop.set()
        self._work.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._work.wait()
            self._work.clear()
            try:
                while not self._stop.is_set() and embed_pending(self.bank, self.embedder):
                    pass
                self._fault = None
            except Exception as fault:  # a thread has no caller: the fault is shown by `fault`
                self._fault = fault
            if not self._work.is_set():
                self._idle.set()

    @property
    def fault(self) -> Exception | None:
        """What stopped the last attempt, if anything did; the rows are still there to be embedded."""
        return self._fault
