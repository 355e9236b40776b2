"""Embed new memories and pack index segments, in the background.

A write is durable before it is embedded, and the rows without a vector are the queue: if the process is killed, the
next start continues where it stopped.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count

from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.bank.queries import indexing
from memory.embedding.embedder import Embedder
from memory.embedding.turns import BackgroundThread, background_turn
from memory.search.engine import packing, segments

BATCH = 256
"""Keys a transaction: enough to sort by length for the encoder, few enough to be found within seconds."""

NEWEST = 4
"""Keys that whoever asks embeds at once, newest first: mostly all that was told just before."""

PACK_EVERY = 32
"""Batches embedded between two attempts to pack."""

Stopped = Callable[[], bool]
"""Whether to stop."""


def embed_pending(
    bank: Bank,
    embedder: Embedder,
    persona_id: int | None = None,
    limit: int = BATCH,
    stopped: Stopped = lambda: False,
    turn: AbstractContextManager[None] | None = None,
) -> int:
    """Embed up to `limit` keys (of one persona, or of all) that have no vector yet, newest first; returns how many.

    They are embedded in a `turn`, that of the background by default.
    """
    newest = indexing.newest_keys_without_vector
    with bank.reading() as db:
        gaps = packing.gaps(db, embedder.model, persona_id)
        rows = [row for g in gaps for row in newest(db, embedder.model, g.persona_id, g.after, g.before, limit)]
    pending = {key_hash: key for _, key_hash, key in sorted(rows, reverse=True)[:limit]}
    if not pending:
        return 0
    with turn or background_turn(stopped):
        if stopped():
            return 0
        vectors = embedder.encode_document(list(pending.values()))
    with bank.writing() as db:
        blobs = {key_hash: vector.tobytes() for key_hash, vector in zip(pending, vectors, strict=True)}
        indexing.store_vectors(db, embedder.model, blobs)
    return len(pending)


def embed_all(bank: Bank, embedder: Embedder, persona_id: int | None = None, stopped: Stopped = lambda: False) -> int:
    """Embed and pack all pending memories (of one persona, or of all); returns how many keys were embedded."""
    done = 0
    for batch in count(1):
        new = 0 if stopped() else embed_pending(bank, embedder, persona_id, stopped=stopped)
        done += new
        if stopped():
            break
        if not new or batch % PACK_EVERY == 0:
            packing.pack(bank, embedder.model, embedder.dimensions, persona_id)
        if not new:
            break
    return done


def count_pending(bank: Bank, model: str, persona_id: int | None = None) -> int:
    """How many keys (of one persona, or of all) have no vector of this model yet."""
    with bank.reading() as db:
        gaps = packing.gaps(db, model, persona_id)
        hashes = (indexing.hashes_without_vector(db, model, gap.persona_id, gap.after, gap.before) for gap in gaps)
        return len(set().union(*hashes))


def check_segments(db: Database, model: str, dimensions: int) -> Iterator[str]:
    """A message for each packed segment that differs from the rows it was made from."""
    for persona_id in [row["id"] for row in db.table("personas").rows_where(select="id")]:
        for packed in packing.list_packed(db, persona_id, model):
            rows = list(segments.read_rows(db, persona_id, model, dimensions, packed.first - 1, packed.last + 1))
            segment = packing.load(db, packed)
            if segment is None or len(rows) != 1 or not segments.agree(segment, rows[0]):
                yield f"segment {packed.number}: not as memories {packed.first} to {packed.last}; rebuild mends it"


class Indexer(BackgroundThread):
    """A background thread that embeds and packs whenever it is woken, until nothing is pending."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        super().__init__("indexer", self._embed_all)
        self.bank = bank
        self.embedder = embedder

    def use(self, embedder: Embedder) -> None:
        """Embed with another model from now on, and first of all what has no vector of it."""
        self.embedder = embedder
        self.wake()

    def _embed_all(self) -> None:
        embedder = self.embedder
        embed_all(self.bank, embedder, stopped=lambda: self.ending.is_set() or self.embedder is not embedder)
