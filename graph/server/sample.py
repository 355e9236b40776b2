"""The sample persona that a new bank starts with."""

from __future__ import annotations

import json
from pathlib import Path

from memory.bank import journal
from memory.bank.bank import Bank
from memory.ingest import ingest

SAMPLE = Path(__file__).parents[2] / "assets" / "sample"


def import_sample(bank: Bank) -> None:
    """Import the sample persona into a new bank; not again where all was forgotten."""
    if not bank.personas() and not journal.count(bank):
        ingest(bank, SAMPLE / "ida.jsonl")


def example_questions() -> tuple[str, ...]:
    """Questions that the sample persona can answer."""
    questions = json.loads((SAMPLE / "questions.json").read_text("utf-8"))
    return tuple(str(q["question"]) for q in questions)
