"""A stretch of a persona's memories as arrays: what search looks at of each, its vector, and its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.embedder import Vectors
from memory.lexical import KNOWN_FROM
from memory.postings import Postings, code
from memory.types import SEMANTIC, STORES

_STORE = "CASE m.store " + " ".join(f"WHEN '{store}' THEN {n}" for n, store in enumerate(STORES)) + " END"
_IS_FACT = "m.store IN ({})".format(", ".join(f"'{store}'" for store in SEMANTIC))


def _read_as(expression: str, kind: type[np.generic]) -> dict[str, Any]:
    return {"sql": expression, "kind": kind}


@dataclass(frozen=True, slots=True)
class Columns:
    """What search looks at of n memories, ordered by id; each field says how it is read from a row `m` of `memories`.

    Times are seconds since 1970. `said` is when it came to be known (-inf if unknown). `begun` and `ended` bound the
    time it is of (nan if unknown): of an event, when it happened; of talk, when it was said; of a fact, as long as it
    holds (inf; until when it held is what changes of a memory, and is kept by `memory.index.Index`).
    `sessions` is 0 for what no session said. A word is read as its `code`, and compared only.
    """

    ids: NDArray[np.int64] = field(metadata=_read_as("m.id", np.int64))
    stores: NDArray[np.int8] = field(metadata=_read_as(_STORE, np.int8))
    sessions: NDArray[np.int64] = field(metadata=_read_as("coalesce(m.session_id, 0)", np.int64))
    said: NDArray[np.float64] = field(metadata=_read_as(f"coalesce(unixepoch({KNOWN_FROM}), -9e999)", np.float64))
    begun: NDArray[np.float64] = field(
        metadata=_read_as("unixepoch(coalesce(m.event_start, m.valid_from, m.said_at))", np.float64)
    )
    ended: NDArray[np.float64] = field(
        metadata=_read_as(
            f"CASE WHEN {_IS_FACT} THEN 9e999 ELSE unixepoch(coalesce(m.event_end, m.said_at)) END", np.float64
        )
    )
    speakers: NDArray[np.uint64] = field(metadata=_read_as("m.speaker", np.uint64))
    emotions: NDArray[np.uint64] = field(metadata=_read_as("m.emotion", np.uint64))
    scenes: NDArray[np.uint64] = field(metadata=_read_as("m.scene", np.uint64))

    @classmethod
    def of(cls, read: Sequence[Sequence[Any]]) -> Columns:
        """From one sequence of values a field."""
        return cls(*(_array(values, f.metadata["kind"]) for values, f in zip(read, fields(cls), strict=True)))

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """One after the other."""
        return cls(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(cls)))

    def at(self, rows: NDArray[np.intp] | slice) -> Columns:
        """Of these rows only."""
        return Columns(*(getattr(self, f.name)[rows] for f in fields(self)))


def _array(values: Sequence[Any], kind: type[np.generic]) -> NDArray[Any]:
    return np.array([code(word) for word in values] if kind is np.uint64 else values, dtype=kind)


@dataclass(frozen=True, slots=True)
class Segment:
    """Memories of one persona; `vectors` is (n, d), zeros where `embedded` is false."""

    columns: Columns
    postings: Postings
    embedded: NDArray[np.bool_]
    vectors: Vectors

    def __len__(self) -> int:
        return len(self.columns.ids)


def read(db: Database, persona_id: int, model: str, dimensions: int, most: int) -> list[Segment]:
    """All memories of a persona, in segments of at most so many rows."""
    columns = ", ".join(f.metadata["sql"] for f in fields(Columns))
    found = db.conn.execute(
        f"SELECT {columns}, m.terms, v.vector FROM memories m "
        "LEFT JOIN vectors v ON v.key_hash = m.key_hash AND v.model = ? WHERE m.persona_id = ? ORDER BY m.id",
        (model, persona_id),
    )
    segments = []
    while rows := found.fetchmany(most):
        *values, terms, blobs = zip(*rows, strict=True)
        embedded = np.array([blob is not None for blob in blobs])
        vectors = np.zeros((len(rows), dimensions), dtype=np.float32)
        vectors[embedded] = np.frombuffer(b"".join(filter(None, blobs)), dtype=np.float32).reshape(-1, dimensions)
        segments.append(Segment(Columns.of(values), Postings.of(terms), embedded, vectors))
    return segments
