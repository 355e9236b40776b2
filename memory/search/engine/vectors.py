"""The vectors of a segment, as they are or packed for scanning very many.

Packing rotates the vectors so that the first coordinates tell most: the axes are the eigenvectors of their second
moments (PCA without centring), and a rotation changes no cosine. The first `HEAD` coordinates, in float32, are scanned
for all rows; the others, one byte each, are added for the rows that are looked at more closely. At a million rows of
384 dimensions that is 672 MB instead of 1.5 GB, and the scan reads 384 of them.

    vectors (n, 384)  @ basis (384, 384) = rotated (n, 384)
    head (n, 96)      the first 96 coordinates of rotated
    tail (n, 288)     the others, in steps of `steps` (288,): about tail * steps
    coarse_scores     head @ query[:96]                      all n rows of a query
    refine            (tail[rows] * steps) @ query[96:]      m rows; coarse_scores[rows] + refine is the cosine
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.embedding.embedder import Vectors

HEAD = 96
"""Coordinates that are scanned. Of the ten nearest of 200,000 by all coordinates, .99 are among the 2,000 nearest by
these; by 64, .985 (sentences of dialogue and mixtures of them, n = 200 questions)."""

LEVELS = 127
"""Steps of a byte to either side of zero."""


@dataclass(frozen=True, slots=True)
class SegmentVectors:
    """n vectors of d dimensions: `basis` (d, d), `head` (n, h), `tail` (n, d - h) and `steps` (d - h,).

    Vectors that are not packed are all `head` (h = d), with an empty `basis`.
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
