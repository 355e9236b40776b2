"""What a bank does at each size: importing, encoding, searching, opening; how exactly, and beside plain ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from eval.play.embeddings import CachedEmbedder
from eval.speed import references, worlds
from eval.speed.asking import TOP, Asked, Job, Ranking, ask
from eval.speed.references import EXACT_MEANING, EXACT_WORDS, REFERENCES, Corpus, Question, Reference
from eval.speed.synthetic import A_SESSION, Life
from eval.speed.worlds import Size, Watch, World
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search import tokens as lexical
from memory.search.indexer import BATCH, embed_all
from memory.types import PersonaDraft

ENCODED = 20_000
"""Memories whose texts are encoded; the vectors of all others are mixtures of these."""

ROUNDS = 5
"""Batches on which ways of encoding are compared."""

A_ROUND = BATCH // A_SESSION * A_SESSION
"""Texts of a round: one transaction of the indexer, in whole sessions."""

UNHEARD = 10_000_000
"""Sessions from here on are in no bank that is searched."""

ANY = "any size"
TIE = 1e-3


@dataclass(frozen=True, slots=True)
class Order:
    """What to measure: banks of one persona, one of many, and how many questions each is asked."""

    sizes: tuple[int, ...]
    personas: Size | None
    questions: int = 100
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured at a size, by name of the statistic ("p50"); `note` stands instead of what was not."""

    measure: str
    unit: str
    size: str
    values: Mapping[str, float]
    n: int
    note: str = ""


def measure(order: Order, folder: Path, embedder: Embedder, watch: Watch) -> Iterator[Figure]:
    """Each figure as soon as it is known; banks and embeddings are kept in the folder."""
    life = Life(order.seed)
    yield from _encoding(folder, life, embedder)
    cached = CachedEmbedder(folder / "embeddings.db", embedder)
    sizes = [Size(1, n) for n in sorted(order.sizes)]
    texts = _encoded(life, max(size.total for size in (*sizes, *filter(None, [order.personas]))), cached, watch)
    before: tuple[Size, float] | None = None
    for size in sizes:
        # The same questions at every size: the smaller life is the beginning of the larger.
        draw = np.random.default_rng([order.seed, 3])
        questions = life.questions(order.questions, worlds.sessions_of(sizes[0], 0), draw)
        world = worlds.make(folder, size, life, texts, cached, watch)
        yield from _stored(world, size)
        p50 = 0.0
        for figure in _of_one(world, size, questions, cached, watch):
            p50 = figure.values["p50"] if figure.measure == RETRIEVAL else p50
            yield figure
        if before:
            grown = {"": p50 / before[1]}
            yield Figure(f"retrieval p50 over that at {before[0]}", "times", str(size), grown, order.questions)
        before = size, p50
    if order.personas:
        world = worlds.make(folder, order.personas, life, texts, cached, watch)
        yield from _stored(world, order.personas)
        yield from _of_many(world, order.personas, life, embedder.model, watch)


# --- encoding


def _encoding(folder: Path, life: Life, embedder: Embedder) -> Iterator[Figure]:
    """Texts a second of three ways to encode the same texts, taken in turn: the machine drifts."""
    plain, path = embedder.sentence_transformer(), folder / "encoding.db"
    path.unlink(missing_ok=True)
    bank = Bank(path)
    persona = bank.create_persona(PersonaDraft("Bench")).id
    took: dict[str, list[float]] = {"sentence-transformers": [], "the encoder alone": [], "through the bank": []}
    for turn in range(ROUNDS + 1):
        sessions = list(life.sessions(A_ROUND, first=UNHEARD + turn * A_ROUND))
        texts = [t.text for s in sessions for t in s.turns] + [each.memory.text for s in sessions for each in s.learned]
        bank.remember(persona, sessions)
        ways: tuple[Callable[[], object], ...] = (
            partial(plain.encode, texts, normalize_embeddings=True, show_progress_bar=False),
            partial(embedder.encode, texts),
            partial(embed_all, bank, embedder),
        )
        for way, work in zip(took, ways, strict=True):
            started = time.perf_counter()
            work()
            if turn:  # the first loads the weights
                took[way].append((time.perf_counter() - started) / len(texts))
    n = ROUNDS * A_ROUND
    for way, seconds in took.items():
        yield Figure(f"encoding, {way}", "texts/s", ANY, {"": 1 / median(seconds)}, n)
    share = median(took["through the bank"]) / median(took["sentence-transformers"])
    yield Figure("encoding, time through the bank over sentence-transformers'", "times", ANY, {"": share}, n)


def _encoded(life: Life, memories: int, embedder: CachedEmbedder, watch: Watch) -> list[str]:
    """The first texts of a life, encoded."""
    texts = [t.text for s in life.sessions(min(ENCODED, memories)) for t in s.turns]
    for start in range(0, len(texts), BATCH):
        embedder.encode(texts[start : start + BATCH])
        watch("encoding", min(start + BATCH, len(texts)), len(texts))
    return texts


