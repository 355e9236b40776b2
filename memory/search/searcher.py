"""Find the memories that may answer a question: of every store the best k, by words and by meaning together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.bank.queries import indexing
from memory.bank.queries.memories import memories_by_id, visible_personas
from memory.bank.rows import clean
from memory.embedding.embedder import Embedder, Vectors
from memory.search.engine.candidates import select
from memory.search.engine.index import Index, IndexCache
from memory.search.engine.postings import reference_bm25, term_code
from memory.search.names import possible_names
from memory.search.scoring import Breakdown, Candidates, Scores, SearchSettings, Subject, overlapping, score
from memory.search.tokens import query_terms
from memory.types import QUESTION, STORES, DropReason, Hit, Memory

MAX_NAMES = 64
"""Possible names looked up of one text: each is compared with the speaker of every turn."""

MAX_PINNED = 10
"""Pinned memories that are considered for every question: they take room from those that were found."""

LAST = 1e-6
"""Share of its score that a turn that only asks keeps: it comes after all that tell."""


@dataclass(frozen=True, slots=True)
class View:
    """One wording of a question: its text, its vector, and its weight among the views."""

    text: str
    vector: Vectors
    weight: float = 1.0


class Searcher:
    """Searches one bank with one embedding model."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        self.bank = bank
        self.embedder = embedder
        self._indexes: IndexCache | None = None

    def views(self, texts: Sequence[str]) -> tuple[View, ...]:
        """Embed several wordings of a question in one encoder call."""
        texts = [clean(text) for text in texts]
        vectors = self.embedder.encode_query(texts)
        return tuple(View(t, v) for t, v in zip(texts, vectors, strict=True))

    def main_speakers(self, persona_id: int, text: str, as_of: datetime) -> tuple[str, ...]:
        """The names in a text that belong to main speakers: those who said a good part of all turns up to `as_of`.

        Somebody who is only talked about has hardly a turn of their own.
        """
        codes = {name: term_code(name) for name in islice(possible_names(text), MAX_NAMES)}
        if not codes:
            return ()
        with self._open_index(persona_id, joined=False) as (_, index):
            main = index.main_speakers(list(codes.values()), as_of)
        return tuple(name for name, code in codes.items() if code in main)

    def document_frequencies(
        self, persona_id: int, terms: Sequence[str], as_of: datetime
    ) -> tuple[int, dict[str, int]]:
        """How many memories a persona knew at `as_of`, and how many of them contain each index term."""
        with self._open_index(persona_id) as (_, index):
            return index.document_frequencies(terms, as_of)

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """The best k memories of each store that were known to the persona at `as_of`, best first.

        Where `subject` names a time, the best k about it are included, too: one week must not be crowded out by the
        other fifty. `Hit.scores` is the row of `memory.search.scoring.Breakdown`, `Hit.score` its total.
        """
        settings, subject = settings or SearchSettings(), subject or Subject()
        with self._open_index(persona_id) as (db, index):
            if not len(index) or not views:
                return ()
            candidates, pinned = self._candidates(db, persona_id, index, views, as_of, settings, subject)
            scores = score(candidates, [view.weight for view in views], subject, settings)
            questions = indexing.ids_of_attribute(db, visible_personas(db, persona_id), QUESTION)
            asks = np.isin(candidates.columns.ids, questions)
            best, ranked = _rank(candidates, scores, pinned, asks, as_of, settings, subject)
            memories = self._memories(db, persona_id, candidates.columns.ids[[*best, *ranked]].tolist())
        unread: tuple[DropReason, str] = ("rank", f"not among the {settings.k} best of its kind")
        return tuple(
            Hit(m, float(scores.total[place]), scores.row(place), *(unread if n >= len(best) else ()))
            for n, (m, place) in enumerate(zip(memories, [*best, *ranked], strict=True))
        )

    def _candidates(
        self,
        db: Database,
        persona_id: int,
        index: Index,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings,
        subject: Subject,
    ) -> tuple[Candidates, NDArray[np.bool_]]:
        """The memories to score, and which of them are pinned, shape (m,)."""
        queries = [query_terms(view.text) for view in views]
        if settings.dense_weight == 1:
            lexical = np.zeros((len(queries), len(index)))
        elif settings.ranker == "rank-bm25":
            lexical = reference_bm25(indexing.index_terms(db, visible_personas(db, persona_id)), queries)
        else:
            lexical = index.lexical_scores(queries, as_of)
        dense = index.dense_scores(np.stack([view.vector for view in views]))
        rows = select(index, lexical, dense, as_of, subject.sure_spans, max(settings.k, settings.depth))
        pinned = index.rows_of(indexing.pinned_ids(db, persona_id, MAX_PINNED))
        pinned = pinned[index.known_at(as_of)[pinned]]
        rows = np.union1d(rows, pinned) if len(pinned) else rows
        cosine = dense.cosine(rows).astype(np.float64)
        shares = np.array([self.embedder.share_in_vocabulary(view.text) for view in views])
        return index.candidates(rows, shares, lexical[:, rows], cosine), np.isin(rows, pinned)

    def _memories(self, db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
        """The memories of these ids, in their order."""
        return memories_by_id(db, persona_id, ids)

    @contextmanager
    def _open_index(self, persona_id: int, *, joined: bool = True) -> Iterator[tuple[Database, Index]]:
        """A connection in a transaction, and the persona's index at the same state of the bank.

        It is `joined` with what the user said to others, or else of the persona's own memories alone.
        """
        if self._indexes is None:
            self._indexes = IndexCache(self.embedder.model, self.embedder.dimensions)
        with self.bank.reading_snapshot() as db:
            yield db, self._indexes.get(db, *(visible_personas(db, persona_id) if joined else [persona_id]))


def _rank(
    candidates: Candidates,
    scores: Breakdown,
    pinned: NDArray[np.bool_],
    asks: NDArray[np.bool_],
    as_of: datetime,
    settings: SearchSettings,
    subject: Subject,
) -> tuple[list[int], list[int]]:
    """Places of the candidates to return, best first: those to read, and those that are only ranked.

    A question that was asked before is the likest of all to one that is asked again, and answers nothing.
    """
    valid = candidates.valid_until > as_of.timestamp()
    total = np.where(asks, LAST, 1.0) * scores.total
    total_if_valid = np.where(valid, total, -1.0)
    best = _best_of_each_store(candidates, total_if_valid, settings.k)
    if subject.sure_spans:
        # A fact that is no longer valid was valid then: "where did I live in March?"
        at_the_time = overlapping(candidates.columns.starts, candidates.columns.ends, subject.sure_spans)
        best |= _best_of_each_store(candidates, np.where(at_the_time, total, -1.0), settings.k)
    best |= set(np.flatnonzero(pinned & valid).tolist())
    ranked = _best_of_each_store(candidates, total_if_valid, settings.depth) - best

    def by_total(place: int) -> tuple[float, int]:
        return -total[place], place

    return sorted(best, key=by_total), sorted(ranked, key=by_total)


def _best_of_each_store(candidates: Candidates, scores: Scores, k: int) -> set[int]:
    """Places of the k best candidates of each store whose score is above zero; of equal ones the older."""
    chosen: set[int] = set()
    for store in range(len(STORES)) if k else ():
        places = np.flatnonzero((candidates.columns.stores == store) & (scores > 0))
        if k < len(places):  # a tenth of the time of sorting them all
            places = places[scores[places] >= np.partition(scores[places], -k)[-k]]
        chosen.update(places[np.argsort(-scores[places], kind="stable")][:k].tolist())
    return chosen
