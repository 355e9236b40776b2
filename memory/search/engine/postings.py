"""An inverted index (which rows contain which terms), and BM25 over it.

BM25: Robertson & Zaragoza 2009, k1 = 1.2, b = .75; idf = ln((N - n + .5) / (n + .5)) over one persona's memories,
floored at 1e-6, so that a word in most memories still counts for something. `reference_bm25` computes the same by
`rank-bm25`.

    texts      ["ann sail", "bo", "sail sail"]        n = 3 rows
    terms      [code(ann), code(bo), code(sail)]      ascending, shape (3,)
    starts     [0, 1, 2, 4]                           term i owns rows[starts[i]:starts[i + 1]]
    rows       [0, 1, 0, 2]                           ann in row 0, bo in row 1, sail in rows 0 and 2
    counts     [1, 1, 1, 2]                           sail twice in row 2
    lengths    [2, 1, 2]                              terms of each row
"""

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]

K1, B = 1.2, 0.75


@lru_cache(maxsize=1 << 17)
def term_code(term: str) -> int:
    """A hash of 64 bits that stands for a term, the same in every process; 0 for the empty term."""
    return int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest(), "little") if term else 0


def idf(total: int, containing: int) -> float:
    """Inverse document frequency of a term that `containing` of `total` memories contain."""
    return max(math.log((total - containing + 0.5) / (containing + 0.5)), 1e-6)


class Postings(NamedTuple):
    """An inverted index of n rows, at most 65,536 (a row number takes two bytes).

    `terms` are the codes of the terms, ascending; the rows that contain the i-th are `rows[starts[i]:starts[i + 1]]`,
    ascending, as often as `counts` says. `lengths` is the number of terms of each row, shape (n,).
    """

    terms: NDArray[np.uint64]
    starts: NDArray[np.uint32]
    rows: NDArray[np.uint16]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.uint32]

    @classmethod
    def build(cls, texts: Sequence[str]) -> "Postings":
        """Index rows, each given as its terms, joined by blanks."""
        split = [text.split() for text in texts]
        lengths = np.array([len(terms) for terms in split], dtype=np.uint32)
        codes = np.fromiter((term_code(term) for terms in split for term in terms), np.uint64, int(lengths.sum()))
        rows = np.repeat(np.arange(len(split)), lengths)
        return _build(codes, rows, np.ones(len(codes), dtype=np.int64), lengths)

    @classmethod
    def merge(cls, first: "Postings", second: "Postings") -> "Postings":
        """The index of the rows of `first`, followed by those of `second`."""
        codes = np.concatenate([np.repeat(part.terms, np.diff(part.starts)) for part in (first, second)])
        rows = np.concatenate([first.rows, second.rows + np.int64(len(first.lengths))])
        counts = np.concatenate([first.counts, second.counts]).astype(np.int64)
        return _build(codes, rows, counts, np.concatenate([first.lengths, second.lengths]))

    def look_up(self, codes: Sequence[int]) -> list[slice]:
        """Where in `rows` and `counts` each of the terms of these codes is; an empty slice if nowhere."""
        code_array = np.array(codes, dtype=np.uint64)
        first, end = (self.starts[np.searchsorted(self.terms, code_array, side)] for side in ("left", "right"))
        return [slice(*bounds) for bounds in zip(first.tolist(), end.tolist(), strict=True)]


def _build(
    codes: NDArray[np.uint64], rows: NDArray[np.int64], counts: NDArray[np.int64], lengths: NDArray[np.uint32]
) -> Postings:
    """Postings of (code, row, count) triples whose rows ascend for each code; equal pairs are added up."""
    order = np.argsort(codes, kind="stable")
    codes, rows = codes[order], rows[order]
    is_first = np.ones(len(codes), dtype=np.bool_)
    is_first[1:] = (codes[1:] != codes[:-1]) | (rows[1:] != rows[:-1])
    at = np.flatnonzero(is_first)
    terms, starts = np.unique(codes[at], return_index=True)
    sums = np.add.reduceat(counts[order], at) if len(at) else counts
    counts, starts = np.minimum(sums, np.iinfo(np.uint16).max), np.append(starts, len(at))
    return Postings(terms, starts.astype(np.uint32), rows[at].astype(np.uint16), counts.astype(np.uint16), lengths)


def bm25(parts: Sequence[Postings], queries: Sequence[Sequence[str]], known: Mask | None = None) -> NDArray[np.float64]:
    """BM25 of each row for each query, a list of distinct terms; shape (queries, rows of all parts in order).

    Where only some rows are `known`, shape (rows,), the others count neither for a term's frequency nor for the mean
    length: how rare a word was does not depend on what was said later.
    """
    lengths = np.concatenate([part.lengths for part in parts])
    scores = np.zeros((len(queries), len(lengths)))
    terms = list(dict.fromkeys(term for query in queries for term in query))
    if not terms:
        return scores
    terms_of_views = [np.array([term in query for term in terms]) for query in queries]
    codes = [term_code(term) for term in terms]
    slices_of_parts = [part.look_up(codes) for part in parts]
    counted = lengths if known is None else lengths[known]
    containing = frequencies(parts, slices_of_parts, known)
    weights = np.array([idf(len(counted), frequency) * (K1 + 1) for frequency in containing])
    mean = max(float(counted.mean()) if len(counted) else 0.0, 1e-9)
    start = 0
    for part, slices in zip(parts, slices_of_parts, strict=True):
        of_part = scores[:, start : start + len(part.lengths)]
        start += len(part.lengths)
        sizes = [at.stop - at.start for at in slices]
        rows = np.concatenate([part.rows[at] for at in slices]).astype(np.intp)
        counts = np.concatenate([part.counts[at] for at in slices])
        gains = np.repeat(weights, sizes) * counts / (counts + K1 * (1 - B + B * part.lengths[rows] / mean))
        for view, is_term in enumerate(terms_of_views):
            of_view = slice(None) if is_term.all() else np.repeat(is_term, sizes)
            np.add.at(of_part[view], rows[of_view], gains[of_view])
    return scores


def frequencies(parts: Sequence[Postings], slices_of_parts: Sequence[Sequence[slice]], known: Mask | None) -> list[int]:
    """How many of the known rows contain each term, given by its slices of the parts."""
    counts, start = np.zeros(len(slices_of_parts[0]), dtype=np.int64), 0
    for part, slices in zip(parts, slices_of_parts, strict=True):
        if known is None:
            counts += [at.stop - at.start for at in slices]
        else:
            of_part = known[start : start + len(part.lengths)]
            counts += [np.count_nonzero(of_part[part.rows[at]]) for at in slices]
        start += len(part.lengths)
    return [int(count) for count in counts]


def reference_bm25(documents: list[list[str]], queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """BM25 of each document, given as its terms, for each query; shape (queries, documents).

    Computed by the `rank-bm25` package at linear cost: what `bm25` is checked against.
    """
    if not any(documents):  # the mean length would be zero
        return np.zeros((len(queries), len(documents)))
    from rank_bm25 import BM25Okapi

    okapi = BM25Okapi(documents, k1=K1, b=B)
    containing = Counter(term for terms in okapi.doc_freqs for term in terms)
    # With our idf no common word scores below zero.
    okapi.idf = {term: idf(len(documents), n) for term, n in containing.items()}
    return np.array([okapi.get_scores(list(query)) for query in queries], dtype=np.float64)
