"""Read what the user told: facts about them, who is what to whom, and what was said when.

What they told to other personas counts, too, unless one is kept apart (`memory.bank.queries.memories`).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory import named_queries
from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.queries.memories import IS_PLAN, ended_elsewhere, known_to, read_memories, visible_personas
from memory.bank.relations import YOU
from memory.types import Memory, Persona, Relation, TimeSpan

MOST = 500
"""Most relations and facts that are read of one persona, the latest first."""

PLANNED = timedelta(days=120)
"""How far ahead a plan is known of."""

SQL = named_queries(__file__)
_HOLDS, _LATEST = SQL["holds"], SQL["latest"]


def known_relations(bank: Bank, persona_id: int, as_of: datetime) -> list[Relation]:
    """The relations between people and animals that held at a moment and were known then, the latest first.

    The head of the user's own is `YOU`, also where an imported history calls the user by name.
    """
    with bank.reading() as db:
        query = SQL["known_relations"].format(known=known_to(db, persona_id), holds=_HOLDS, latest=_LATEST)
        found = db.conn.execute(query, {**_values(persona_id, as_of), "you": YOU}).fetchall()
        ended = ended_elsewhere(db, persona_id)
    at = rows.format_time(as_of) or ""
    return [Relation(*row) for *row, memory_id in found if ended.get(memory_id, "9") > at]


def relationships(bank: Bank, persona_id: int, as_of: datetime, limit: int) -> list[Memory]:
    """The persona's own memories of who is what to whom that held at a moment, the latest first."""
    clauses = f"WHERE m.persona_id = :persona AND {_HOLDS} AND m.store = 'relationship' {_LATEST}"
    return bank.read_memories(clauses, {**_values(persona_id, as_of), "most": limit})


def facts_told(bank: Bank, persona_id: int, as_of: datetime) -> list[Memory]:
    """The facts that a user told about themselves and their people, and that held at a moment, the latest first."""
    return _read_known(bank, persona_id, as_of, "facts_told")


def facts_of_persona(bank: Bank, persona: Persona, as_of: datetime) -> list[Memory]:
    """The facts that a persona told about itself and its people, and that held at a moment, the latest first."""
    return _read_known(bank, persona.id, as_of, "facts_of_persona", name=persona.name)


def upcoming(bank: Bank, persona_id: int, as_of: datetime, limit: int) -> list[Memory]:
    """What was told of days from a moment on, the next first: plans, appointments, visits."""
    return _read_known(bank, persona_id, as_of, "upcoming", until=rows.format_time(as_of + PLANNED), most=limit)


def events_told(bank: Bank, persona_id: int, as_of: datetime) -> list[Memory]:
    """What was learned of what happened or is planned, the latest first."""
    return _read_known(bank, persona_id, as_of, "events_told")


def known_facts(bank: Bank, persona_id: int, as_of: datetime) -> list[Memory]:
    """The facts that held at a moment, the latest first; none that an assistant told or that was edited since."""
    return _read_known(bank, persona_id, as_of, "known_facts")


def name_told(bank: Bank, persona_id: int, as_of: datetime) -> str:
    """The name that the user had told last at a moment; empty if none."""
    facts = _read_known(bank, persona_id, as_of, "name_told", most=1)
    return facts[0].relation.tail if facts and facts[0].relation else ""


def _read_known(bank: Bank, persona_id: int, as_of: datetime, query: str, **more: object) -> list[Memory]:
    """The memories that a persona knew at a moment and that held then, by a condition of told.sql and its values.

    A fact that was told to several personas is listed once, and of two that exclude each other the latest.
    """
    with bank.reading() as db:
        known, ended = known_to(db, persona_id), ended_elsewhere(db, persona_id)
        where = f"WHERE {known} AND {_HOLDS} AND {SQL[query].format(latest=_LATEST, is_plan=IS_PLAN)}"
        found = read_memories(db, where, {**_values(persona_id, as_of), **more})
    at = rows.format_time(as_of) or ""
    holds = [memory for memory in found if ended.get(memory.id, "9") > at]
    first: dict[tuple[str, str], Memory] = {}
    for memory in sorted(holds, key=lambda memory: bool(memory.told_to)):
        first.setdefault((memory.store, memory.text), memory)
    return [m for m in holds if not m.told_to or first[m.store, m.text] is m]


def lines_told(bank: Bank, persona_id: int, span: TimeSpan, limit: int, *, not_in: str = "") -> list[Memory]:
    """The latest of what the user said in a span, the oldest first; none from the chat `not_in`."""
    values = {"start": rows.format_time(span.start), "end": rows.format_time(span.end), "limit": limit}
    values |= {"persona": persona_id, "chat": not_in}
    with bank.reading() as db:
        return read_memories(db, SQL["lines_told"].format(known=known_to(db, persona_id)), values)[::-1]


def known_period(bank: Bank, persona_id: int) -> TimeSpan | None:
    """The span from the first dated turn to just after the last of all that a persona knows; None if it has none."""
    with bank.reading() as db:
        personas = visible_personas(db, persona_id)
    return bank.time_range(*personas)


def count_known(bank: Bank, persona_id: int, as_of: datetime) -> tuple[int, datetime | None]:
    """How many things that were told were known at a moment, and when the first was said.

    What is learned from a turn counts once with it, and what only asks does not count.
    """
    with bank.reading() as db:
        query = SQL["count_known"].format(known=known_to(db, persona_id))
        count, first = db.conn.execute(query, _values(persona_id, as_of)).fetchone()
    return int(count), datetime.fromisoformat(first) if first else None


def _values(persona_id: int, as_of: datetime) -> Mapping[str, object]:
    return {"persona": persona_id, "at": rows.format_time(as_of), "most": MOST}
