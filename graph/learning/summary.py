"""Summarise sentences: those nearest to the centroid of TF-IDF (Radev et al. 2004), and key phrases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from memory.types import SUMMARY, LearnedMemory, MemoryDraft, Quote, TimeSpan

PHRASES = 5
"""Key phrases of a session, by which its summary is found, too."""


class TermCounts:
    """How many of some texts, in their order, hold each word and each pair of words."""

    def __init__(self, texts: Sequence[str]) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        self._counter = CountVectorizer(stop_words="english", ngram_range=(1, 2))
        try:
            self._counts = self._counter.fit_transform(texts)
        except ValueError:  # they hold only stop words
            self._counts = None

    def weights(self, n: int, texts: Sequence[str] = ()) -> TermWeights | None:
        """The weights in the first n texts and in these; None if they hold only stop words.

        Words that are in later texts only have no weight.
        """
        from scipy.sparse import vstack
        from sklearn.feature_extraction.text import TfidfTransformer

        if self._counts is None:
            return None
        counts = vstack([self._counts[:n], self._counter.transform(texts)], format="csr")
        if not counts.nnz:
            return None
        weighting = TfidfTransformer(sublinear_tf=True).fit(counts)
        weighting.idf_ = np.where(counts.getnnz(axis=0) > 0, weighting.idf_, 0.0)
        return TermWeights(self._counter, weighting)


class TermWeights:
    """TF-IDF weights of words and of pairs of words in a collection of texts."""

    def __init__(self, counter: Any, weighting: Any) -> None:  # noqa: ANN401  # scikit-learn has no types
        self._counter, self._weighting = counter, weighting
        # Once: a year of chats has a million pairs of words, and a list of them takes half a second to make.
        self._names: Any = None

    @classmethod
    def of(cls, texts: Sequence[str]) -> TermWeights | None:
        """The weights in these texts; None if they hold only stop words."""
        return TermCounts(texts).weights(len(texts))

    def nearest(self, sentences: Sequence[str], n: int) -> list[int]:
        """The places of the n sentences nearest to the centroid, in their order."""
        rows = self._rows(sentences)
        near = np.asarray(rows @ rows.mean(axis=0).T).ravel()
        return sorted(int(place) for place in np.argsort(-near, kind="stable")[:n])

    def phrases(self, text: str, n: int) -> list[str]:
        """The n words or pairs of words of a text with the most weight, best first."""
        if self._names is None:
            self._names = self._counter.get_feature_names_out()
        row, names = self._rows([text]), self._names
        best = sorted(zip(row.indices, row.data, strict=True), key=lambda pair: (-pair[1], names[pair[0]]))[:n]
        return [str(names[column]) for column, weight in best if weight > 0]

    def _rows(self, texts: Sequence[str]) -> Any:  # noqa: ANN401  # scikit-learn has no types
        return self._weighting.transform(self._counter.transform(texts))


def gist(sentences: Sequence[str], n: int, weights: TermWeights | None) -> str:
    """The n sentences nearest to the centroid, in their order; all of them if there are no more, or no weights."""
    chosen = range(len(sentences)) if weights is None or len(sentences) <= n else weights.nearest(sentences, n)
    return " ".join(sentences[place] for place in chosen)


def summary(
    text: str,
    sentences: Sequence[str],
    weights: TermWeights | None,
    times: Sequence[datetime],
    quotes: tuple[Quote, ...],
    depends_on: tuple[int, ...] = (),
) -> LearnedMemory:
    """The summary of a session as a memory, with the session's key phrases in the key and its time as event time."""
    phrases = weights.phrases(" ".join(sentences), PHRASES) if weights else ()
    gist = MemoryDraft(
        "event",
        text,
        key=f"{'; '.join(phrases)}\n{text}",
        event=TimeSpan(min(times), max(times) + timedelta(minutes=1)),
        said_at=max(times),
        attribute=SUMMARY,
    )
    return LearnedMemory(gist, quotes, depends_on=depends_on)
