"""Measure a bank at each size: encoding, importing, opening, searching, exactness, and plain ways to search."""

import platform
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

from eval.play.models import CachedEmbedder
from eval.reporting.render import fill_in
from eval.runs.run import machine
from eval.speed import references
from eval.speed.asking import Asks, Measured, ask
from eval.speed.references import REFERENCES, Corpus, Question, Ranking, Reference
from eval.speed.synthetic import A_SESSION, BankOfSize, Life, Size, make_bank, sessions_of
from eval.types import Watch
from memory.bank.bank import Bank
from memory.embedding import e5, minilm
from memory.embedding.embedder import Embedder, LibraryEncoder
from memory.search import tokens as lexical
from memory.search.indexer import BATCH, embed_all
from memory.search.scoring import SearchSettings
from memory.search.searcher import Searcher
from memory.types import PersonaDraft

ENCODED = 20_000
"""Memories whose texts are encoded; all other vectors are mixtures of theirs."""

ROUNDS = 5
"""Batches on which the ways of encoding are compared."""

ROUND_TEXTS = BATCH // A_SESSION * A_SESSION
"""Texts of a batch: one transaction of the indexer, in whole sessions."""

UNUSED_SESSION = 10_000_000
"""Sessions from this number on are in no bank that is searched."""

THROUGH_BANK, LIBRARY = "through the bank", "sentence-transformers"
ANY = "any size"
RETRIEVAL = "retrieval"
TOP, TIE = 10, 1e-3
ALONE = {"words": (0, "lexical"), "meaning": (1, "dense")}
"""The weight of meaning in our search by one thing alone, to compare with an exact reference, and its score."""

PACKAGES = ("numpy", "openvino", "torch", "sentence-transformers", "rank-bm25", "bm25s", "tantivy")
METHOD = (
    f"Synthetic conversations. Vectors: the first {ENCODED:,} turns have their own; all others are mixtures of three "
    "of those, with their mean and spectrum. Questions are encoded by the model."
)


@dataclass(frozen=True, slots=True)
class SpeedFigure:
    """Values measured at a size, by statistic ("p50"); `note` says why there are none."""

    measure: str
    unit: str
    size: str
    values: Mapping[str, float]
    n: int
    note: str = ""


def measure(
    life: Life, folder: Path, embedder: Embedder, watch: Watch, *, sizes: Iterable[int], many: Size, n: int
) -> Iterator[SpeedFigure]:
    """Measure banks of one persona of each of these `sizes`, and one of `many`, with `n` questions at each size.

    Each figure is yielded as soon as it is known; banks and embeddings are kept in the folder.
    """
    yield from _encoding(folder, life, embedder)
    cached = CachedEmbedder(folder / "embeddings.db", embedder)
    growing = [Size(1, memories) for memories in sorted(sizes)]
    most = max(size.total for size in (*growing, many))
    texts = [turn.text for session in life.sessions(min(ENCODED, most)) for turn in session.turns]
    for start in range(0, len(texts), BATCH):
        cached.encode_document(texts[start : start + BATCH])
        watch("encoding", min(start + BATCH, len(texts)), len(texts))
    before: tuple[Size, float] | None = None
    for size in growing:
        # The same questions at every size: the smaller life is the beginning of the larger.
        questions = life.questions(n, sessions_of(growing[0], 0), np.random.default_rng([life.seed, 3]))
        made = make_bank(folder, size, life, texts, cached, watch)
        yield from _stored(made, size)
        p50 = yield from _of_one(made, size, questions, cached, watch)
        if before:
            yield SpeedFigure(f"retrieval p50 over that at {before[0]}", "times", str(size), {"": p50 / before[1]}, n)
        before = size, p50
    made = make_bank(folder, many, life, texts, cached, watch)
    yield from _stored(made, many)
    yield from _of_many(made, many, life, embedder.model, watch)


