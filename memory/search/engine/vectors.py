"""The vectors of a segment, as they are or packed for a scan of very many.

Packed vectors are turned so that the first coordinates tell most: the axes are the eigenvectors of their second moments
(PCA without centring), and turning changes no cosine. The first `HEAD` coordinates, in float32, are scanned for all
rows; the others, one byte each, are added for the rows that are looked at more closely. At a million rows of 384
dimensions that is 672 MB instead of 1.5 GB, and the scan reads 384 of them.
"""

from __future__ import annotations

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
class Dense:
    """n vectors of d dimensions; `basis` is (d, d), or empty for vectors that are kept as they are.

    `head` is (n, h); `rest`, (n, d - h), counts steps of the sizes in `steps`.
    """

    basis: Vectors
    head: Vectors
    rest: NDArray[np.int8]
    steps: Vectors

    @classmethod
    def of(cls, vectors: Vectors) -> Dense:
        """Vectors as they are."""
        nothing = np.zeros((0, 0), dtype=np.float32)
        return cls(nothing, vectors, np.zeros((len(vectors), 0), dtype=np.int8), nothing[0:0].ravel())

    @classmethod
    def packed(cls, vectors: Vectors) -> Dense:
        """Vectors turned and rounded; a cosine is then off by some .0002."""
        _, axes = np.linalg.eigh(vectors.T @ vectors)
        basis = np.ascontiguousarray(axes[:, ::-1], dtype=np.float32)
        turned = vectors @ basis
        rest = turned[:, HEAD:]
        steps = np.maximum(np.abs(rest).max(axis=0), 1e-9) / LEVELS
        return cls(basis, np.ascontiguousarray(turned[:, :HEAD]), np.rint(rest / steps).astype(np.int8), steps)

    @property
    def vectors(self) -> Vectors:
        """The n vectors again, as well as they were kept."""
        if not self.basis.size:
            return self.head
        return np.asarray(np.concatenate([self.head, self.rest * self.steps], axis=1) @ self.basis.T)

    def turned(self, queries: Vectors) -> Vectors:
        """Queries as the vectors are turned."""
        return np.asarray(queries @ self.basis) if self.basis.size else queries

    def near(self, turned: Vectors) -> Vectors:
        """What the head tells of the cosine of each turned query with each row, shape (queries, n)."""
        return _dots(self.head, turned[:, : self.head.shape[1]])

    def beyond(self, turned: Vectors, rows: NDArray[np.intp]) -> Vectors:
        """What the rest adds to it for these m rows, shape (queries, m)."""
        return _dots(self.rest.take(rows, axis=0).astype(np.float32), turned[:, self.head.shape[1] :] * self.steps)


def _dots(vectors: Vectors, queries: Vectors) -> Vectors:
    """The product of each query with each vector, shape (queries, n), in this thread alone.

    A matrix product computes as fast, but its threads wait for each other: where something else has the cores (texts
    that are encoded meanwhile), ten times as long as they compute.
    """
    return np.asarray(np.vecdot(vectors[:, None], queries).T)
