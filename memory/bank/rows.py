"""Convert rows of the bank to the domain's dataclasses and back, and insert them."""

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from sqlite_utils import Database

from memory.bank import schema
from memory.bank.relations import YOU, relation_of
from memory.search import tokens
from memory.types import (
    Memory,
    MemoryDraft,
    Persona,
    PersonaDraft,
    Relation,
    Session,
    SessionDraft,
    TimeSpan,
    Turn,
    TurnDraft,
)

Row = Mapping[str, Any]
Draft = TypeVar("Draft")
Stored = TypeVar("Stored", Persona, Session, Turn)

SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """The text as a bank can hold it: without U+0000, which ends a text in SQLite, and without lone surrogates."""
    return SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def clean_draft(draft: Draft) -> Draft:
    """The draft with all texts in it, at any depth, as a bank can hold them."""
    cleaned: Any = draft
    if isinstance(draft, str):
        cleaned = clean(draft)
    elif isinstance(draft, tuple):
        cleaned = tuple(map(clean_draft, draft))
    elif is_dataclass(draft) and not isinstance(draft, type):
        values = ((f.name, getattr(draft, f.name)) for f in fields(draft))
        changed = {name: new for name, value in values if (new := clean_draft(value)) != value}
        cleaned = replace(draft, **changed) if changed else draft
    return cleaned  # type: ignore[no-any-return]


def digest(*parts: object) -> str:
    """A content hash: equal parts, equal digest; 128 bits, as text."""
    return hashlib.blake2b(json.dumps([str(p) for p in parts]).encode(), digest_size=16).hexdigest()


def json_list(ids: Iterable[int]) -> str:
    """Numbers as `json_each` takes them: a statement has room for a few thousand values, a list for any number."""
    return json.dumps(list(ids))


def format_time(moment: datetime | None) -> str | None:
    """A time as the bank keeps it: UTC, ISO 8601, sortable as text."""
    if moment is None:
        return None
    if moment.tzinfo is None:
        raise ValueError(f"the bank keeps aware times only, got {moment!r}")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def now() -> str:
    """The present time as the bank keeps it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def parse_time(text: str | None, original: str | None = "") -> datetime | None:
    """A kept time; in the zone that its original string names, if that is an ISO time, so that "yesterday" said at
    half past midnight in Lisbon stays the day it was there."""
    kept = datetime.fromisoformat(text) if text else None
    if kept is None or not original:
        return kept
    try:
        zone = datetime.fromisoformat(original).tzinfo
        return kept.astimezone(zone) if zone else kept
    except (ValueError, OverflowError):  # no ISO time, or at the very ends of the calendar
        return kept


def turn_identity(turn: TurnDraft, nth: int) -> str:
    """What makes an utterance the same one when it comes again; `nth` tells equal ones of one draft apart."""
    return digest(turn.external_id, turn.speaker, turn.text, nth)


def memory_identity(draft: MemoryDraft) -> str:
    """What makes a memory that no turn said the same one when it comes again."""
    said_at = format_time(draft.said_at)
    return digest(draft.store, draft.text, draft.speaker, draft.attribute, draft.event_text, said_at, draft.external_id)


def part_identity(session_id: int, turn: str, part: int) -> str:
    """What makes what is remembered of a turn the same one: the turn's identity, and which part of a long one it is."""
    return digest(session_id, turn, part) if part else digest(session_id, turn)


def learned_identity(draft: MemoryDraft, period: int) -> str:
    """What makes a memory that turns said the same one when it is told again, in the period-th time that it holds."""
    event = event_columns(draft.event).values()
    return digest("learned", draft.store, draft.text, draft.speaker, draft.attribute, *event, draft.external_id, period)


# --- rows to dataclasses

_FROM_SQL: Mapping[str, Callable[[Any], Any]] = {
    "time": parse_time,
    "flag": bool,
    "list": lambda text: tuple(json.loads(text)),
}

_COLUMNS: Mapping[type, tuple[tuple[str, Callable[[Any], Any] | None], ...]] = {
    kind: tuple(
        (f.name, _FROM_SQL.get(columns.get(f.name, "plain")))
        for f in fields(kind)
        # "learned" is memories in a draft of a session, a flag in its row
        if (f.name in columns and f.name != "learned") or f.name == "turn_count"
    )
    for kinds, columns in (
        ((Persona, PersonaDraft), schema.COLUMNS["personas"]),
        ((Session, SessionDraft), schema.COLUMNS["sessions"]),
        ((Turn, TurnDraft), schema.COLUMNS["turns"]),
        ((Memory, MemoryDraft), schema.COLUMNS["memories"]),
    )
    for kind in kinds
}
"""The columns that a dataclass has as fields of the same name, and how their values are read."""


def _values(row: Row, kind: type) -> dict[str, Any]:
    values = {name: row[name] if convert is None else convert(row[name]) for name, convert in _COLUMNS[kind]}
    for at, text in (("started_at", "started_text"), ("said_at", "said_text")):
        if at in values and text in row:
            values[at] = parse_time(row[at], row[text])
    if issubclass(kind, MemoryDraft):
        start, end = parse_time(row["event_start"]), parse_time(row["event_end"])
        relation = Relation(row["relation_head"], row["relation_name"], row["relation_tail"])
        values["event"] = TimeSpan(start, end) if start and end else None
        values["relation"] = relation if relation.tail else None
    return values


