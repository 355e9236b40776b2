"""Edit, pin, merge or reject memories by hand, and undo the last change.

An edited memory is a new version; the old one is kept as history, retracted. Undoing deletes the change and, of an
edit, the new version; nothing else here deletes anything.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import uuid4

from sqlite_utils import Database

from memory import named_queries
from memory.bank import facts, journal, rows
from memory.bank.bank import Bank
from memory.bank.queries.memories import known_to, memories_by_id
from memory.bank.rows import clean, insert, next_id
from memory.dates.expressions import find_times, sole_time
from memory.errors import MemoirError
from memory.types import EPISODIC, Memory

SQL = named_queries(__file__)

ChangeKind = Literal["edit", "wrong", "pin", "unpin", "merge"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change that can be undone; `other_id` is the new version, or the memory that was merged in."""

    kind: ChangeKind
    memory_id: int
    other_id: int | None


def edit(bank: Bank, to: Memory) -> Memory:
    """Replace a memory with a new version; what was learned from the old words alone becomes stale.

    Of the memory `to`, its text, when it happened, and from when to when it holds are taken. Where only the text was
    edited, the time that it names now is when it happened.

    Raises:
        MemoirError: the text is empty, it ends before it begins, or the memory was changed or forgotten meanwhile.
    """
    text = clean(to.text).strip()
    if not text:
        raise MemoirError("A memory cannot be empty. To remove it, forget it. Nothing was changed.")
    if to.valid_from and to.valid_to and to.valid_to <= to.valid_from:
        raise MemoirError(f"The end ({to.valid_to:%Y-%m-%d}) must be after the beginning. Nothing was changed.")
    with bank.writing() as db:
        old = _current(db, to.persona_id, to.id)
        touched = _add_dependants(db, old)
        new_id = next_id(db, "memories")
        key = old["key"] if text == old["text"] else text
        changed = {"text": text, **rows.key_columns(old["speaker"], key)}
        if text != old["text"]:
            named = sole_time(find_times(to.text, to.said_at)) if to.said_at and to.store in EPISODIC else None
            if named and to.event == rows.memory_draft(old).event:
                to = replace(to, event=named.span, event_text=named.text)
            changed |= rows.relation_columns(replace(rows.memory_draft(old), text=text, relation=None))
        timed = {**rows.event_columns(to.event), "event_text": to.event_text}
        timed |= {"valid_from": rows.format_time(to.valid_from), "valid_to": rows.format_time(to.valid_to)}
        version = {"id": new_id, "identity": rows.digest("version", uuid4().hex), "recorded_at": rows.now()}
        insert(db, "memories", [{**old, **changed, **timed, **version}])
        # An edited statement no longer says what its turn alone says.
        _replace(db, to.persona_id, to.id, new_id, alone=old["store"] != "dialogue")
        facts.supersede(db, new_id)
        _record(db, to.persona_id, "edit", to.id, new_id, touched)
        return memories_by_id(db, to.persona_id, [new_id])[0]


def mark_wrong(bank: Bank, persona_id: int, memory_id: int) -> None:
    """Stop recalling a memory; it stays in the history."""
    with bank.writing() as db:
        wrong = _current(db, persona_id, memory_id)
        touched = _add_dependants(db, wrong)
        facts.retract(db, persona_id, memory_id, rows.now())
        _record(db, wrong["persona_id"], "wrong", memory_id, None, touched)


def pin(bank: Bank, persona_id: int, memory_id: int, *, pinned: bool) -> None:
    """Pin a memory, so that it is read whenever it is among the hits, or unpin it."""
    with bank.writing() as db:
        owner = _current(db, persona_id, memory_id)["persona_id"]
        db.conn.execute("UPDATE memories SET pinned = ? WHERE id = ?", (int(pinned), memory_id))
        _record(db, owner, "pin" if pinned else "unpin", memory_id, None, [])


def duplicates(bank: Bank, persona_id: int, memory_id: int) -> list[Memory]:
    """The other memories of the same store and speaker with the same text that are still recalled."""
    return bank.read_memories(SQL["duplicates"], {"id": memory_id, "persona": persona_id})


