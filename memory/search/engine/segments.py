"""A stretch of a persona's memories as arrays: what search looks at of each, its vector, and its words."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.embedding.embedder import Vectors
from memory.search.engine.postings import Postings, code
from memory.search.engine.vectors import Dense
from memory.types import SEMANTIC, STORES

MOST_ROWS = 1 << 15
"""Rows of a segment at most. What one memory forgotten costs the next question is reading so many rows anew; what each
segment costs every question is some fifty calls."""

ROUNDED = 0.01
"""How far a coordinate of a packed vector may be from what it was: half a step of a byte is less."""

_KNOWN_SINCE = "coalesce(m.said_at, m.valid_from, m.event_start)"
"""When it was said or, if that is unknown, since when it is valid or when it happened."""

_STORE = "CASE m.store " + " ".join(f"WHEN '{store}' THEN {n}" for n, store in enumerate(STORES)) + " END"
_IS_OWN = (
    "coalesce((SELECT t.role = 'user' FROM sources o JOIN turns t ON t.id = o.turn_id "
    "WHERE o.memory_id = m.id ORDER BY t.id LIMIT 1), 0)"
)
_IS_FACT = "m.store IN ({})".format(", ".join(f"'{store}'" for store in SEMANTIC))


def _read_as(expression: str, kind: type[np.generic]) -> dict[str, Any]:
    return {"sql": expression, "kind": kind}


@dataclass(frozen=True, slots=True)
class Columns:
    """What search looks at of n memories, ordered by id; each field says how it is read from a row `m` of `memories`.

    Times are seconds since 1970. `said` is when it came to be known (-inf if unknown). `begun` and `ended` bound the
    time it is of (nan if unknown): of an event, when it happened; of talk, when it was said; of a fact, as long as it
    holds (inf; until when it held is what changes of a memory, and is kept by `memory.search.engine.index.Index`).
    `sessions` is 0 for what no session said; `own` is 1 for what the user said. A word is read as its `code`, and only
    compared.
    """

    ids: NDArray[np.int64] = field(metadata=_read_as("m.id", np.int64))
    stores: NDArray[np.int8] = field(metadata=_read_as(_STORE, np.int8))
    sessions: NDArray[np.int64] = field(metadata=_read_as("coalesce(m.session_id, 0)", np.int64))
    said: NDArray[np.float64] = field(metadata=_read_as(f"coalesce(unixepoch({_KNOWN_SINCE}), -9e999)", np.float64))
    begun: NDArray[np.float64] = field(
        metadata=_read_as("unixepoch(coalesce(m.event_start, m.valid_from, m.said_at))", np.float64)
    )
    ended: NDArray[np.float64] = field(
        metadata=_read_as(
            f"CASE WHEN {_IS_FACT} THEN 9e999 ELSE unixepoch(coalesce(m.event_end, m.said_at)) END", np.float64
        )
    )
    speakers: NDArray[np.uint64] = field(metadata=_read_as("m.speaker", np.uint64))
    own: NDArray[np.int8] = field(metadata=_read_as(_IS_OWN, np.int8))

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
    """Memories of one persona, at most `MOST_ROWS`; a row of `dense` is all zeros where `embedded` is false.

    `number` is its id in the bank's table of packed segments; 0 for what was read row by row.
    """

    columns: Columns
    postings: Postings
    embedded: NDArray[np.bool_]
    dense: Dense
    number: int = 0

    def __len__(self) -> int:
        return len(self.columns.ids)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in _arrays(self))

    def between(self, after: int, before: int) -> Segment:
        """The part of a segment that is not packed with ids between the two."""
        lo, hi = np.searchsorted(self.columns.ids, [after + 1, before])
        if hi - lo == len(self):
            return self
        kept = slice(int(lo), int(hi))
        return Segment(
            self.columns.at(kept),
            self.postings.between(kept.start, kept.stop),
            self.embedded[kept],
            Dense.of(self.dense.head[kept]),
        )

    def with_vectors(self, ids: NDArray[np.int64], vectors: Vectors) -> Segment:
        """The segment, not packed, with these vectors for those of the ids that it holds."""
        rows = np.searchsorted(self.columns.ids, ids)
        here = (rows < len(self)) & (self.columns.ids[np.minimum(rows, len(self) - 1)] == ids)
        if not here.any():
            return self
        embedded, held = self.embedded.copy(), self.dense.head.copy()
        embedded[rows[here]], held[rows[here]] = True, vectors[here]
        return replace(self, embedded=embedded, dense=Dense.of(held))


def joined(first: Segment, second: Segment) -> Segment:
    """Two segments that are not packed as one."""
    return Segment(
        Columns.joined([first.columns, second.columns]),
        Postings.joined(first.postings, second.postings),
        np.concatenate([first.embedded, second.embedded]),
        Dense.of(np.concatenate([first.dense.head, second.dense.head])),
    )


def read(
    db: Database, persona_id: int, model: str, dimensions: int, after: int, before: int, most: int = MOST_ROWS
) -> Iterator[Segment]:
    """A persona's memories with ids between the two, row by row, in segments of at most so many."""
    columns = ", ".join(f.metadata["sql"] for f in fields(Columns))
    found = db.conn.execute(
        f"SELECT {columns}, m.terms, v.vector FROM memories m "
        "LEFT JOIN vectors v ON v.key_hash = m.key_hash AND v.model = ? "
        "WHERE m.persona_id = ? AND m.id > ? AND m.id < ? ORDER BY m.id",
        (model, persona_id, after, before),
    )
    while rows := found.fetchmany(most):
        *values, terms, blobs = zip(*rows, strict=True)
        embedded = np.array([blob is not None for blob in blobs])
        vectors = np.zeros((len(rows), dimensions), dtype=np.float32)
        vectors[embedded] = np.frombuffer(b"".join(filter(None, blobs)), dtype=np.float32).reshape(-1, dimensions)
        yield Segment(Columns.of(values), Postings.of(terms), embedded, Dense.of(vectors))


