"""Which memories a persona knows, and reading them in a connection.

A persona knows its own memories, and what the user said to others: what is the user's is known to whomever they talk
with. A persona's own words, its card and its life stay with it. One that is kept apart knows nothing of the others, nor
they of it.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

from sqlite_utils import Database

from memory.bank import rows
from memory.types import QUESTION, SEMANTIC, SUMMARY, Memory

MEMORY = """
SELECT m.*, t.said_text, (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id) AS turn_ids,
    (SELECT min(coalesce(b.taken_back, b.valid_to)) FROM rests_on r JOIN memories b ON b.id = r.basis_id
     WHERE r.memory_id = m.id) AS stale_since,
    (SELECT name FROM personas WHERE id = m.persona_id AND id <> :persona) AS told_to
FROM memories m
LEFT JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
"""

OF_USER = (
    f"(m.attribute <> '{SUMMARY}' AND 'user' = (SELECT t.role FROM sources o JOIN turns t ON t.id = o.turn_id "
    "WHERE o.memory_id = m.id ORDER BY t.id LIMIT 1))"
)
"""Whether a memory `m` is the user's: their words, or what was learned from them. A summary has both sides in it."""

IS_PLAN = f"""(m.event_end > :at AND (m.said_at IS NULL OR m.said_at < m.event_start)
    AND m.attribute NOT IN ('{QUESTION}', '{SUMMARY}') AND (m.store <> 'dialogue' OR NOT EXISTS (
        SELECT 1 FROM sources o JOIN sources p ON p.turn_id = o.turn_id JOIN memories e ON e.id = p.memory_id
        WHERE o.memory_id = m.id AND e.store = 'event' AND e.attribute <> '{SUMMARY}'
            AND (e.taken_back IS NULL OR e.superseded_by IS NOT NULL)
            AND e.event_start < m.event_end AND e.event_end > m.event_start)))"""
"""Whether a memory `m` is of a time that was ahead when it was told ("tonight", said at night, was not) and is not over
at `:at`. Of a turn and the event that was learned from it, the event is, or what replaced that."""


def visible_personas(db: Database, persona_id: int) -> list[int]:
    """The persona, and the others whose chats with the user it knows the user's side of."""
    query = (
        "SELECT o.id FROM personas p JOIN personas o ON o.id <> p.id WHERE p.id = ? AND NOT p.kept_apart "
        "AND NOT o.kept_apart ORDER BY o.id"
    )
    return [persona_id, *(other for (other,) in db.conn.execute(query, (persona_id,)))]


def known_to(db: Database, persona_id: int, column: str = "m.persona_id") -> str:
    """The SQL condition on a memory `m` that a persona knows it; "+m.persona_id" keeps SQLite from using its index."""
    personas = visible_personas(db, persona_id)
    own = f"{column} = {persona_id:d}"
    if len(personas) == 1:
        return own
    return f"({column} IN {persona_list(personas)} AND ({own} OR {OF_USER}))"


def ended_elsewhere(db: Database, persona_id: int) -> dict[int, str]:
    """When the user's facts stopped holding because of a later one that they told to another persona, by memory id.

    It is worked out when it is asked for: a fact of a persona that is kept apart from now on then ends nothing.
    """
    known = known_to(db, persona_id)
    if known == f"m.persona_id = {persona_id:d}":
        return {}
    stores = ", ".join(f"'{store}'" for store in SEMANTIC)
    query = (
        f"SELECT m.store, m.attribute, m.id, m.persona_id, m.valid_from, coalesce(m.valid_to, '9') FROM memories m "
        f"WHERE {known} AND m.attribute <> '' AND m.store IN ({stores}) AND m.valid_from IS NOT NULL "
        f"AND m.taken_back IS NULL AND {OF_USER} ORDER BY m.store, m.attribute, m.valid_from, m.id"
    )
    ended: dict[int, str] = {}
    for _, facts in groupby(db.conn.execute(query), itemgetter(0, 1)):
        for (*_, fact, persona, _, until), (*_, other, since, _) in pairwise(facts):
            if persona != other and since < until:
                ended[fact] = since
    return ended


def persona_list(personas: Sequence[int]) -> str:
    """Personas as the list of an SQL `IN`."""
    return f"({', '.join(map(str, personas))})"


def read_memories(db: Database, clauses: str, values: Mapping[str, object]) -> list[Memory]:
    """The memories `m` that SQL clauses with named values, of them `persona`, select."""
    return [rows.memory(r) for r in db.query(f"{MEMORY} {clauses}", dict(values))]


def memories_by_id(db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
    """Those of the memories that a persona knows that have these ids, in the order of the ids."""
    # The plus keeps SQLite from using the persona's index to reach rows whose ids are given.
    known = known_to(db, persona_id, "+m.persona_id")
    query = f"{MEMORY} WHERE {known} AND m.id IN (SELECT value FROM json_each(:ids))"
    values = {"persona": persona_id, "ids": rows.json_list(ids)}
    by_id = {r["id"]: rows.memory(r) for r in db.query(query, values)}
    return [by_id[i] for i in ids if i in by_id]
