"""Rows of the bank to things of the domain and back."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from memory.types import Memory, MemoryDraft, Persona, Session, TimeSpan, Turn, TurnDraft

Row = Mapping[str, Any]

SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as a bank can hold it: without U+0000, which ends a text in SQLite, and without lone surrogates."""
    return SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def digest(*parts: object) -> str:
    """A content hash: equal parts, equal digest; 128 bits, as text."""
    return hashlib.blake2b(json.dumps([str(p) for p in parts]).encode(), digest_size=16).hexdigest()


def listed(ids: Iterable[int]) -> str:
    """Numbers as `json_each` takes them: a statement has room for a few thousand values, a list for any number."""
    return json.dumps(list(ids))


def stamp(moment: datetime | None) -> str | None:
    """A time as the bank keeps it: UTC, ISO 8601, sortable as text."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError(f"the bank keeps aware times only, got {moment!r}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def moment(text: str | None, original: str = "") -> datetime | None:
    """A kept time; in the zone that its original string names, if that is an ISO time, so that "yesterday" said at
    half past midnight in Lisbon stays the day it was there."""
    if text is None:
        return None
    kept = datetime.fromisoformat(text)
    try:
        zone = datetime.fromisoformat(original).tzinfo
        return kept.astimezone(zone) if zone else kept
    except (ValueError, OverflowError):  # no ISO time, or at the very ends of the calendar
        return kept


def span(start: str | None, end: str | None) -> TimeSpan | None:
    """A kept span of time."""
    if start is None or end is None:
        return None
    return TimeSpan(datetime.fromisoformat(start), datetime.fromisoformat(end))


def turn_identity(turn: TurnDraft, nth: int) -> str:
    """What makes an utterance the same one when it comes again; `nth` tells equal ones of one draft apart."""
    return digest(turn.external_id, turn.speaker, turn.text, nth)


def memory_identity(draft: MemoryDraft) -> str:
    """What makes a memory that no turn said the same one when it comes again."""
    return digest(
        draft.store,
        draft.text,
        draft.speaker,
        draft.attribute,
        draft.event_text,
        stamp(draft.said_at),
        draft.external_id,
    )


def learned_identity(draft: MemoryDraft, period: int) -> str:
    """What makes a memory that turns said the same one when it is told again, in the period-th time that it holds."""
    return digest(
        "learned",
        draft.store,
        draft.text,
        draft.speaker,
        draft.attribute,
        stamp(draft.event.start) if draft.event else None,
        stamp(draft.event.end) if draft.event else None,
        draft.external_id,
        period,
    )


def draft(row: Row) -> MemoryDraft:
    """What of a row of `memories` makes its identity."""
    return MemoryDraft(
        store=row["store"],
        text=row["text"],
        event=span(row["event_start"], row["event_end"]),
        speaker=row["speaker"],
        attribute=row["attribute"],
        external_id=row["external_id"],
    )


def persona(row: Row) -> Persona:
    """A row of `personas`."""
    return Persona(
        id=row["id"],
        name=row["name"],
        external_id=row["external_id"],
        description=row["description"],
        traits=tuple(json.loads(row["traits"])),
        manner=row["manner"],
        created_at=datetime.fromisoformat(row["created_at"]),
        proactive=bool(row["proactive"]),
    )


def session(row: Row) -> Session:
    """A row of `sessions` with its `turn_count`."""
    return Session(
        id=row["id"],
        persona_id=row["persona_id"],
        external_id=row["external_id"],
        title=row["title"],
        source=row["source"],
        started_at=moment(row["started_at"], row["started_text"]),
        started_text=row["started_text"],
        turn_count=row["turn_count"],
    )


def turn(row: Row) -> Turn:
    """A row of `turns`."""
    return Turn(
        id=row["id"],
        session_id=row["session_id"],
        position=row["position"],
        speaker=row["speaker"],
        role=row["role"],
        text=row["text"],
        said_at=moment(row["said_at"], row["said_text"]),
        said_text=row["said_text"],
        external_id=row["external_id"],
    )


def memory(row: Row) -> Memory:
    """A row of `memories` with `turn_ids`, its sources joined by commas, and `said_text` of the first of them."""
    return Memory(
        id=row["id"],
        persona_id=row["persona_id"],
        store=row["store"],
        text=row["text"],
        key=row["key"],
        speaker=row["speaker"],
        attribute=row["attribute"],
        event=span(row["event_start"], row["event_end"]),
        event_text=row["event_text"],
        said_at=moment(row["said_at"], row["said_text"] or ""),
        recorded_at=datetime.fromisoformat(row["recorded_at"]),
        valid_from=moment(row["valid_from"]),
        valid_to=moment(row["valid_to"]),
        superseded_by=row["superseded_by"],
        emotion=row["emotion"],
        scene=row["scene"],
        external_id=row["external_id"],
        session_id=row["session_id"],
        turn_ids=tuple(int(i) for i in (row["turn_ids"] or "").split(",") if i),
        taken_back=moment(row["taken_back"]),
        stale_since=moment(row["stale_since"]),
        pinned=bool(row["pinned"]),
    )
