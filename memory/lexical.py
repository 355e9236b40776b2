"""The words of a text as the index sees them, and BM25 over them.

Two rankers give the same order: `fts5`, SQLite's own inverted index, which is always in step with the rows, and
`rank-bm25`, the reference, which reads every memory of the persona for each question.
BM25: Robertson & Zaragoza 2009, k1 = 1.2, b = .75; idf = ln((N - n + .5) / (n + .5)), floored at 1e-6 as FTS5 does.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import Stemmer
from sqlite_utils import Database

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
"""A pasted page is no sharper a question than its rarest words; the cost of FTS5 grows with every word."""

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


def scope(persona_id: int) -> str:
    """The index word that belongs to every memory of a persona and to no other."""
    return f"persona{persona_id}"


def fts5(db: Database, persona_id: int, query: Sequence[str], limit: int) -> dict[int, float]:
    """The `limit` best memories of a persona by FTS5, as id -> BM25 score, best first; all if `limit` is below 0.

    FTS5 weighs a word by its rarity in the whole bank, where one persona's everyday word may be rare: each word is
    asked for by itself and weighed anew by its rarity among this persona's memories.
    """
    total, everywhere = _size(db, persona_id), int(db.conn.execute("SELECT count(*) FROM memories").fetchone()[0])
    scores: dict[int, float] = {}
    for term in _rarest(query):
        found = db.conn.execute(
            "SELECT rowid, -bm25(memories_fts, 0.0, 1.0) FROM memories_fts WHERE memories_fts MATCH ?",
            (_match(persona_id, term),),
        ).fetchall()
        if not found:
            continue
        held = db.conn.execute("SELECT doc FROM memories_terms WHERE term = ?", (term,)).fetchone()
        weight = _idf(total, len(found)) / _idf(everywhere, int(held[0]))
        for memory_id, score in found:
            scores[memory_id] = scores.get(memory_id, 0.0) + weight * score
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ranked if limit < 0 else ranked[:limit])


def _match(persona_id: int, term: str) -> str:
    return f'scope : "{scope(persona_id)}" AND terms : "{term}"'


def _idf(total: int, held: int) -> float:
    return max(math.log((total - held + 0.5) / (held + 0.5)), 1e-6)


def _size(db: Database, persona_id: int) -> int:
    return int(db.conn.execute("SELECT count(*) FROM memories WHERE persona_id = ?", (persona_id,)).fetchone()[0])


def _rarest(query: Sequence[str]) -> list[str]:
    unique = list(dict.fromkeys(query))
    if len(unique) <= MAX_QUERY_TERMS:
        return unique
    # Rarity would cost a look-up a word; longer words are rarer (Zipf), and the order of equals is the question's.
    return sorted(unique, key=len, reverse=True)[:MAX_QUERY_TERMS]


def rank_bm25(db: Database, persona_id: int, query: Sequence[str], limit: int) -> dict[int, float]:
    """The same by the reference implementation; reads the terms of every memory of the persona."""
    rows = db.conn.execute("SELECT id, terms FROM memories WHERE persona_id = ?", (persona_id,)).fetchall()
    if not rows or not query:
        return {}
    # FTS5 counts a document's length over all its columns, so the one word of `scope` belongs to it.
    reference = _reference([[*str(t).split(), scope(persona_id)] for _, t in rows])
    # `query` terms that occur twice count once, as in FTS5.
    scores = reference.get_scores(_rarest(query))
    ranked = sorted(
        ((float(s), int(i)) for s, (i, _) in zip(scores, rows, strict=True) if s > 0), key=lambda p: (-p[0], p[1])
    )
    return {i: s for s, i in (ranked if limit < 0 else ranked[:limit])}


def _reference(corpus: list[list[str]]) -> Any:  # noqa: ANN401  # the package has no types
    from rank_bm25 import BM25Okapi

    class Reference(BM25Okapi):  # type: ignore[misc]  # the package has no types
        """rank-bm25's Okapi with FTS5's idf, so that no common word scores below zero."""

        def _calc_idf(self, nd: Mapping[str, int]) -> None:
            n = self.corpus_size
            self.idf = {w: _idf(n, f) for w, f in nd.items()}

    return Reference(corpus, k1=1.2, b=0.75)


Ranker = Callable[[Database, int, Sequence[str], int], dict[int, float]]
RANKERS: dict[str, Ranker] = {"fts5": fts5, "rank-bm25": rank_bm25}


def frequencies(db: Database, persona_id: int, wanted: Iterable[str], said_by: str) -> tuple[int, dict[str, int]]:
    """How many memories a persona had at a moment (as the bank keeps it), and how many of them held each term."""
    known = f"coalesce({KNOWN_FROM}, '') <= ?"
    joined = "memories_fts f JOIN memories m ON m.id = f.rowid"
    with_term = f"SELECT count(*) FROM {joined} WHERE memories_fts MATCH ? AND {known}"
    whole = f"SELECT count(*) FROM memories m WHERE m.persona_id = ? AND {known}"
    held = {
        term: int(db.conn.execute(with_term, (_match(persona_id, term), said_by)).fetchone()[0])
        for term in dict.fromkeys(wanted)
    }
    return int(db.conn.execute(whole, (persona_id, said_by)).fetchone()[0]), held