def merge(bank: Bank, persona_id: int, memory_id: int, others: Sequence[int]) -> None:
    """Merge others into a memory: it takes over their sources, and they stay in the history."""
    with bank.writing() as db:
        for other in others:
            owner = _current(db, persona_id, memory_id)["persona_id"]
            _current(db, persona_id, other)
            taken = [int(turn) for (turn,) in db.conn.execute(SQL["further_sources"], (other, memory_id))]
            _replace(db, persona_id, other, memory_id)
            _record(db, owner, "merge", memory_id, other, taken)


def last_change(bank: Bank, persona_id: int) -> Change | None:
    """The change that `undo` would undo."""
    with bank.reading() as db:
        row = next(db.query(SQL["last_change"], [persona_id]), None)
    return Change(row["kind"], row["memory_id"], row["other_id"]) if row else None


def undo(bank: Bank, persona_id: int) -> int:
    """Undo the last change and return the id of the memory that was changed.

    Raises:
        MemoirError: there is nothing to undo.
    """
    with bank.writing() as db:
        row = next(db.query(SQL["last_change"], [persona_id]), None)
        if row is None:
            raise MemoirError("There is nothing to undo.")
        memory_id, other, touched = row["memory_id"], row["other_id"], json.loads(row["touched"])
        db.conn.execute("DELETE FROM changes WHERE id = ?", (row["id"],))
        journal.record(db, "undid", persona_id, {"memories": 1}, [memory_id])
        if row["kind"] in ("pin", "unpin"):
            db.conn.execute("UPDATE memories SET pinned = ? WHERE id = ?", (int(row["kind"] == "unpin"), memory_id))
        elif row["kind"] == "merge":
            db.conn.executemany(SQL["delete_source"], [(memory_id, turn) for turn in touched])
            facts.reinstate(db, other)
        else:
            db.conn.executemany(SQL["delete_basis"], [(each, memory_id) for each in touched])
            if other is not None:
                facts.undo_effects(db, other)
                db.conn.execute("DELETE FROM memories WHERE id = ?", (other,))
            else:
                facts.reinstate(db, memory_id)
    return int(memory_id)


def _current(db: Database, persona_id: int, memory_id: int) -> dict[str, Any]:
    """The row of a memory that the persona knows and that may be changed; the change is its own persona's."""
    known = known_to(db, persona_id, "+m.persona_id")
    matches = list(db.query(f"SELECT * FROM memories m WHERE {known} AND m.id = ?", [memory_id]))
    if not matches:
        raise MemoirError(f"Memory {memory_id} no longer exists. It was forgotten, perhaps in another window.")
    if matches[0]["taken_back"] is not None:
        raise MemoirError(f"Memory {memory_id} was changed or marked wrong, perhaps in another window. Reload it.")
    return matches[0]


def _replace(db: Database, persona_id: int, old_id: int, new_id: int, *, alone: bool = True) -> None:
    """Retract a memory in favour of another, which takes over its sources."""
    rows.copy_sources(db, old_id, new_id, alone=alone)
    facts.retract(db, persona_id, old_id, rows.now())
    db.conn.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", (new_id, old_id))


def _add_dependants(db: Database, memory: Mapping[str, Any]) -> list[int]:
    """Make what was learned from this statement alone depend on it; the ids of the memories that newly do."""
    if memory["store"] != "dialogue":
        return []
    dependants = [int(each) for (each,) in db.conn.execute(SQL["new_dependants"], {"id": memory["id"]})]
    rows.link(db, "rests_on", [(each, memory["id"]) for each in dependants])
    return dependants


def _record(
    db: Database, persona_id: int, kind: ChangeKind, memory_id: int, other_id: int | None, touched: Sequence[int]
) -> None:
    row = {"persona_id": persona_id, "at": rows.now(), "kind": kind, "memory_id": memory_id, "other_id": other_id}
    insert(db, "changes", [{**row, "touched": json.dumps(list(touched))}])
    words = {"edit": "edited", "wrong": "marked wrong", "pin": "pinned", "unpin": "unpinned", "merge": "merged"}
    journal.record(db, words[kind], persona_id, {"memories": 1}, [memory_id])