def kind(model: str) -> str:
    """What packed segments are called that this Memoir can read, with vectors of this model."""
    return f"{model} {_LAYOUT}"


def to_bytes(segment: Segment) -> bytes:
    """The arrays of a segment one after the other, each at a multiple of `_ALIGNED` bytes, after a list of them."""
    arrays = _arrays(segment)
    listed = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
    parts = [len(listed).to_bytes(8, "little") + listed, *(np.ascontiguousarray(a).tobytes() for a in arrays)]
    return b"".join(part + bytes(-len(part) % _ALIGNED) for part in parts)


def from_bytes(payload: bytes, number: int) -> Segment:
    """The segment again; its arrays are views of the bytes."""
    start = 8 + int.from_bytes(payload[:8], "little")
    arrays = []
    for dtype, shape in json.loads(payload[8:start]):
        start += -start % _ALIGNED
        array = np.frombuffer(payload, dtype, math.prod(shape), start).reshape(shape)
        arrays.append(array)
        start += array.nbytes
    parts = iter(arrays)
    columns = Columns(*(next(parts) for _ in fields(Columns)))
    postings = Postings(*(next(parts) for _ in fields(Postings)))
    return Segment(columns, postings, next(parts), Dense(*parts), number)


def agree(packed: Segment, read: Segment) -> bool:
    """Whether a packed segment holds what was read row by row, but for what rounding its vectors costs."""
    return (
        len(packed) == len(read)
        and all(map(_same, _arrays(packed)[: -len(fields(Dense))], _arrays(read)))
        and np.allclose(packed.dense.vectors, read.dense.vectors, atol=ROUNDED)
    )


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _arrays(segment: Segment) -> list[NDArray[Any]]:
    """All arrays of a segment in a fixed order."""
    columns, postings, dense = (
        [getattr(part, f.name) for f in fields(part)] for part in (segment.columns, segment.postings, segment.dense)
    )
    return [*columns, *postings, segment.embedded, *dense]


_ALIGNED = 64
_LAYOUT = f"{code(' '.join(f.name for part in (Columns, Postings, Dense) for f in fields(part))):016x}"
