"""A segment: consecutive memories of one persona as arrays, with the columns search needs, their terms and vectors.

Segment of n rows, in order of memory id
columns    ids (n,) int64, stores (n,) int8, ..., by_user (n,) int8
postings   the inverted index over the rows (`memory.search.engine.postings`)
embedded   (n,) bool, False where a memory has no vector yet
vectors    (n, 384) float32 or packed (`SegmentVectors`), all zeros where `embedded` is False
"""

import json
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory import named_queries
from memory.embedding.embedder import Vectors
from memory.search.engine.postings import Postings, term_code

MAX_ROWS = 1 << 15
"""Rows of a segment at most. Forgetting one memory makes the next question read a segment's rows again; each segment
costs every question some fifty calls."""

ROUNDING = 0.01
"""Tolerance for a coordinate of a packed vector: rounding to a byte changes it by less."""

LAYOUT = "5c1f0be27d9a4e36"
"""Change it whenever the arrays of a segment, their order or the form of its bytes change: packed segments of another
layout are ignored."""

HEAD = 96
"""Coordinates that are scanned. Of the ten nearest of 200,000 by all coordinates, .99 are among the 2,000 nearest by
these; by 64, .985 (sentences of dialogue and mixtures of them, n = 200 questions)."""

LEVELS = 127
"""Steps of a byte to either side of zero."""

_ALIGNMENT = 64
"""Each array of a packed segment begins at a multiple of so many bytes."""

_ROWS = named_queries(__file__)["rows"]
_TYPES = (np.int64, np.int8, np.int64, np.float64, np.float64, np.float64, np.uint64, np.int8)
"""The types of the `Columns`."""