# --- one persona


RETRIEVAL = "retrieval"


def _stored(world: World, size: Size) -> Iterator[Figure]:
    n = size.total
    yield Figure("import, durable and found by its words", "memories/s", str(size), {"": n / world.import_s}, n)
    yield Figure("packing, in the background", "memories/s", str(size), {"": n / world.pack_s}, n)
    yield Figure("bank on disk", "MiB", str(size), {"": world.disk_mib}, 1)


def _of_one(world: World, size: Size, questions: Sequence[str], embedder: Embedder, watch: Watch) -> Iterator[Figure]:
    (persona,), name, n = world.personas, str(size), len(questions)
    job = Job(str(world.path), embedder.model, tuple((persona, q) for q in (*questions, questions[0])), n)
    asked = _asked(job, f"{size}: questions", watch)
    yield Figure("query encoding", "ms", name, _milliseconds(asked.encode_s[1:]), n)
    yield from _opened(asked, name)
    ours = _milliseconds(asked.search_s[1:])
    yield Figure(RETRIEVAL, "ms", name, ours, n)
    corpus = references.read(Bank(world.path), embedder.model, embedder.dimensions)
    asks = [
        Question(lexical.content_terms(q), v) for q, v in zip(questions, embedder.encode(list(questions)), strict=True)
    ]
    for reference in REFERENCES:
        if len(corpus.ids) > reference.most:
            yield Figure(reference.name, "ms", name, {}, 0, f"not run: {reference.why}")
            continue
        seconds, found = _searched(reference, corpus, asks, partial(watch, f"{size}: {reference.name}"))
        theirs = _milliseconds(seconds)
        yield Figure(reference.name, "ms", name, {**theirs, "ours/theirs": ours["p50"] / theirs["p50"]}, n)
        if reference is EXACT_WORDS:
            yield _recall("words", name, [words for words, _ in asked.found], found, corpus)
        if reference is EXACT_MEANING:
            yield _recall("meaning", name, [meaning for _, meaning in asked.found], found, corpus)


def _searched(
    reference: Reference, corpus: Corpus, asks: Sequence[Question], watch: Callable[[int, int], None]
) -> tuple[list[float], list[Ranking]]:
    watch(0, len(asks))
    search = reference.build(corpus)
    search(asks[0])  # what it makes at the first question is not counted against it
    took, found = [], []
    for done, question in enumerate(asks, start=1):
        started = time.perf_counter()
        found.append(search(question))
        took.append(time.perf_counter() - started)
        watch(done, len(asks))
    return took, found


def _recall(by: str, size: str, ours: Sequence[Ranking], exact: Sequence[Ranking], corpus: Corpus) -> Figure:
    """How many of the exact ten best are found; what ties with the tenth is as good."""
    shares = []
    for found, ranking in zip(ours, exact, strict=True):
        best = [(i, score) for i, score in ranking if i not in corpus.closed and score > 0][:TOP]
        if best:
            right, last = {i for i, _ in best}, best[-1][1]
            hit = sum(i in right or abs(score - last) <= TIE * last for i, score in found[: len(best)])
            shares.append(hit / len(best))
    values = {"": float(np.mean(shares))} if shares else {}
    return Figure(f"recall@10 by {by} against exact", "share", size, values, len(shares))


# --- many personas


def _of_many(world: World, size: Size, life: Life, model: str, watch: Watch) -> Iterator[Figure]:
    """Every persona is asked once, in random order, and once more in another."""
    draw = np.random.default_rng([life.seed, 3])
    asks = []
    for _ in ("cold", "warm"):
        for place in draw.permutation(size.personas).tolist():
            (question,) = life.questions(1, worlds.sessions_of(size, place), draw)
            asks.append((world.personas[place], question))
    asked = _asked(Job(str(world.path), model, tuple(asks)), f"{size}: questions", watch)
    name, n = str(size), size.personas
    yield Figure("query encoding", "ms", name, _milliseconds(asked.encode_s[1:]), len(asks) - 1)
    yield from _opened(asked, name)
    yield Figure(f"{RETRIEVAL}, a persona's first question", "ms", name, _milliseconds(asked.search_s[1:n]), n - 1)
    yield Figure(RETRIEVAL, "ms", name, _milliseconds(asked.search_s[n:]), n)


def _opened(asked: Asked, size: str) -> Iterator[Figure]:
    yield Figure("first answer of a new process, encoder loaded", "s", size, {"": asked.first_s}, 1)
    note = "" if asked.memory_mib else "not told by this system"
    yield Figure("resident memory of that process", "MiB", size, asked.memory_mib, 1, note)


def _asked(job: Job, what: str, watch: Watch) -> Asked:
    done, total = 0, len(job.asks) + job.exact + 1

    def one() -> None:
        nonlocal done
        done += 1
        watch(what, done, total)

    return ask(job, one)


def _milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(seconds, [50, 95]) * 1000 if seconds else (np.nan, np.nan)
    return {"p50": float(p50), "p95": float(p95)}
