"""Write records in Memoir's own format, version 1, as memory/importers/README.md describes it."""

import json
from datetime import UTC

from memory.importers.generic.memoir import VERSION
from memory.types import MemoryDraft, PersonaDraft, SessionDraft


def dump_records(records):
    """Records as lines without line breaks; a `Skip` is left out."""
    for record in records:
        if isinstance(record, PersonaDraft):
            yield dump_persona(record)
        elif isinstance(record, SessionDraft):
            yield dump_session(record)
        elif isinstance(record, MemoryDraft):
            yield dump_memory(record)


def dump_persona(persona):
    who = {"name": persona.name, "id": persona.external_id, "description": persona.description}
    card = {name: getattr(persona, name) for name in ("manner", "scenario", "first_message", "examples")}
    fields = without_empty({**who, "traits": list(persona.traits), **card})
    return dump({"memoir": VERSION, "persona": fields if persona.proactive else {**fields, "proactive": False}})


def dump_session(session):
    fields = {
        "id": session.external_id,
        "title": session.title,
        "turns": [turn_fields(turn) for turn in session.turns],
        "started_at": iso(session.started_at),
        "started_text": session.started_text,
    }
    return dump({"session": without_empty(fields)})


def dump_memory(memory):
    names = ("store", "text", "key", "event_text", "emotion", "scene", "speaker", "attribute")
    times = {name: iso(getattr(memory, name)) for name in ("said_at", "valid_from", "valid_to")}
    fields = {name: getattr(memory, name) for name in names} | event_fields(memory.event) | times
    return dump({"memory": without_empty({**fields, "id": memory.external_id})})


def turn_fields(turn):
    fields = {
        "speaker": turn.speaker,
        "role": turn.role,
        "text": turn.text,
        "id": turn.external_id,
        "said_at": iso(turn.said_at),
        "said_text": turn.said_text,
        "event_text": turn.event_text,
        **event_fields(turn.event),
    }
    filled = without_empty(fields)
    return filled if turn.recallable else {**filled, "recallable": False}


def event_fields(event):
    return {"event_start": iso(event.start), "event_end": iso(event.end)} if event else {}


def iso(moment):
    return moment.astimezone(UTC).isoformat() if moment else ""


def without_empty(fields):
    return {name: value for name, value in fields.items() if value}


def dump(line):
    return json.dumps(line, ensure_ascii=False)
