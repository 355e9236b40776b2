"""How fast the bank is on this machine: import, embedding against the bare encoder, and search."""

from __future__ import annotations

import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from memory import indexer
from memory.bank import Bank
from memory.embedder import Embedder
from memory.search import Searcher
from memory.types import PersonaDraft, SessionDraft, TurnDraft

TURNS_A_SESSION = 20
QUESTIONS = 50
ROUNDS = 5
"""Batches on which the encoder is compared with and without the bank."""

VOCABULARY = 8000
COMMONEST = 60
"""Words commoner than this are the function words of talk; questions are searched without them."""

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def run(embedder: Embedder, memories: int) -> dict[str, str | float]:
    """Measure in a bank of made-up talk in a temporary folder; seconds are wall-clock seconds of single runs."""
    embedder.encode(["warm"])
    drafts = made_up_sessions(memories)
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(Path(folder) / "bank.db")
        persona = bank.create_persona(PersonaDraft("Bench"))
        imported = _seconds(partial(_import, bank, persona.id, drafts))
        bare, through_bank = _encoding(bank, embedder, [t.text for d in drafts for t in d.turns])
        fill(bank, embedder, persona.id)
        searcher = Searcher(bank, embedder)
        questions = [f"When did {' '.join(made_up_words(4, COMMONEST))} happen?" for _ in range(QUESTIONS + 1)]
        now = datetime.now(UTC)
        took = [_seconds(partial(_search, searcher, persona.id, q, now)) for q in questions][1:]
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}",
        "date": f"{now:%Y-%m-%d}",
        "memories": memories,
        "import turns/s": round(memories / imported),
        "bare encoder texts/s": round(1 / bare, 1),
        "encoder through the bank texts/s": round(1 / through_bank, 1),
        "share of the bare encoder": round(bare / through_bank, 3),
        "search n": QUESTIONS,
        "search p50 ms": round(float(np.percentile(took, 50)) * 1000, 1),
        "search p95 ms": round(float(np.percentile(took, 95)) * 1000, 1),
    }


def _import(bank: Bank, persona_id: int, drafts: list[SessionDraft]) -> None:
    for i in range(0, len(drafts), 100):
        bank.remember(persona_id, drafts[i : i + 100])


def _search(searcher: Searcher, persona_id: int, question: str, now: datetime) -> None:
    searcher.search(persona_id, searcher.views([question]), now)


def _encoding(bank: Bank, embedder: Embedder, texts: list[str]) -> tuple[float, float]:
    """Seconds a text of the bare encoder and through the bank, medians of rounds taken in turn: the machine drifts."""
    library, bare, through_bank = embedder.library(), [], []
    for n in range(ROUNDS):
        texts_of_round = texts[n * indexer.BATCH : (n + 1) * indexer.BATCH]
        encode = partial(library.encode, texts_of_round, normalize_embeddings=True, show_progress_bar=False)
        bare.append(_seconds(encode) / len(texts_of_round))
        through_bank.append(_seconds(partial(indexer.embed_pending, bank, embedder)) / indexer.BATCH)
    return median(bare), median(through_bank)


def made_up_sessions(memories: int) -> list[SessionDraft]:
    """Sessions of made-up talk between two people, the same at every call."""
    random.seed(7)
    start = datetime(2025, 1, 1, tzinfo=UTC)
    return [
        SessionDraft(
            tuple(
                TurnDraft("Ana" if i % 2 else "Bo", "user", " ".join(made_up_words(random.randint(8, 40))))
                for i in range(TURNS_A_SESSION)
            ),
            start + timedelta(hours=5 * n),
            external_id=f"bench{n}",
        )
        for n in range(memories // TURNS_A_SESSION)
    ]


def made_up_words(n: int, first: int = 1) -> list[str]:
    """Made-up words, some common and most rare, as in talk (Zipf); none of the `first - 1` commonest."""
    ranks = (int(first * (VOCABULARY / first) ** random.random()) for _ in range(n))
    return ["".join(_SYLLABLES[rank // 20**place % 20] for place in range(3)) for rank in ranks]


def fill(bank: Bank, embedder: Embedder, persona_id: int) -> None:
    """Give what is left a random vector: search costs the same, and the encoder has been measured."""
    generator = np.random.default_rng(7)
    with bank.writing() as db:
        missing = "SELECT DISTINCT key_hash FROM memories WHERE key_hash NOT IN (SELECT key_hash FROM vectors)"
        left = [h for (h,) in db.conn.execute(missing)]
        made = generator.standard_normal((len(left), embedder.dimensions)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        db.table("vectors").insert_all(
            {"model": embedder.model, "key_hash": h, "vector": v.tobytes()} for h, v in zip(left, made, strict=True)
        )


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
