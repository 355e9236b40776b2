"""Chat for long in one process: memory, threads, open files and the bank's log stay flat."""

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random

import psutil

from graph.assistant import Assistant
from graph.state import Ask
from memory.search import indexer
from support.bad_input import MAY, ROOT
from tests.torture.fuzz import sample_services
from tests.torture.outcome import Outcome

LIMITS = {"MB of memory": 64, "MB of log": 8, "open files": 4, "threads": 4}
"""How much more of each there may be at the end than after a quarter of the time."""

STEP = 20
"""Exchanges between two looks."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Tell and ask by turns until the time has passed."""
    outcome = Outcome("soak", ("grown",))
    parts = sample_services(folder)
    ida = parts.bank.persona(1)
    questions = [question["question"] for question in json.loads((ROOT / "assets/sample/questions.json").read_text())]
    started, early = time.monotonic(), dict[str, float]()
    for n in count():
        text = chance.choice(questions) if n % 2 else f"I saw heron {n:06} at the lake."
        Assistant(parts).ask(Ask(ida, text, MAY + timedelta(days=1500, minutes=n), f"chat {n // 40}"))
        indexer.embed_pending(parts.bank, parts.searcher.embedder)
        outcome.done.update(exchanges=1)
        passed = (time.monotonic() - started) / seconds
        if n % STEP == 0 and passed > 0.25 and not early:
            early = usage(parts.bank.path)
        if passed > 1:
            break
    late = usage(parts.bank.path)
    early = early or late
    outcome.note = ", ".join(f"{name} {early[name]:.0f} to {late[name]:.0f}" for name in LIMITS)
    for name, limit in LIMITS.items():
        if late[name] - early[name] > limit:
            outcome.fault("grown", f"{name}: {early[name]:.0f} to {late[name]:.0f}")
    yield outcome


def usage(bank: Path) -> dict[str, float]:
    """What this process and the bank's log take now."""
    process, log = psutil.Process(), bank.with_name(bank.name + "-wal")
    return {
        "MB of memory": process.memory_info().rss / 2**20,
        "MB of log": log.stat().st_size / 2**20 if log.exists() else 0.0,
        "open files": process.num_fds(),
        "threads": process.num_threads(),
    }