def _encoding(folder: Path, life: Life, embedder: Embedder) -> Iterator[SpeedFigure]:
    """Texts a second for the ways to encode the same texts, in turns, since the machine's speed drifts."""
    name = str(minilm.folder()) if embedder.model == minilm.NAME else embedder.model
    plain = LibraryEncoder(name).model if name != e5.NAME else None  # its package has no such folder
    path = folder / "encoding.db"
    path.unlink(missing_ok=True)
    bank = Bank(path)
    persona = bank.create_persona(PersonaDraft("Bench")).id
    took: dict[str, list[float]] = {THROUGH_BANK: [], "the encoder alone": [], **({LIBRARY: []} if plain else {})}
    for batch in range(ROUNDS + 1):
        sessions = list(life.sessions(ROUND_TEXTS, first=UNUSED_SESSION + batch * ROUND_TEXTS))
        texts = [t.text for s in sessions for t in s.turns] + [each.memory.text for s in sessions for each in s.learned]
        bank.remember(persona, sessions)
        ways: list[Callable[[], object]] = [partial(embed_all, bank, embedder), partial(embedder.encode, texts)]
        if plain:
            ways.append(partial(plain.encode, texts, normalize_embeddings=True, show_progress_bar=False))
        for way, work in zip(took, ways, strict=True):
            started = time.perf_counter()
            work()
            if batch:  # the first loads the weights
                took[way].append((time.perf_counter() - started) / len(texts))
    n = ROUNDS * ROUND_TEXTS
    for way, seconds in took.items():
        yield SpeedFigure(f"encoding, {way}", "texts/s", ANY, {"": 1 / median(seconds)}, n)
    if plain:
        share = median(took[THROUGH_BANK]) / median(took[LIBRARY])
        yield SpeedFigure("encoding, time through the bank over sentence-transformers'", "times", ANY, {"": share}, n)


def _stored(made: BankOfSize, size: Size) -> Iterator[SpeedFigure]:
    n = size.total
    yield SpeedFigure("import, durable and found by its words", "memories/s", str(size), {"": n / made.import_s}, n)
    yield SpeedFigure("packing, in the background", "memories/s", str(size), {"": n / made.pack_s}, n)
    yield SpeedFigure("bank on disk", "MiB", str(size), {"": made.disk_mib}, 1)


def _of_one(
    made: BankOfSize, size: Size, questions: Sequence[str], embedder: Embedder, watch: Watch
) -> Generator[SpeedFigure, None, float]:
    """Ask the questions of one persona, of us and of every reference; returns the median of ours in milliseconds."""
    (persona,), name, n = made.personas, str(size), len(questions)
    asked = [(persona, question) for question in (*questions, questions[0])]
    measured = yield from _asked(made, size, asked, embedder.model, watch)
    ours = _milliseconds(measured.search_s[1:])
    yield SpeedFigure(RETRIEVAL, "ms", name, ours, n)
    bank = Bank(made.path)
    searcher, corpus = Searcher(bank, embedder), references.read(bank, embedder.model, embedder.dimensions)
    vectors = embedder.encode_query(list(questions))
    asks = [(lexical.content_terms(q), vector) for q, vector in zip(questions, vectors, strict=True)]
    for reference in REFERENCES:
        if len(corpus.ids) > reference.most:
            yield SpeedFigure(reference.name, "ms", name, {}, 0, f"not run: {reference.why}")
            continue
        seconds, exact = _searched(reference, corpus, asks, partial(watch, f"{size}: {reference.name}"))
        theirs = _milliseconds(seconds)
        yield SpeedFigure(reference.name, "ms", name, {**theirs, "ours/theirs": ours["p50"] / theirs["p50"]}, n)
        if reference.exact:
            found = [_ranking(searcher, persona, question, *ALONE[reference.exact]) for question in questions]
            yield _recall(reference.exact, name, found, exact, corpus)
    return ours["p50"]


