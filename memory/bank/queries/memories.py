"""Which memories a persona knows, and reading them in a connection.

A persona knows its own memories, and what the user said to others: what is the user's is known to whomever they talk
with. A persona's own words, its card and its life stay with it. One that is kept apart knows nothing of the others, nor
they of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlite_utils import Database

from memory import named_queries
from memory.bank import rows
from memory.types import Memory

SQL = named_queries(__file__)
MEMORY, OF_USER, IS_PLAN = SQL["memory"], SQL["of_user"], SQL["is_plan"]


def visible_personas(db: Database, persona_id: int) -> list[int]:
    """The persona, and the others whose chats with the user it knows the user's side of."""
    return [persona_id, *(other for (other,) in db.conn.execute(SQL["other_personas"], (persona_id,)))]


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
    return dict(db.conn.execute(SQL["ended_elsewhere"].format(known=known, of_user=OF_USER)).fetchall())


def persona_list(personas: Sequence[int]) -> str:
    """Personas as the list of an SQL `IN`."""
    return f"({', '.join(map(str, personas))})"


def read_memories(db: Database, clauses: str, values: Mapping[str, Any]) -> list[Memory]:
    """The memories `m` that SQL clauses with named values, of them `persona`, select; {known} is that it knows them."""
    if "{known}" in clauses:
        # The plus keeps SQLite from using the persona's index to reach rows whose ids are given.
        clauses = clauses.format(known=known_to(db, values["persona"], "+m.persona_id"))
    return [rows.memory(r) for r in db.query(f"{MEMORY} {clauses}", dict(values))]


def memories_by_id(db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
    """Those of the memories that a persona knows that have these ids, in the order of the ids."""
    clauses = "WHERE {known} AND m.id IN (SELECT value FROM json_each(:ids))"
    found = read_memories(db, clauses, {"persona": persona_id, "ids": rows.json_list(ids)})
    by_id = {memory.id: memory for memory in found}
    return [by_id[i] for i in ids if i in by_id]
