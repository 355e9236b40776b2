"""BM25 by the `rank-bm25` package: what `memory.search.engine.postings` is checked against, at linear cost."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.search.engine.postings import K1, B, idf


def reference_bm25(documents: list[list[str]], queries: Sequence[Sequence[str]]) -> NDArray[np.float64]:
    """BM25 of each document, given as its terms, for each query; shape (queries, documents)."""
    if not any(documents):  # the mean length would be zero
        return np.zeros((len(queries), len(documents)))
    from rank_bm25 import BM25Okapi

    class Okapi(BM25Okapi):  # type: ignore[misc]  # the package has no types
        """rank-bm25's Okapi with our idf, so that no common word scores below zero."""

        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            self.idf = {word: idf(self.corpus_size, containing) for word, containing in nd.items()}

    okapi = Okapi(documents, k1=K1, b=B)
    return np.array([okapi.get_scores(list(query)) for query in queries], dtype=np.float64)