def read(kind: type[Stored], row: Row) -> Stored:
    """A row of `personas`, of `turns`, or of `sessions` with its `turn_count`."""
    return kind(**_values(row, kind))


def memory(row: Row) -> Memory:
    """A row of `memories` with `turn_ids`, its sources joined by commas, and `said_text` of the first of them.

    What the user said is `by_user`, and so is what was `told_to` another persona, whatever an import calls the user.
    """
    told_to, values = row["told_to"] or "", _values(row, Memory)
    if told_to or row["by_user"]:
        values["speaker"] = YOU
        if values["relation"] and values["relation"].head == row["speaker"]:
            values["relation"] = replace(values["relation"], head=YOU)
    return Memory(
        **values,
        told_to=told_to,
        retracted_at=parse_time(row["taken_back"]),
        turn_ids=tuple(int(i) for i in (row["turn_ids"] or "").split(",") if i),
        stale_since=parse_time(row["stale_since"]),
    )


def memory_draft(row: Row) -> MemoryDraft:
    """A row of `memories` as the draft that it was stored from."""
    return MemoryDraft(**_values(row, MemoryDraft))


# --- dataclasses to rows


def draft_columns(draft: PersonaDraft | SessionDraft | TurnDraft | MemoryDraft) -> dict[str, Any]:
    """The columns that a draft has as fields of the same name, as the bank keeps them."""
    return {name: to_sql(getattr(draft, name)) for name, _ in _COLUMNS[type(draft)]}


def to_sql(value: object) -> object:
    """A value as the bank keeps it: a time as text, a tuple as a JSON list."""
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return format_time(value) if isinstance(value, datetime) else value


def memory_row(
    memory_id: int, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft
) -> dict[str, Any]:
    """A draft as a row of `memories`."""
    return {
        **draft_columns(draft),
        "id": memory_id,
        "persona_id": persona_id,
        "session_id": session_id,
        "identity": identity,
        **key_columns(draft.speaker, draft.key or draft.text),
        **event_columns(draft.event),
        **relation_columns(draft),
        "recorded_at": now(),
        "valid_from": format_time(draft.valid_from or draft.said_at),
    }


def key_columns(speaker: str, key: str) -> dict[str, str]:
    """What a memory is found by: its key, the key's hash, and the words of speaker and key."""
    return {"key": key, "key_hash": digest(key), "terms": index_terms(speaker, key)}


def event_columns(event: TimeSpan | None) -> dict[str, str | None]:
    """The columns that hold when something happened."""
    start, end = (event.start, event.end) if event else (None, None)
    return {"event_start": format_time(start), "event_end": format_time(end)}


def relation_columns(draft: MemoryDraft) -> dict[str, str]:
    """The columns that hold a memory's relation, whether it comes with one or its words state one."""
    stated = relation_of(draft) or Relation("", "", "")
    return {"relation_head": stated.head, "relation_name": stated.name, "relation_tail": stated.tail}


def index_terms(speaker: str, key: str) -> str:
    """The words under which a memory is found: who said it and what."""
    return " ".join(tokens.terms(f"{speaker} {key}"))


def choose(conn: sqlite3.Connection, name: str, value: str) -> None:
    """Set what is chosen for a whole bank."""
    conn.execute("DELETE FROM choices WHERE name = ?", (name,))
    conn.execute(schema.insertion("choices", ("name", "value")), {"name": name, "value": value})


def insert(db: Database, table: str, new_rows: Sequence[dict[str, Any]]) -> None:
    """Insert rows that all have the same columns, with their digests; those without an id get the next ones."""
    # Not through sqlite-utils: it takes six times as long, and an import does little else.
    if new_rows:
        if "id" not in new_rows[0]:  # it is part of the digest
            new_rows = [{**row, "id": number} for number, row in enumerate(new_rows, next_id(db, table))]
        db.conn.executemany(schema.insertion(table, new_rows[0]), new_rows)


def link(db: Database, table: Literal["sources", "rests_on", "cites"], links: Iterable[tuple[Any, ...]]) -> None:
    """Link rows by tuples in the order of the columns that the table has in schema.sql; known links stay."""
    # Not through sqlite-utils: where a link is known, it looks for a rowid, which these tables do not have.
    columns = schema.COLUMNS[table]
    statement = f"{schema.insertion(table, columns)} ON CONFLICT DO NOTHING"
    db.conn.executemany(statement, (dict(zip(columns, link, strict=True)) for link in links))


def copy_sources(db: Database, memory_id: int, to: int, *, alone: bool) -> None:
    """Give a memory the sources of another; without `alone`, none of them carries it without the others."""
    query = "SELECT ?, turn_id, quote, alone AND ? FROM sources WHERE memory_id = ?"
    link(db, "sources", db.conn.execute(query, (to, alone, memory_id)).fetchall())


def find_by_identity(db: Database, table: str, persona_id: int, identity: str) -> int | None:
    """The id of a persona's session or memory of that identity."""
    query = f"SELECT id FROM {table} WHERE persona_id = ? AND identity = ?"
    row = db.conn.execute(query, (persona_id, identity)).fetchone()
    return None if row is None else int(row[0])


def next_id(db: Database, table: str) -> int:
    """The next number that no row of the table ever had: an old citation must not come to mean a new memory."""
    last = db.conn.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 + (int(last[0]) if last else 0)
