"""The words of a text as the index sees them, and BM25 over them by the reference implementation.

`memory.search.engine.postings` scores the same from an inverted index; `rank_bm25` reads every memory of the persona
each time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import Stemmer
from numpy.typing import NDArray
from sqlite_utils import Database

from memory.search.engine.postings import K1, B, idf

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)*")
_IS_CJK = re.compile(rf"[{_CJK}]")

FUNCTION_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being both but by can could did do does doing
    done for from get got had has have having he her here hers him his how i if in into is it its just may me might mine
    more most much must my no nor not of off on once one or other our ours out over own shall she should so some such
    than that the their theirs them then there these they this those to too under until up us very was we were what
    when where which while who whom whose why will with would you your yours i'm i've i'd i'll you're it's that's don't
    didn't doesn't isn't wasn't aren't weren't haven't hasn't hadn't won't wouldn't can't couldn't
    """.split()
)
"""English words of the closed classes: in a question they ask, they do not name."""

KNOWN_FROM = "coalesce(m.said_at, m.valid_from, m.event_start)"
"""When a memory, as `m`, came to be known: when it was said or, where nobody knows, when it held or happened."""

MAX_QUERY_TERMS = 64
"""A pasted page is no sharper a question than its rarest words; the cost of a search grows with every word."""

_stem = lru_cache(maxsize=100_000)(Stemmer.Stemmer("english", 0).stemWord)


def words(text: str) -> list[str]:
    """The words of a text, lower-cased, in order; a run of Chinese or Japanese gives its overlapping pairs."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if _IS_CJK.match(word) and len(word) > 1:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
        else:
            found.append(word.replace("’", "'"))
    return found


def terms(text: str) -> list[str]:
    """The words as indexed: stemmed (Snowball English), a possessive 's dropped."""
    return [t for w in words(text) for t in [_stem(w.removesuffix("'s")).replace("'", "")] if t]


def content_terms(text: str) -> list[str]:
    """The terms of the words that name something, each once; all terms if none does."""
    named = [w for w in words(text) if w not in FUNCTION_WORDS]
    return list(dict.fromkeys(terms(" ".join(named) or text)))


def rarest(query: Sequence[str]) -> list[str]:
    """At most `MAX_QUERY_TERMS` of the terms, in all likelihood the rarest."""
    unique = list(dict.fromkeys(query))
    if len(unique) <= MAX_QUERY_TERMS:
        return unique
    # Rarity would cost a look-up a word; longer words are rarer (Zipf), and the order of equals is the question's.
    return sorted(unique, key=len, reverse=True)[:MAX_QUERY_TERMS]


def rank_bm25(db: Database, persona_id: int, query: Sequence[str]) -> NDArray[np.float64]:
    """BM25 of each memory of a persona, in order of id, by the reference implementation; reads the terms of all."""
    held = [
        str(terms).split()
        for (terms,) in db.conn.execute("SELECT terms FROM memories WHERE persona_id = ? ORDER BY id", (persona_id,))
    ]
    if not any(held):  # the mean length would be zero
        return np.zeros(len(held))
    return np.asarray(_reference(held).get_scores(list(query)), dtype=np.float64)


def _reference(corpus: list[list[str]]) -> Any:  # noqa: ANN401  # the package has no types
    from rank_bm25 import BM25Okapi

    class Reference(BM25Okapi):  # type: ignore[misc]  # the package has no types
        """rank-bm25's Okapi with our idf, so that no common word scores below zero."""

        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            n = self.corpus_size
            self.idf = {word: idf(n, held) for word, held in nd.items()}

    return Reference(corpus, k1=K1, b=B)
