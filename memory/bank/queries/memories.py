"""Read memories in a connection, by SQL clauses or by their ids."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.queries.shared import known_to
from memory.types import Memory, TimeSpan

MEMORY = """
SELECT m.*, t.said_text, (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id) AS turn_ids,
    (SELECT min(coalesce(b.taken_back, b.valid_to)) FROM rests_on r JOIN memories b ON b.id = r.basis_id
     WHERE r.memory_id = m.id) AS stale_since,
    (SELECT name FROM personas WHERE id = m.persona_id AND id <> :persona) AS told_to
FROM memories m
LEFT JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
"""


def read_memories(db: Database, clauses: str, values: Mapping[str, object]) -> list[Memory]:
    """The memories `m` that SQL clauses with named values, of them `persona`, select."""
    return [rows.memory(r) for r in db.query(f"{MEMORY} {clauses}", dict(values))]


def time_range(db: Database, persona_id: int) -> TimeSpan | None:
    """The span from a persona's first dated turn to just after its last, or None if none has a date."""
    # Each query alone reads one entry of the index; both in one would scan it.
    query = "SELECT {}(said_at) FROM memories WHERE persona_id = ?"
    (first,), (last,) = (db.conn.execute(query.format(end), (persona_id,)).fetchone() for end in ("min", "max"))
    if first is None:
        return None
    end = datetime.fromisoformat(last).replace(second=59, microsecond=999_999)
    return TimeSpan(min(datetime.fromisoformat(first), end - timedelta(microseconds=1)), end)


def memories_by_id(db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
    """Those of the memories that a persona knows that have these ids, in the order of the ids."""
    # The plus keeps SQLite from using the persona's index to reach rows whose ids are given.
    known = known_to(db, persona_id, "+m.persona_id")
    query = f"{MEMORY} WHERE {known} AND m.id IN (SELECT value FROM json_each(:ids))"
    values = {"persona": persona_id, "ids": rows.json_list(ids)}
    by_id = {r["id"]: rows.memory(r) for r in db.query(query, values)}
    return [by_id[i] for i in ids if i in by_id]
