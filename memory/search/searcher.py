"""Find the memories that may answer a question: of every store the best k, by words and by meaning together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.bank.bank import Bank
from memory.bank.queries import indexing
from memory.bank.queries.memories import memories_by_id, visible_personas
from memory.bank.rows import clean
from memory.embedding.embedder import Embedder, Vectors
from memory.search import scoring
from memory.search.engine.index import DenseScores, Index, IndexCache, Rows
from memory.search.engine.postings import Mask, reference_bm25, term_code
from memory.search.engine.segments import MAX_ROWS, column
from memory.search.names import possible_names
from memory.search.scoring import DIALOGUE, Candidates, Scores, SearchSettings, Subject
from memory.search.tokens import query_terms
from memory.types import QUESTION, STORES, DropReason, Hit, TimeSpan

MAX_NAMES = 64
"""Possible names looked up of one text: each is compared with the speaker of every turn."""

MAIN_SPEAKER_SHARE = 0.2
"""The share of all turns above which somebody is a main speaker."""

MAX_PINNED = 10
"""Pinned memories that are considered for every question: they take room from those that were found."""

LAST = 1e-6
"""Share of its score that a turn that only asks keeps: it comes after all that tell."""

COARSE = 3000
"""Memories of a store whose exact cosine to a view is computed: 99 of 100 of the ten nearest are among them."""

KEPT = 300
"""Memories of a store that are scored for being near to a view, and as many for its words. A search returns the ten
best of a store by both together."""

SAMPLE_TOP = 64
"""A cutoff is taken from a sample that holds so many of the best scores: it is then off by an eighth or so."""


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
        self._indexes = IndexCache(embedder)

    def views(self, texts: Sequence[str]) -> tuple[View, ...]:
        """Embed several wordings of a question in one encoder call."""
        texts = [clean(text) for text in texts]
        vectors = self.embedder.encode_query(texts)
        return tuple(View(t, v) for t, v in zip(texts, vectors, strict=True))

    def main_speakers(self, persona_id: int, text: str, as_of: datetime) -> tuple[str, ...]:
        """The names in a text of main speakers: those who said over `MAIN_SPEAKER_SHARE` of all turns up to `as_of`.

        Somebody who is only talked about has hardly a turn of their own.
        """
        codes = {name: term_code(name) for name in islice(possible_names(text), MAX_NAMES)}
        if not codes:
            return ()
        with self._open_index(persona_id, joined=False) as (_, index):
            is_turn = index.known_at(as_of) & (index.stores == DIALOGUE)
            speakers = column(index.segments, "speakers")[is_turn]
        least = MAIN_SPEAKER_SHARE * len(speakers)
        return tuple(name for name, code in codes.items() if np.count_nonzero(speakers == code) > least)

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
        other fifty. `Hit.scores` are those of `memory.search.scoring.score`, `Hit.score` is their total.
        """
        settings, subject = settings or SearchSettings(), subject or Subject()
        with self._open_index(persona_id) as (db, index):
            if not len(index) or not views:
                return ()
            personas, queries = visible_personas(db, persona_id), [query_terms(view.text) for view in views]
            if settings.dense_weight == 1:
                lexical = np.zeros((len(queries), len(index)))
            elif settings.ranker == "rank-bm25":
                lexical = reference_bm25(indexing.index_terms(db, personas), queries)
            else:
                lexical = index.lexical_scores(queries, as_of)
            dense = index.dense_scores(np.stack([view.vector for view in views]))
            pinned = index.rows_of(indexing.pinned_ids(db, persona_id, MAX_PINNED))
            pinned = pinned[index.known_at(as_of)[pinned]]
            rows = likely_rows(index, lexical, dense, as_of, subject.sure_spans, max(settings.k, settings.depth))
            rows = np.union1d(rows, pinned) if len(pinned) else rows
            shares = np.array([self.embedder.share_in_vocabulary(view.text) for view in views])
            candidates = index.candidates(rows, shares, lexical[:, rows], dense.cosine(rows).astype(np.float64))
            scores = scoring.score(candidates, [view.weight for view in views], subject, settings)
            # A question that was asked before is the likest of all to one that is asked again, and answers nothing.
            asks = np.isin(candidates.columns.ids, indexing.ids_of_attribute(db, personas, QUESTION))
            total = scores.pop("total")
            ranking = np.where(asks, LAST, 1.0) * total
            best, ranked = _rank(candidates, ranking, np.isin(rows, pinned), as_of, settings, subject)
            memories = memories_by_id(db, persona_id, candidates.columns.ids[[*best, *ranked]].tolist())
        unread: tuple[DropReason, str] = ("rank", f"not among the {settings.k} best of its kind")
        return tuple(
            Hit(
                memory,
                float(total[place]),
                {name: round(float(values[place]), 4) for name, values in scores.items()},
                *(unread if n >= len(best) else ()),
            )
            for n, (memory, place) in enumerate(zip(memories, [*best, *ranked], strict=True))
        )

    @contextmanager
    def _open_index(self, persona_id: int, *, joined: bool = True) -> Iterator[tuple[Database, Index]]:
        """A connection in a transaction, and the persona's index at the same state of the bank.

        It is `joined` with what the user said to others, or else of the persona's own memories alone.
        """
        with self.bank.reading_snapshot() as db:
            yield db, self._indexes.get(db, *(visible_personas(db, persona_id) if joined else [persona_id]))


