"""Plain ways to search the same memories, to compare ours with; two of them are exact.

Each is built from the words as the bank indexes them, or from its vectors, and returns the best memories of a question.
"""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.bank.bank import Bank
from memory.bank.queries import indexing
from memory.embedding.embedder import Vectors
from memory.errors import MemoirError

Ranking = list[tuple[int, float]]
"""Ids and scores, best first."""

REACH = 20
"""How many memories each returns: ten are compared, after facts that no longer hold are dropped."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """A bank's memories: ids, terms as one text each, vectors (n, d), and the ids of facts that no longer hold."""

    ids: NDArray[np.int64]
    terms: Sequence[str]
    vectors: Vectors
    closed: frozenset[int]
    folder: Path


def read(bank: Bank, model: str, dimensions: int) -> Corpus:
    """Read all memories of a bank."""
    none = bytes(4 * dimensions)
    with bank.reading() as db:
        memories = db.conn.execute(indexing.SQL["words_and_vectors"], (model,)).fetchall()
    closed = frozenset(memory for memory, _, valid_to, _ in memories if valid_to is not None)
    ids, terms = np.array([memory for memory, *_ in memories], np.int64), [words for _, words, _, _ in memories]
    vectors = np.frombuffer(b"".join(vector or none for *_, vector in memories), np.float32)
    return Corpus(ids, terms, vectors.reshape(-1, dimensions), closed, bank.path.parent)


Question = tuple[Sequence[str], Vectors]
"""A question's terms and its vector."""

Search = Callable[[Sequence[str], Vectors], Ranking]


def fts5(corpus: Corpus) -> Search:
    """SQLite's full-text index for any of the words, ranked by its bm25(): exact BM25 over one persona's bank."""
    path = corpus.folder / "reference.db"
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE talk USING fts5(terms, content='', tokenize='unicode61 remove_diacritics 0')")
    with db:
        rows = zip(corpus.ids.tolist(), corpus.terms, strict=True)
        db.executemany("INSERT INTO talk (rowid, terms) VALUES (?, ?)", rows)
    best = "SELECT rowid, -bm25(talk) FROM talk WHERE talk MATCH ? ORDER BY bm25(talk), rowid LIMIT ?"
    return lambda terms, vector: db.execute(best, (" OR ".join(f'"{t}"' for t in terms), REACH)).fetchall()


def brute_force(corpus: Corpus) -> Search:
    """The cosine with every memory, in float32: exact."""
    return lambda terms, vector: _best(corpus.ids, corpus.vectors @ vector)


def bm25s(corpus: Corpus) -> Search:
    """bm25s: scores are computed when it is built, as a sparse matrix; raises `MemoirError` if not installed."""
    package = _package("bm25s")
    index = package.BM25(k1=1.2, b=0.75)
    index.index([terms.split() for terms in corpus.terms], show_progress=False)

    def search(terms: Sequence[str], vector: Vectors) -> Ranking:
        # It fails on words that it does not know.
        known = [term for term in terms if term in index.vocab_dict]
        if not known:
            return []
        rows, scores = index.retrieve([known], k=min(REACH, len(corpus.ids)), show_progress=False)
        return [(int(corpus.ids[row]), float(s)) for row, s in zip(rows[0], scores[0], strict=True)]

    return search


def tantivy(corpus: Corpus) -> Search:
    """Tantivy, a search engine in Rust, with its index in memory; raises `MemoirError` if not installed."""
    package = _package("tantivy")
    builder = package.SchemaBuilder()
    builder.add_text_field("terms", tokenizer_name="whitespace", index_option="freq")
    builder.add_integer_field("id", stored=True)
    schema = builder.build()
    index = package.Index(schema)
    writer = index.writer(num_threads=1)
    for memory_id, terms in zip(corpus.ids.tolist(), corpus.terms, strict=True):
        writer.add_document(package.Document(id=memory_id, terms=terms))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(terms: Sequence[str], vector: Vectors) -> Ranking:
        words = [(package.Occur.Should, package.Query.term_query(schema, "terms", t, "freq")) for t in terms]
        found = searcher.search(package.Query.boolean_query(words), REACH).hits
        return [(searcher.doc(address)["id"][0], score) for score, address in found]

    return search


def rank_bm25(corpus: Corpus) -> Search:
    """rank-bm25's Okapi: every document is scored for every question."""
    from rank_bm25 import BM25Okapi

    index = BM25Okapi([terms.split() for terms in corpus.terms], k1=1.2, b=0.75)
    return lambda terms, vector: _best(corpus.ids, index.get_scores(list(terms)))


def _package(name: str) -> Any:  # noqa: ANN401  # packages without types
    try:
        return import_module(name)
    except ImportError as fault:
        raise MemoirError(f"the bench needs {name}: python -m pip install -r requirements-test.txt") from fault


def _best(ids: NDArray[np.int64], scores: NDArray[np.floating]) -> Ranking:
    near = np.argpartition(-scores, min(REACH, len(scores)) - 1)[:REACH]
    ordered = near[np.lexsort((ids[near], -scores[near]))]
    return [(int(ids[row]), float(scores[row])) for row in ordered]


@dataclass(frozen=True, slots=True)
class Reference:
    """A way to search, and the most memories it is run with; `why` says what keeps it from more.

    `exact` is "words" or "meaning" if it finds the very best by these.
    """

    name: str
    build: Callable[[Corpus], Search]
    exact: str = ""
    most: int = 2_000_000
    why: str = ""


REFERENCES = (
    Reference("FTS5, any word, bm25()", fts5, "words"),
    Reference("NumPy float32, every vector", brute_force, "meaning"),
    Reference("bm25s", bm25s),
    Reference("tantivy", tantivy),
    Reference("rank-bm25", rank_bm25, most=100_000, why="reads every document for each question"),
)
