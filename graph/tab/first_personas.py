"""The personas that a bank begins with: the sample, and the user's own assistant, which learns the user's name."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path

from graph.state import USER
from memory.bank import journal
from memory.bank.bank import Bank
from memory.bank.relations import YOU
from memory.ingest import ingest
from memory.types import (
    LearnedMemory,
    MemoryDraft,
    Persona,
    PersonaDraft,
    Quote,
    Relation,
    Role,
    SessionDraft,
    TurnDraft,
)

SAMPLE = "sample"
"""The source id of the sample persona, which the Chat tab offers as a demo."""

FILES = Path(__file__).parents[2] / "assets" / "sample"

ASSISTANT = PersonaDraft(
    "Memoir",
    description="An assistant that remembers what you say and shows its sources.",
    manner="warm",
    kept_apart=False,
)
"""The persona that a user starts with."""


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


def own_assistant(bank: Bank) -> Persona:
    """The persona that the user's conversations are imported into: the first that is not kept apart, or a new one."""
    shared = (persona for persona in own_personas(bank) if not persona.kept_apart and not persona.external_id)
    return next(shared, None) or bank.create_persona(ASSISTANT)


def example_questions() -> list[str]:
    """Questions that the sample persona can answer."""
    return [str(q["question"]) for q in json.loads((FILES / "questions.json").read_text("utf-8"))]


def introduce(bank: Bank, name: str) -> tuple[Persona, str]:
    """Create the user's own assistant; return it and the id of the chat in which it learned the name, if one was given.

    The name has a source like any other fact: the exchange on the welcome page.
    """
    persona, name = bank.create_persona(ASSISTANT), " ".join(name.split())
    if not name:
        return persona, ""
    now = datetime.now(UTC).astimezone()
    lines: tuple[tuple[str, Role, str], ...] = (
        (persona.name, "assistant", f"Hello, I'm {persona.name}. What is your name?"),
        (USER, "user", name),
        (
            persona.name,
            "assistant",
            f"Nice to meet you, {name}. Tell me something about yourself, and I'll remember it.",
        ),
    )
    said_text = now.isoformat(timespec="seconds")
    turns = [TurnDraft(*line, now, said_text, uuid.uuid4().hex, recallable=False) for line in lines]
    learned = LearnedMemory(_name(name, now), (Quote(1, name),))
    chat_id = uuid.uuid4().hex
    chat = SessionDraft(tuple(turns), now, said_text, chat_id, "Introduction", source="chat", learned=(learned,))
    bank.remember(persona.id, [chat])
    return persona, chat_id


def _name(name: str, said_at: datetime) -> MemoryDraft:
    return MemoryDraft(
        "profile",
        f"Name: {name}",
        key=f"Name: {name}. My name is {name}.",
        said_at=said_at,
        speaker=USER,
        attribute="name",
        relation=Relation(YOU, "name", name),
    )
