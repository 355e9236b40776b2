"""Rows of a bank's tables as they are inserted; see `memory.bank.rows` for the way back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlite_utils import Database

from memory.bank import rows
from memory.search import tokens as lexical
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TurnDraft

Draft = TypeVar("Draft", PersonaDraft, SessionDraft, TurnDraft, MemoryDraft)


def storable(draft: Draft) -> Draft:
    """The draft with texts that a bank can hold (see `rows.clean`), whoever wrote them."""
    texts = {f.name: text for f in fields(draft) if isinstance(text := getattr(draft, f.name), str)}
    unfit: dict[str, Any] = {name: clean for name, text in texts.items() if (clean := rows.clean(text)) != text}
    return replace(draft, **unfit) if unfit else draft


def memory_row(
    memory_id: int, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft
) -> dict[str, Any]:
    """A draft as a row of `memories`."""
    key = draft.key or draft.text
    return {
        "id": memory_id,
        "persona_id": persona_id,
        "session_id": session_id,
        "store": draft.store,
        "identity": identity,
        "text": draft.text,
        "key": key,
        "key_hash": rows.digest(key),
        "terms": indexed_terms(draft.speaker, key),
        "speaker": draft.speaker,
        "attribute": draft.attribute,
        "event_start": rows.stamp(draft.event.start) if draft.event else None,
        "event_end": rows.stamp(draft.event.end) if draft.event else None,
        "event_text": draft.event_text,
        "said_at": rows.stamp(draft.said_at),
        "recorded_at": rows.stamp(datetime.now(UTC)),
        "valid_from": rows.stamp(draft.valid_from or draft.said_at),
        "valid_to": rows.stamp(draft.valid_to),
        "superseded_by": None,
        "emotion": draft.emotion,
        "scene": draft.scene,
        "external_id": draft.external_id,
    }


def indexed_terms(speaker: str, key: str) -> str:
    """The words under which a memory is found: who said it and what."""
    return " ".join(lexical.terms(f"{speaker} {key}"))


def insert(db: Database, table: str, new_rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that all have the same columns."""
    # Not through sqlite-utils: it takes six times as long, and an import does little else.
    if new_rows:
        names = new_rows[0].keys()
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
        db.conn.executemany(statement, new_rows)


def point_to(db: Database, links: Sequence[tuple[int, int, str, bool]]) -> None:
    """Let memories point to turns: (memory, turn, the words quoted, whether they carry it alone)."""
    # Not through sqlite-utils: where a link is known, it looks for a rowid, which this table does not have.
    db.conn.executemany("INSERT OR IGNORE INTO sources (memory_id, turn_id, quote, alone) VALUES (?, ?, ?, ?)", links)


def next_id(db: Database, table: str) -> int:
    """The next number that no row of the table ever had: an old citation must not come to mean a new memory."""
    held = db.conn.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 + (int(held[0]) if held else 0)
