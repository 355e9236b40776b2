"""What the public API returns, as plain JSON values."""

from __future__ import annotations

from typing import TypedDict

from graph.assistant import Answer
from graph.state import Citation
from memory.bank.bank import Bank
from memory.exporting.json_values import to_json_values
from memory.types import Hit, Persona


class CitationResult(TypedDict):
    """A line that an answer relies on."""

    number: int
    memory: int
    date: str | None
    speaker: str
    quote: str


class AnswerResult(TypedDict):
    """An answer, or an abstention with its reason."""

    answer: str
    abstained: bool
    reason: str | None
    citations: list[CitationResult]
    notice: str


class RememberResult(TypedDict):
    """The reply to a statement, and how much was stored."""

    reply: str
    turns: int
    memories: int


class MemoryResult(TypedDict):
    """A memory that a search found."""

    memory: int
    store: str
    text: str
    speaker: str
    date: str | None
    score: float


class ForgetResult(TypedDict):
    """How much was deleted, and how many of its texts are still in the bank's files."""

    memories: int
    turns: int
    sessions: int
    residue: int


class PersonaResult(TypedDict):
    """A persona and how much it knows."""

    id: int
    name: str
    description: str
    sessions: int
    turns: int
    memories: int


def answer_result(answer: Answer) -> AnswerResult:
    """Convert an answer."""
    reading = answer.reading
    return AnswerResult(
        answer=reading.answer,
        abstained=reading.abstained,
        reason=reading.reason,
        citations=[_citation_result(citation) for citation in reading.citations],
        notice=reading.notice,
    )


def _citation_result(citation: Citation) -> CitationResult:
    memory = citation.memory
    return CitationResult(
        number=citation.number,
        memory=memory.id,
        date=to_json_values(memory.said_at),
        speaker=memory.speaker,
        quote=citation.quote,
    )


def remember_result(answer: Answer) -> RememberResult:
    """Convert the answer to a statement."""
    stored = answer.stored
    turns, memories = (stored.turns, stored.memories) if stored else (0, 0)
    return RememberResult(reply=answer.reading.answer, turns=turns, memories=memories)


def memory_result(hit: Hit) -> MemoryResult:
    """Convert a hit."""
    memory = hit.memory
    return MemoryResult(
        memory=memory.id,
        store=memory.store,
        text=memory.text,
        speaker=memory.speaker,
        date=to_json_values(memory.said_at),
        score=round(hit.score, 4),
    )


def persona_result(bank: Bank, persona: Persona) -> PersonaResult:
    """Convert a persona."""
    counts = bank.counts(persona.id)
    return PersonaResult(
        id=persona.id,
        name=persona.name,
        description=persona.description,
        sessions=counts.pop("sessions"),
        turns=counts.pop("turns"),
        memories=sum(counts.values()),
    )