class Columns(NamedTuple):
    """What search needs of n memories besides text and vector.

    Times are seconds since 1970. `known_since` is when a memory came to be known (-inf if unknown). `starts` and `ends`
    bound the time it is about (nan if unknown): of an event, when it happened; of dialogue, when it was said; of a
    fact, from when it is valid to inf (when it stopped changes later: `memory.search.engine.index.Index.closed`).
    `sessions` is 0 for none, `speakers` the `term_code` of the name, `by_user` 1 for what the user said.
    """

    ids: NDArray[np.int64]
    stores: NDArray[np.int8]
    sessions: NDArray[np.int64]
    known_since: NDArray[np.float64]
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    speakers: NDArray[np.uint64]
    by_user: NDArray[np.int8]

    @classmethod
    def build(cls, values: Sequence[Sequence[Any]]) -> "Columns":
        """Columns of one sequence of SQL values for each field; of the speakers, their names."""
        *others, speakers, by_user = values
        columns = zip((*others, list(map(term_code, speakers)), by_user), _TYPES, strict=True)
        return cls(*(np.array(column, dtype) for column, dtype in columns))

    @classmethod
    def concatenate(cls, parts: Sequence["Columns"]) -> "Columns":
        """The rows of all parts, in order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))

    def take(self, rows: NDArray[np.intp]) -> "Columns":
        """The columns of some rows."""
        return Columns._make(array[rows] for array in self)


_NO_ROWS = Columns.build([()] * len(_TYPES))


class SegmentVectors(NamedTuple):
    """n vectors of d dimensions, as they are or packed for scanning very many.

    Packing rotates the vectors so that the first coordinates tell most: the axes are the eigenvectors of their second
    moments (PCA without centring), and a rotation changes no cosine. The first `HEAD` coordinates, in float32, are
    scanned for all rows; the others, one byte each, are added for the rows that are looked at more closely. At a
    million rows of 384 dimensions that is 672 MB instead of 1.5 GB, and the scan reads 384 of them. Vectors that are
    not packed are all `head`, with an empty `basis`.

        vectors (n, 384)  @ basis (384, 384) = rotated (n, 384)
        head (n, 96)      the first 96 coordinates of rotated
        tail (n, 288)     the others, in steps of `steps` (288,): about tail * steps
        coarse_scores     head @ query[:96]                      all n rows of a query
        refine            (tail[rows] * steps) @ query[96:]      m rows; coarse_scores[rows] + refine is the cosine
    """

    basis: Vectors
    head: Vectors
    tail: NDArray[np.int8]
    steps: Vectors

    @classmethod
    def unpacked(cls, vectors: Vectors) -> "SegmentVectors":
        """Vectors as they are."""
        nothing = np.zeros((0, 0), dtype=np.float32)
        return cls(nothing, vectors, np.zeros((len(vectors), 0), dtype=np.int8), nothing[0:0].ravel())

    @classmethod
    def packed(cls, vectors: Vectors) -> "SegmentVectors":
        """Vectors rotated and rounded; a cosine is then off by some .0002."""
        _, axes = np.linalg.eigh(vectors.T @ vectors)
        basis = np.ascontiguousarray(axes[:, ::-1], dtype=np.float32)
        rotated = vectors @ basis
        tail = rotated[:, HEAD:]
        steps = np.maximum(np.abs(tail).max(axis=0), 1e-9) / LEVELS
        return cls(basis, np.ascontiguousarray(rotated[:, :HEAD]), np.rint(tail / steps).astype(np.int8), steps)

    @property
    def vectors(self) -> Vectors:
        """The n vectors, restored as well as they were kept."""
        if not self.basis.size:
            return self.head
        return np.asarray(np.concatenate([self.head, self.tail * self.steps], axis=1) @ self.basis.T)

    def rotate(self, queries: Vectors) -> Vectors:
        """Queries in the coordinates of these vectors, shape (queries, d)."""
        return np.asarray(queries @ self.basis) if self.basis.size else queries

    def coarse_scores(self, rotated: Vectors) -> Vectors:
        """The head's part of the cosine of each rotated query with each row, shape (queries, n)."""
        return _dot_products(self.head, rotated[:, : self.head.shape[1]])

    def refine(self, rotated: Vectors, rows: NDArray[np.intp]) -> Vectors:
        """The tail's part of it for m rows, shape (queries, m)."""
        tail = self.tail.take(rows, axis=0).astype(np.float32)
        return _dot_products(tail, rotated[:, self.head.shape[1] :] * self.steps)


def _dot_products(vectors: Vectors, queries: Vectors) -> Vectors:
    """The product of each query with each vector, shape (queries, n), in this thread alone.

    A matrix product computes as fast, but its threads wait for each other: while other work occupies the cores
    (texts being encoded), ten times as long as they compute.
    """
    return np.asarray(np.vecdot(vectors[:, None], queries).T)


@dataclass(frozen=True, slots=True)
class Segment:
    """At most `MAX_ROWS` memories of one persona.

    `number` is its id in the bank's table of packed segments; 0 for one that was read row by row.
    """

    columns: Columns
    postings: Postings
    embedded: NDArray[np.bool_]
    vectors: SegmentVectors
    number: int = 0

    def __len__(self) -> int:
        return len(self.columns.ids)

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return sum(array.nbytes for array in _arrays(self))

    @property
    def span(self) -> tuple[int, int]:
        """The ids of the first and the last memory."""
        return int(self.columns.ids[0]), int(self.columns.ids[-1])

    def with_vectors(self, ids: NDArray[np.int64], vectors: Vectors) -> "Segment":
        """The unpacked segment with these vectors for the memories of these ids; other ids are ignored."""
        rows = np.searchsorted(self.columns.ids, ids)
        here = (rows < len(self)) & (self.columns.ids[np.minimum(rows, len(self) - 1)] == ids)
        if not here.any():
            return self
        embedded, head = self.embedded.copy(), self.vectors.head.copy()
        embedded[rows[here]], head[rows[here]] = True, vectors[here]
        return replace(self, embedded=embedded, vectors=SegmentVectors.unpacked(head))


