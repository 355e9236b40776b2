"""Which memories hold which terms, and BM25 over them.

BM25: Robertson & Zaragoza 2009, k1 = 1.2, b = .75; idf = ln((N - n + .5) / (n + .5)) over one persona's memories,
floored at 1e-6, so that a word that most memories hold still counts for something. `rank-bm25` with that idf is the
reference (`memory.search.tokens.rank_bm25`); this is the same sum over the rows that hold a term instead of over all
rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

K1, B = 1.2, 0.75


@lru_cache(maxsize=1 << 17)
def code(term: str) -> int:
    """64 bits that stand for a term, the same in every process; 0 for the empty one."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little") if term else 0


def idf(total: int, held: int) -> float:
    """How telling a term is that `held` of `total` memories hold."""
    return max(math.log((total - held + 0.5) / (held + 0.5)), 1e-6)


@dataclass(frozen=True, slots=True)
class Postings:
    """An inverted index of n rows, at most 65,536: a row number takes two bytes.

    `terms` holds the codes of the terms, ascending; the i-th stands in `rows[starts[i]:starts[i + 1]]`, ascending, as
    often as `counts` says. `lengths` is how many terms each of the n rows has.
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.uint32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Postings:
        """Index rows given as their terms, joined by blanks."""
        split = [text.split() for text in texts]
        lengths = np.array([len(terms) for terms in split], dtype=np.uint32)
        codes = np.fromiter((code(term) for terms in split for term in terms), np.uint64, int(lengths.sum()))
        rows = np.repeat(np.arange(len(split)), lengths)
        return _counted(codes, rows, np.ones(len(codes), dtype=np.int64), lengths)

    @classmethod
    def joined(cls, first: Postings, second: Postings) -> Postings:
        """The index of the rows of both, those of the first first."""
        (a, ra, ca), (b, rb, cb) = first._occurrences(), second._occurrences()
        rows = np.concatenate([ra, rb + len(first.lengths)])
        lengths = np.concatenate([first.lengths, second.lengths])
        return _counted(np.concatenate([a, b]), rows, np.concatenate([ca, cb]), lengths)

    def between(self, first: int, end: int) -> Postings:
        """The index of the rows from `first` to before `end`."""
        codes, rows, counts = self._occurrences()
        kept = (rows >= first) & (rows < end)
        return _counted(codes[kept], rows[kept] - first, counts[kept], self.lengths[first:end])

    def _occurrences(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        """The code of a term, a row that holds it, and how often; for all terms and rows, ordered by both."""
        codes = np.repeat(self.terms, np.diff(self.starts))
        return codes, self.rows.astype(np.int64), self.counts.astype(np.int64)

    def holding(self, terms: Sequence[int]) -> list[slice]:
        """Where in `rows` and `counts` each of the terms of these codes stands; empty if nowhere."""
        codes = np.array(terms, dtype=np.uint64)
        first, end = (self.starts[np.searchsorted(self.terms, codes, side)] for side in ("left", "right"))
        return [slice(*bounds) for bounds in zip(first.tolist(), end.tolist(), strict=True)]


def _counted(
    codes: NDArray[np.uint64], rows: NDArray[np.int64], counts: NDArray[np.int64], lengths: NDArray[np.uint32]
) -> Postings:
    """Postings of occurrences; those of one term have ascending rows, and in one row they are added up."""
    order = np.argsort(codes, kind="stable")
    codes, rows = codes[order], rows[order]
    first = np.ones(len(codes), dtype=np.bool_)
    first[1:] = (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])
    at = np.flatnonzero(first)
    terms, starts = np.unique(codes[at], return_index=True)
    added = np.add.reduceat(counts[order], at) if len(at) else counts
    return Postings(
        terms,
        np.append(starts, len(at)).astype(np.uint32),
        rows[at].astype(np.uint16),
        np.minimum(added, np.iinfo(np.uint16).max).astype(np.uint16),
        lengths,
    )


def complete(parts: Sequence[Postings], queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """What a row of mean length scores for each query if it holds every term of it once; shape (queries,)."""
    idfs = {term: weight for term, (weight, _) in _looked_up(parts, queries).items()}
    return np.array([sum(idfs[term] for term in query) for query in queries])


def bm25(parts: Sequence[Postings], queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """How well each row answers each query, a list of distinct terms; shape (queries, rows of all parts in order)."""
    total = sum(len(part.lengths) for part in parts)
    scores = np.zeros((len(queries), total))
    asked = _looked_up(parts, queries)
    if not asked:
        return scores
    of_views = [np.array([term in query for term in asked]) for query in queries]
    weights = np.array([weight * (K1 + 1) for weight, _ in asked.values()])
    mean = max(sum(int(part.lengths.sum()) for part in parts) / max(total, 1), 1e-9)
    first = 0
    for part, places in zip(parts, zip(*(places for _, places in asked.values()), strict=True), strict=True):
        here = scores[:, first : first + len(part.lengths)]
        first += len(part.lengths)
        sizes = [at.stop - at.start for at in places]
        rows = np.concatenate([part.rows[at] for at in places]).astype(np.intp)
        counts = np.concatenate([part.counts[at] for at in places])
        gained = np.repeat(weights, sizes) * counts / (counts + K1 * (1 - B + B * part.lengths[rows] / mean))
        for view, terms in enumerate(of_views):
            its = slice(None) if terms.all() else np.repeat(terms, sizes)
            np.add.at(here[view], rows[its], gained[its])
    return scores


def _looked_up(parts: Sequence[Postings], queries: Sequence[Sequence[str]]) -> dict[str, tuple[float, list[slice]]]:
    """The idf of each term of the queries, and where it stands in each of the parts."""
    terms = list(dict.fromkeys(term for query in queries for term in query))
    codes, total = [code(term) for term in terms], sum(len(part.lengths) for part in parts)
    held = [part.holding(codes) for part in parts]
    found = {term: [places[n] for places in held] for n, term in enumerate(terms)}
    return {term: (idf(total, sum(at.stop - at.start for at in places)), places) for term, places in found.items()}
