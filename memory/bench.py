"""How fast the bank is on this machine: import, embedding against the bare encoder, and search."""

from __future__ import annotations

import platform
import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from memory import indexer
from memory.bank import Bank
from memory.embedder import Embedder
from memory.search import Searcher
from memory.types import PersonaDraft, SessionDraft, TurnDraft

TURNS_A_SESSION = 20
QUESTIONS = 50
EMBEDDED = 1500
"""Texts on which the encoder is compared with and without the bank."""

_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split()


def run(embedder: Embedder, memories: int) -> dict[str, str | float]:
    """Measure in a bank of made-up talk in a temporary folder; seconds are wall-clock seconds of single runs."""
    embedder.encode(["warm"])
    drafts = made_up_sessions(memories)
    with tempfile.TemporaryDirectory() as folder:
        bank = Bank(Path(folder) / "bank.db")
        persona = bank.create_persona(PersonaDraft("Bench"))
        started = time.perf_counter()
        for i in range(0, len(drafts), 100):
            bank.remember(persona.id, drafts[i : i + 100])
        imported = time.perf_counter() - started

        texts = [t.text for d in drafts for t in d.turns][:EMBEDDED]
        bare = _seconds(lambda: embedder.encode(texts))
        done, started = 0, time.perf_counter()
        while done < EMBEDDED and (batch := indexer.embed_pending(bank, embedder)):
            done += batch
        through_bank = (time.perf_counter() - started) / done
        fill(bank, embedder, persona.id)

        searcher = Searcher(bank, embedder)
        questions = [f"When did {' '.join(made_up_words(4))} happen?" for _ in range(QUESTIONS)]
        searcher.search(persona.id, searcher.views(questions[:1]), datetime.now(UTC))
        took = [
            _seconds(lambda q=q: searcher.search(persona.id, searcher.views([q]), datetime.now(UTC))) for q in questions
        ]
    return {
        "machine": f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "memories": memories,
        "import turns/s": round(memories / imported),
        "bare encoder texts/s": round(EMBEDDED / bare),
        "encoder through the bank texts/s": round(1 / through_bank),
        "share of the bare encoder": round(bare / EMBEDDED / through_bank, 3),
        "search n": QUESTIONS,
        "search p50 ms": round(float(np.percentile(took, 50)) * 1000, 1),
        "search p95 ms": round(float(np.percentile(took, 95)) * 1000, 1),
    }


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


def made_up_words(n: int) -> list[str]:
    """Made-up words, some common and most rare, as in talk (Zipf)."""
    return ["".join(_SYLLABLES[int(d) % 20] for d in str(int(random.paretovariate(0.6)) % 8000)) for _ in range(n)]


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


def _seconds(work: object) -> float:
    assert callable(work)
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
