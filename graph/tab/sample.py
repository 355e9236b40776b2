"""The sample persona, with which a new bank starts and which the Chat tab offers as a demo."""

from __future__ import annotations

import json
from pathlib import Path

from memory.bank import journal
from memory.bank.bank import Bank
from memory.ingest import ingest
from memory.types import Persona

SAMPLE = "sample"
"""The source id of the persona."""

FILES = Path(__file__).parents[2] / "assets" / "sample"


def import_sample(bank: Bank) -> None:
    """Import the sample persona into a new bank; not again where all was forgotten."""
    if not bank.personas() and not journal.count(bank):
        ingest(bank, FILES / "ida.jsonl")


def find_sample(bank: Bank) -> Persona | None:
    """The sample persona, unless it was deleted."""
    return next((persona for persona in bank.personas() if persona.external_id == SAMPLE), None)


def own_personas(bank: Bank) -> list[Persona]:
    """All other personas, the oldest first."""
    return [persona for persona in bank.personas() if persona.external_id != SAMPLE]


def example_questions() -> list[str]:
    """Questions that the sample persona can answer."""
    return [str(q["question"]) for q in json.loads((FILES / "questions.json").read_text("utf-8"))]
