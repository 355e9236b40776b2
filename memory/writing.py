"""How drafts become rows, inside a transaction that the bank opened.

A session that comes again is found by its identity and given only the turns it lacks; a fact that differs from the one
held for the same attribute closes it from the day it was said, and both are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from sqlite_utils import Database

from memory import lexical, rows
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Stored, TurnDraft

Draft = TypeVar("Draft", PersonaDraft, SessionDraft, TurnDraft, MemoryDraft)


def session(db: Database, persona_id: int, draft: SessionDraft) -> Stored:
    """Store one session, its turns, a dialogue memory a turn, and what was learned from it."""
    draft = replace(storable(draft), turns=tuple(storable(t) for t in draft.turns))
    session_id, new = _session_id(db, persona_id, draft)
    turn_ids, fresh = _turns(db, session_id, draft)
    stored = Stored(sessions=int(new), turns=len(fresh), known_turns=len(draft.turns) - len(fresh))
    stored += _dialogue(db, persona_id, session_id, [(draft.turns[i], turn_ids[i], identity) for i, identity in fresh])
    for learned in draft.learned:
        stored += memory(db, persona_id, learned.memory, session_id, [turn_ids[i] for i in learned.turns])
    return stored


def memory(
    db: Database, persona_id: int, draft: MemoryDraft, session_id: int | None, turn_ids: Sequence[int]
) -> Stored:
    """Store one memory unless it is known, and settle which of two facts about the same thing holds now."""
    draft = storable(draft)
    identity = rows.memory_identity(draft)
    held = db.conn.execute(
        "SELECT id FROM memories WHERE persona_id = ? AND identity = ?", (persona_id, identity)
    ).fetchone()
    if held is not None:
        _point_to(db, [(held[0], t) for t in turn_ids])
        return Stored(known_memories=1)
    memory_id = _next_id(db, "memories")
    _insert(db, "memories", [_memory_row(memory_id, persona_id, session_id, identity, draft)])
    _point_to(db, [(memory_id, t) for t in turn_ids])
    if draft.attribute:
        _settle(db, persona_id, memory_id, draft)
    return Stored(memories=1)


def storable(draft: Draft) -> Draft:
    """The draft with texts that a bank can hold (see `rows.clean`), whoever wrote them."""
    texts = {f.name: text for f in fields(draft) if isinstance(text := getattr(draft, f.name), str)}
    unfit: dict[str, Any] = {name: clean for name, text in texts.items() if (clean := rows.clean(text)) != text}
    return replace(draft, **unfit) if unfit else draft


def _session_id(db: Database, persona_id: int, draft: SessionDraft) -> tuple[int, bool]:
    first = draft.turns[0] if draft.turns else TurnDraft("", "other", "")
    identity = rows.digest(
        draft.external_id or (draft.started_text, rows.stamp(draft.started_at), first.speaker, first.text)
    )
    held = db.conn.execute(
        "SELECT id FROM sessions WHERE persona_id = ? AND identity = ?", (persona_id, identity)
    ).fetchone()
    if held is not None:
        return int(held[0]), False
    table = db.table("sessions").insert(
        {
            "persona_id": persona_id,
            "identity": identity,
            "external_id": draft.external_id,
            "title": draft.title,
            "source": draft.source,
            "started_at": rows.stamp(draft.started_at),
            "started_text": draft.started_text,
        }
    )
    assert isinstance(table.last_pk, int)
    return table.last_pk, True


def _turns(db: Database, session_id: int, draft: SessionDraft) -> tuple[list[int], list[tuple[int, str]]]:
    """Insert the turns that are new; the ids of all, and the places in the draft (with identity) of the new ones."""
    known = {
        str(identity): int(i)
        for i, identity in db.conn.execute("SELECT id, identity FROM turns WHERE session_id = ?", (session_id,))
    }
    position = db.conn.execute(
        "SELECT coalesce(max(position), -1) FROM turns WHERE session_id = ?", (session_id,)
    ).fetchone()[0]
    next_id = _next_id(db, "turns")
    seen: Counter[tuple[str, str, str]] = Counter()
    ids: list[int] = []
    fresh: list[tuple[int, str]] = []
    new_rows: list[dict[str, Any]] = []
    for place, turn in enumerate(draft.turns):
        same = (turn.external_id, turn.speaker, turn.text)
        identity = rows.turn_identity(turn, seen[same])
        seen[same] += 1
        if identity in known:
            ids.append(known[identity])
            continue
        ids.append(next_id + len(new_rows))
        fresh.append((place, identity))
        new_rows.append(
            {
                "id": ids[-1],
                "session_id": session_id,
                "position": position + 1 + len(new_rows),
                "identity": identity,
                "speaker": turn.speaker,
                "role": turn.role,
                "text": turn.text,
                "said_at": rows.stamp(turn.said_at or draft.started_at),
                "said_text": turn.said_text or draft.started_text,
                "external_id": turn.external_id,
            }
        )
    _insert(db, "turns", new_rows)
    return ids, fresh


def _dialogue(db: Database, persona_id: int, session_id: int, said: Sequence[tuple[TurnDraft, int, str]]) -> Stored:
    next_id = _next_id(db, "memories")
    new_rows: list[dict[str, Any]] = []
    links: list[tuple[int, int]] = []
    times = {
        int(i): at for i, at in db.conn.execute("SELECT id, said_at FROM turns WHERE session_id = ?", (session_id,))
    }
    for turn, turn_id, identity in said:
        if not turn.recallable or not turn.text.strip():
            continue
        memory_id = next_id + len(new_rows)
        draft = MemoryDraft(
            "dialogue",
            turn.text,
            key=turn.key,
            event=turn.event,
            event_text=turn.event_text,
            speaker=turn.speaker,
            external_id=turn.external_id,
        )
        row = _memory_row(memory_id, persona_id, session_id, rows.digest(session_id, identity), draft)
        new_rows.append({**row, "said_at": times[turn_id], "valid_from": times[turn_id]})
        links.append((memory_id, turn_id))
    _insert(db, "memories", new_rows)
    _point_to(db, links)
    return Stored(memories=len(new_rows))


def _memory_row(
    memory_id: int, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft
) -> dict[str, Any]:
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


def _settle(db: Database, persona_id: int, new_id: int, draft: MemoryDraft) -> None:
    """Of two facts about one attribute of one person, let the later said hold from then on and close the earlier."""
    since = rows.stamp(draft.valid_from or draft.said_at)
    if since is None:
        return
    # That the attribute is not empty is said again, for that alone lets SQLite use its index.
    same = (
        "persona_id = :persona AND store = :store AND attribute = :attribute AND attribute <> '' "
        "AND speaker = :speaker AND id <> :new AND valid_from IS NOT NULL"
    )
    values = {"persona": persona_id, "store": draft.store, "attribute": draft.attribute, "speaker": draft.speaker}
    values |= {"new": new_id, "since": since}
    db.conn.execute(
        f"UPDATE memories SET valid_to = :since, superseded_by = :new WHERE {same} AND valid_from <= :since "
        "AND (valid_to IS NULL OR valid_to > :since)",
        values,
    )
    later = db.conn.execute(
        f"SELECT id, valid_from FROM memories WHERE {same} AND valid_from > :since ORDER BY valid_from LIMIT 1", values
    ).fetchone()
    if later is not None:
        db.conn.execute(
            "UPDATE memories SET valid_to = ?, superseded_by = ? WHERE id = ?", (later[1], later[0], new_id)
        )


def _insert(db: Database, table: str, new_rows: Sequence[dict[str, Any]]) -> None:
    # Not through sqlite-utils: it takes six times as long, and an import does little else.
    if new_rows:
        names = new_rows[0].keys()
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
        db.conn.executemany(statement, new_rows)


def _point_to(db: Database, links: Sequence[tuple[int, int]]) -> None:
    # Not through sqlite-utils: where a link is known, it looks for a rowid, which this table does not have.
    db.conn.executemany("INSERT OR IGNORE INTO sources (memory_id, turn_id) VALUES (?, ?)", links)


def _next_id(db: Database, table: str) -> int:
    """The next number that no row of the table ever had: an old citation must not come to mean a new memory."""
    held = db.conn.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 + (int(held[0]) if held else 0)