def likely_rows(
    index: Index, lexical: Scores, dense: DenseScores, as_of: datetime, during: Sequence[TimeSpan], wanted: int
) -> Rows:
    """The rows to score, ascending: all known at `as_of` or, where they exceed a segment, the likely ones.

    Those are of each store the best by meaning and by words, among all that held then and, with `during`, among the
    memories of those times. `wanted` is how many of each store will be ranked.

        index of n = 1,000,000 rows, 2 views
        lexical (2, n)           BM25 of all rows
        dense.coarse (2, n)      about the cosine of all rows, from 96 of 384 coordinates
        per store and view       300 best of lexical; 3000 best of coarse, of which the 300 best by cosine
        result (m,)              their rows and the turns next to them, ascending; m is some thousands
    """
    known = index.known_at(as_of)
    if len(index) <= MAX_ROWS:
        return np.flatnonzero(known)
    kept = max(KEPT, 3 * wanted)
    valid = known.copy()
    valid[index.closed.rows[index.closed.at <= as_of.timestamp()]] = False
    selected = np.zeros(len(index), dtype=np.bool_)
    masks = (valid, known & index.overlapping(during)) if during else (valid,)
    for mask, store in product(masks, range(len(STORES))):
        of_store = mask & (index.stores == store)
        rows = np.flatnonzero(of_store)
        if len(rows) <= kept:
            selected[rows] = True
            continue
        for view in range(len(lexical)):
            selected[_best(of_store, rows, lexical[view], kept)] = True
            near = _best(of_store, rows, dense.coarse[view], max(COARSE, kept))
            cosine = dense.cosine(near, slice(view, view + 1))[0]
            selected[near[cosine >= _cutoff(cosine[_sample(kept)])]] = True
    _add_neighbours(selected, index)
    return np.flatnonzero(selected & known)


def _best(mask: Mask, rows: Rows, scores: NDArray[Any], count: int) -> Rows:
    """About `count` of the rows (those of the mask) with the best scores; `scores` and `mask` have shape (n,)."""
    cutoff = _cutoff(scores[rows[_sample(count)]])
    if len(rows) < len(scores) // 8:
        return rows[scores[rows] >= cutoff]
    return np.flatnonzero(mask & (scores >= cutoff))  # gathering the scores of most rows would take ten times as long


def _sample(count: int) -> slice:
    """Every k-th row, so that the best `SAMPLE_TOP` of them stand for the best `count` of all."""
    return slice(None, None, max(1, count // SAMPLE_TOP) | 1)  # an odd step, because sessions may repeat a pattern


def _cutoff(sample: NDArray[Any]) -> float:
    """The `SAMPLE_TOP`-th best score of a sample; with fewer above zero, the smallest positive number."""
    above = sample[sample > 0]
    if len(sample) <= SAMPLE_TOP or len(above) < SAMPLE_TOP:
        return float(np.finfo(sample.dtype).smallest_subnormal)
    return float(np.partition(above, -SAMPLE_TOP)[-SAMPLE_TOP])


def _add_neighbours(selected: Mask, index: Index) -> None:
    """Select the turns next to those selected, which gain from them."""
    rows = np.flatnonzero(selected)
    places = np.searchsorted(index.turns, rows[index.stores[rows] == DIALOGUE])
    for step in (sign * reach for reach in range(1, 1 + len(scoring.NEIGHBOUR_SHARES)) for sign in (-1, 1)):
        neighbours = places + step
        selected[index.turns[neighbours[(neighbours >= 0) & (neighbours < len(index.turns))]]] = True


def _rank(
    candidates: Candidates, total: Scores, pinned: Mask, as_of: datetime, settings: SearchSettings, subject: Subject
) -> tuple[list[int], list[int]]:
    """Places of the candidates to return, best first: those to read, and those that are only ranked."""
    valid = candidates.valid_until > as_of.timestamp()
    total_if_valid = np.where(valid, total, -1.0)
    best = _best_of_each_store(candidates, total_if_valid, settings.k)
    if subject.sure_spans:
        # A fact that is no longer valid was valid then: "where did I live in March?"
        at_the_time = scoring.overlapping(candidates.columns.starts, candidates.columns.ends, subject.sure_spans)
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