def _asked(
    made: BankOfSize, size: Size, asks: Asks, model: str, watch: Watch
) -> Generator[SpeedFigure, None, Measured]:
    """The figures of a new process that answers these questions; returns all that it measured."""
    measured, name = ask(made.path, model, asks, partial(watch, f"{size}: questions")), str(size)
    note = "" if measured.memory_mib else "not available on this system"
    yield SpeedFigure("query encoding", "ms", name, _milliseconds(measured.encode_s[1:]), len(asks) - 1)
    yield SpeedFigure("first answer of a new process, encoder loaded", "s", name, {"": measured.first_s}, 1)
    yield SpeedFigure("resident memory of that process", "MiB", name, measured.memory_mib, 1, note)
    return measured


def _ranking(searcher: Searcher, persona: int, question: str, weight: float, score: str) -> Ranking:
    """Our ten best by one thing alone."""
    settings = SearchSettings(dense_weight=weight, neighbours=0)
    hits = searcher.search(persona, searcher.views([question]), datetime.now(UTC), settings)
    return sorted(((h.memory.id, h.scores[score]) for h in hits), key=lambda pair: (-pair[1], pair[0]))[:TOP]


def _searched(
    reference: Reference, corpus: Corpus, asks: Sequence[Question], watch: Callable[[int, int], None]
) -> tuple[list[float], list[Ranking]]:
    watch(0, len(asks))
    search = reference.build(corpus)
    search(*asks[0])  # what it builds at the first question is not timed
    took, found = [], []
    for done, question in enumerate(asks, start=1):
        started = time.perf_counter()
        found.append(search(*question))
        took.append(time.perf_counter() - started)
        watch(done, len(asks))
    return took, found


def _recall(by: str, size: str, ours: Sequence[Ranking], exact: Sequence[Ranking], corpus: Corpus) -> SpeedFigure:
    """The share of the exact ten best that are found; a tie with the tenth counts."""
    shares = []
    for found, ranking in zip(ours, exact, strict=True):
        best = [(i, score) for i, score in ranking if i not in corpus.closed and score > 0][:TOP]
        if best:
            right, last = {i for i, _ in best}, best[-1][1]
            hit = sum(i in right or abs(score - last) <= TIE * last for i, score in found[: len(best)])
            shares.append(hit / len(best))
    values = {"": float(np.mean(shares))} if shares else {}
    return SpeedFigure(f"recall@10 by {by} against exact", "share", size, values, len(shares))


def _of_many(made: BankOfSize, size: Size, life: Life, model: str, watch: Watch) -> Iterator[SpeedFigure]:
    """Ask every persona once in random order, then once more in another request."""
    draw, n = np.random.default_rng([life.seed, 3]), size.personas
    asks = []
    for place in (place for _ in ("cold", "warm") for place in draw.permutation(n).tolist()):
        (question,) = life.questions(1, sessions_of(size, place), draw)
        asks.append((made.personas[place], question))
    measured = yield from _asked(made, size, asks, model, watch)
    first, again = measured.search_s[1:n], measured.search_s[n:]
    yield SpeedFigure(f"{RETRIEVAL}, a persona's first question", "ms", str(size), _milliseconds(first), n - 1)
    yield SpeedFigure(RETRIEVAL, "ms", str(size), _milliseconds(again), n)


def _milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000 if seconds else (np.nan, np.nan)
    return {"p50": float(p50), "p95": float(p95)}


# --- the table


def conditions() -> dict[str, str]:
    """Where, when, with what and how it was measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "machine": machine(),
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": f"Python {platform.python_version()}, {packages}",
        "how": METHOD,
    }


def to_markdown(figures: Sequence[SpeedFigure]) -> str:
    """One row for each measure, one column for each size, after a paragraph on where and how it was measured."""
    sizes = [*dict.fromkeys(f.size for f in figures if f.size != ANY), ANY]
    return fill_in("speed.md", figures=figures, sizes=sizes, conditions=conditions())
