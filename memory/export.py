"""A persona as Memoir's own JSON Lines (see `memory.importers.memoir`), which importing reads back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from memory.bank import Bank
from memory.importers import Record
from memory.importers.memoir import dump_records
from memory.types import Memory, MemoryDraft, Persona, PersonaDraft, Session, SessionDraft, Turn, TurnDraft

PAGE = 500


def lines(bank: Bank, persona: Persona) -> Iterator[str]:
    """The persona, its sessions in order, then the memories that are more than an utterance of a session."""
    return dump_records(_records(bank, persona))


def _records(bank: Bank, persona: Persona) -> Iterator[Record]:
    yield PersonaDraft(
        persona.name, persona.external_id, persona.description, persona.traits, persona.manner, persona.proactive
    )
    recalled = {turn: m for m in _memories(bank, persona) if m.store == "dialogue" for turn in m.turn_ids}
    for session in bank.sessions(persona.id):
        yield _session(session, bank.turns(persona.id, session.id), recalled)
    for memory in _memories(bank, persona):
        if memory.store != "dialogue" or not memory.turn_ids:
            yield _draft(memory)


def write(bank: Bank, persona: Persona, path: Path) -> int:
    """Write the lines to a file, whole or not at all; returns how many."""
    half = path.with_name(f".{path.name}.half")
    try:
        with half.open("w", encoding="utf-8") as file:
            written = sum(file.write(line + "\n") > 0 for line in lines(bank, persona))
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)
    return written


def _memories(bank: Bank, persona: Persona) -> Iterator[Memory]:
    offset = 0
    while page := bank.memories(persona.id, limit=PAGE, offset=offset):
        yield from page
        offset += len(page)


def _session(session: Session, turns: list[Turn], recalled: Mapping[int, Memory]) -> SessionDraft:
    return SessionDraft(
        tuple(_turn(t, recalled.get(t.id)) for t in turns),
        session.started_at,
        session.started_text,
        session.external_id,
        session.title,
        session.source,
    )


def _turn(turn: Turn, memory: Memory | None) -> TurnDraft:
    return TurnDraft(
        turn.speaker,
        turn.role,
        turn.text,
        turn.said_at,
        turn.said_text,
        turn.external_id,
        recallable=memory is not None,
        event=memory.event if memory else None,
        event_text=memory.event_text if memory else "",
    )


def _draft(memory: Memory) -> MemoryDraft:
    return MemoryDraft(
        memory.store,
        memory.text,
        memory.key if memory.key != memory.text else "",
        memory.event,
        memory.event_text,
        memory.said_at,
        memory.valid_from,
        memory.valid_to,
        memory.emotion,
        memory.scene,
        memory.speaker,
        memory.attribute,
        memory.external_id,
    )
