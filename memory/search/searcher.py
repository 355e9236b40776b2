"""Find the memories that may answer a question: for every store the best k, by words and by meaning together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np
from sqlite_utils import Database

from memory.bank import bank, indexing
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder, Vectors
from memory.search import tokens as lexical
from memory.search.engine import candidates
from memory.search.engine.index import Index, Indexes, Rows
from memory.search.engine.postings import code
from memory.search.engine.reference import reference_bm25
from memory.search.fusion import Scores
from memory.search.names import possible_names
from memory.search.scoring import Asked, Candidates, SearchSettings, weigh
from memory.types import STORES, Dropped, Hit

MAX_NAMES = 64
"""Possible names looked up of one text: each is compared with who said every turn."""


MAX_PINNED = 10
"""Pinned memories that are looked at for every question: they take room from those that were found."""


@dataclass(frozen=True, slots=True)
class View:
    """One way of putting the question: its text, its vector, and its weight among the views."""

    text: str
    vector: Vectors
    weight: float = 1.0


class Searcher:
    """Searches one bank with one embedding model."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        self.bank = bank
        self.embedder = embedder
        self._indexes: Indexes | None = None

    def views(self, texts: Sequence[str]) -> tuple[View, ...]:
        """Embed several ways of putting a question in one encoder call."""
        vectors = self.embedder.encode(texts)
        return tuple(View(t, v) for t, v in zip(texts, vectors, strict=True))

    def main_speakers(self, persona_id: int, text: str, as_of: datetime) -> tuple[str, ...]:
        """The names in a text that belong to main speakers: those who said a good part of all turns up to `as_of`.

        Somebody who is only talked about has hardly a turn of their own.
        """
        names = {name: code(name) for name in islice(possible_names(text), MAX_NAMES)}
        if not names:
            return ()
        with self._reading(persona_id) as (_, held):
            often = held.speaking(list(names.values()), as_of)
        return tuple(name for name, speaker in names.items() if speaker in often)

    def document_frequencies(
        self, persona_id: int, terms: Sequence[str], as_of: datetime
    ) -> tuple[int, dict[str, int]]:
        """How many memories a persona had at `as_of`, and how many of them held each of the terms of the index."""
        with self._reading(persona_id) as (_, held):
            return held.frequencies(terms, as_of)

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        asked: Asked | None = None,
    ) -> tuple[Hit, ...]:
        """The best k memories of each store that were known to the persona at `as_of`, best first.

        Where `asked` names a time, the best k of it are among them, too: what was asked of one week must not be crowded
        out by the other fifty. `Hit.scores` holds what `memory.search.scoring.Weighed` tells of it, `Hit.score` its
        total.
        """
        chosen, asked = settings or SearchSettings(), asked or Asked()
        during = asked.spans
        with self._reading(persona_id) as (db, held):
            if not len(held) or not views:
                return ()
            queries = [lexical.limit_terms(lexical.content_terms(view.text)) for view in views]
            by_words = _by_words(db, persona_id, held, queries, chosen)
            meaning = held.by_meaning(np.stack([v.vector for v in views]))
            rows = candidates.choose(held, by_words, meaning, as_of, during, max(chosen.k, chosen.depth))
            pinned = _pinned(db, persona_id, held, as_of)
            rows = np.union1d(rows, pinned) if len(pinned) else rows
            cosine = meaning.cosine(rows).astype(np.float64)
            legible = np.array([self.embedder.legible(view.text) for view in views])
            found = held.candidates(rows, queries, legible, by_words[:, rows], cosine)
            weighed = weigh(found, [v.weight for v in views], asked, chosen)
            known = np.where(found.closed > as_of.timestamp(), weighed.total, -1.0)
            best = _best_of_each_store(found, known, chosen.k)
            if during:
                # A fact that holds no more held then: "where did I live in March?"
                best |= _best_of_each_store(found, np.where(found.within(during), weighed.total, -1.0), chosen.k)
            best |= {int(place) for place in np.searchsorted(rows, pinned) if found.closed[place] > as_of.timestamp()}
            further = _best_of_each_store(found, known, chosen.depth) - best
            ordered = sorted(best | further, key=lambda place: (place in further, -weighed.total[place], place))
            memories = bank.chosen(db, persona_id, found.ids[ordered].tolist())
        beyond: tuple[Dropped, str] = ("rank", f"not among the {chosen.k} best of its kind")
        return tuple(
            Hit(m, float(weighed.total[place]), weighed.of(place), *(beyond if place in further else ()))
            for m, place in zip(memories, ordered, strict=True)
        )

    @contextmanager
    def _reading(self, persona_id: int) -> Iterator[tuple[Database, Index]]:
        """A connection to read by, and the persona's index as of the same moment."""
        if self._indexes is None:
            self._indexes = Indexes(self.embedder.model, self.embedder.dimensions)
        with self.bank.reading() as db:
            db.conn.execute("BEGIN")  # one view of all that is read
            yield db, self._indexes.of(db, persona_id)


def _pinned(db: Database, persona_id: int, held: Index, as_of: datetime) -> Rows:
    """The rows of the memories that the user pinned and that were known by then."""
    rows = held.rows_of(indexing.pinned_ids(db, persona_id, MAX_PINNED))
    return rows[held.said_by(as_of)[rows]]


def _by_words(
    db: Database, persona_id: int, held: Index, queries: Sequence[Sequence[str]], settings: SearchSettings
) -> Scores:
    """BM25 of every memory for the terms of every view, shape (views, n)."""
    if settings.dense_weight == 1:
        return np.zeros((len(queries), len(held)))
    if settings.ranker == "rank-bm25":
        return reference_bm25(indexing.index_terms(db, persona_id), queries)
    return held.by_words(queries)


def _best_of_each_store(found: Candidates, scores: Scores, k: int) -> set[int]:
    """Places of the k best candidates of each store whose score is above zero; of equal ones the older."""
    chosen: set[int] = set()
    for store in range(len(STORES)) if k else ():
        places = np.flatnonzero((found.stores == store) & (scores > 0))
        if k < len(places):  # a tenth of the time of sorting them all
            places = places[scores[places] >= np.partition(scores[places], -k)[-k]]
        chosen.update(places[np.argsort(-scores[places], kind="stable")][:k].tolist())
    return chosen