def column(parts: Sequence[Segment], name: str) -> NDArray[Any]:
    """One of the `Columns` of all rows of some segments, in order."""
    return np.concatenate([getattr(columns, name) for columns in (_NO_ROWS, *(part.columns for part in parts))])


def merge(first: Segment, second: Segment) -> Segment:
    """Two unpacked segments as one."""
    return Segment(
        Columns.concatenate([first.columns, second.columns]),
        Postings.merge(first.postings, second.postings),
        np.concatenate([first.embedded, second.embedded]),
        SegmentVectors.unpacked(np.concatenate([first.vectors.head, second.vectors.head])),
    )


def read_rows(
    db: Database, persona_id: int, model: str, dimensions: int, after: int, before: int, max_rows: int = MAX_ROWS
) -> Iterator[Segment]:
    """A persona's memories with ids between the two, read row by row, in segments of at most `max_rows`."""
    cursor = db.conn.execute(_ROWS, (model, persona_id, after, before))
    while rows := cursor.fetchmany(max_rows):
        *values, terms, blobs = zip(*rows, strict=True)
        embedded = np.array([blob is not None for blob in blobs])
        vectors = np.zeros((len(rows), dimensions), dtype=np.float32)
        vectors[embedded] = np.frombuffer(b"".join(filter(None, blobs)), dtype=np.float32).reshape(-1, dimensions)
        yield Segment(Columns.build(values), Postings.build(terms), embedded, SegmentVectors.unpacked(vectors))


def kind(model: str) -> str:
    """The name in the bank of packed segments that this version can read, with vectors of this model."""
    return f"{model} {LAYOUT}"


def to_bytes(segment: Segment) -> bytes:
    """The arrays of a segment as bytes: the length of a JSON list of (dtype, shape), the list, then each array.

    Each of them is padded with zeros to a multiple of `_ALIGNMENT` bytes. The last four are the checksum of all before.
    """
    arrays = _arrays(segment)
    header = json.dumps([(array.dtype.str, array.shape) for array in arrays]).encode()
    parts = [len(header).to_bytes(8, "little") + header, *(np.ascontiguousarray(a).tobytes() for a in arrays)]
    content = b"".join(part + bytes(-len(part) % _ALIGNMENT) for part in parts)
    return content + zlib.crc32(content).to_bytes(4, "little")


def from_bytes(payload: bytes, number: int) -> Segment | None:
    """The segment that `to_bytes` wrote; its arrays are views of the bytes. None if the bytes were changed since."""
    if zlib.crc32(memoryview(payload)[:-4]) != int.from_bytes(payload[-4:], "little"):
        return None
    start = 8 + int.from_bytes(payload[:8], "little")
    arrays = []
    for dtype, shape in json.loads(payload[8:start]):
        start += -start % _ALIGNMENT
        array = np.frombuffer(payload, dtype, math.prod(shape), start).reshape(shape)
        arrays.append(array)
        start += array.nbytes
    parts = iter(arrays)
    columns = Columns(*islice(parts, len(Columns._fields)))
    postings = Postings(*islice(parts, len(Postings._fields)))
    return Segment(columns, postings, next(parts), SegmentVectors(*parts), number)


def agree(packed: Segment, unpacked: Segment) -> bool:
    """Whether a packed segment equals one read row by row, up to the rounding of its vectors."""
    exact = zip(_arrays(packed)[: -len(SegmentVectors._fields)], _arrays(unpacked), strict=False)
    return (
        len(packed) == len(unpacked)
        and all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in exact)
        and np.allclose(packed.vectors.vectors, unpacked.vectors.vectors, atol=ROUNDING)
    )


def _arrays(segment: Segment) -> list[NDArray[Any]]:
    """All arrays of a segment in a fixed order."""
    return [*segment.columns, *segment.postings, segment.embedded, *segment.vectors]
