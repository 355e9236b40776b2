"""Read what the user told: facts about them, who is what to whom, and what was said when."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.relations import YOU
from memory.types import Memory, Relation, TimeSpan

MOST = 500
"""Most relations and facts that are read of one persona, the latest first."""

PLANNED = timedelta(days=120)
"""How far ahead a plan is known of."""

_HOLDS = """m.persona_id = :persona AND m.taken_back IS NULL AND (m.valid_from IS NULL OR m.valid_from <= :at)
    AND (m.valid_to IS NULL OR m.valid_to > :at) AND (m.said_at IS NULL OR m.said_at <= :at)"""
_LATEST = "ORDER BY coalesce(m.valid_from, m.said_at) DESC, m.id DESC LIMIT :most"


def known_relations(bank: Bank, persona_id: int, as_of: datetime) -> list[Relation]:
    """The relations between people and animals that held at a moment and were known then, the latest first.

    The head of the user's own is `YOU`, also where an imported history calls the user by name.
    """
    query = f"""
        SELECT CASE WHEN t.role = 'user' AND m.relation_head = m.speaker THEN :you ELSE m.relation_head END,
            m.relation_name, m.relation_tail
        FROM memories m LEFT JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
        WHERE {_HOLDS} AND m.store = 'relationship' AND m.relation_tail <> '' {_LATEST}
    """
    with bank.reading() as db:
        found = db.conn.execute(query, {**_values(persona_id, as_of), "you": YOU}).fetchall()
        return [Relation(*row) for row in found]


def relationships(bank: Bank, persona_id: int, as_of: datetime, limit: int) -> list[Memory]:
    """The memories of who is what to whom that held at a moment, the latest first."""
    clauses = f"WHERE {_HOLDS} AND m.store = 'relationship' {_LATEST}"
    return bank.read_memories(clauses, {**_values(persona_id, as_of), "most": limit})


def facts_told(bank: Bank, persona_id: int, as_of: datetime) -> list[Memory]:
    """The facts that a user told about themselves and their people, and that held at a moment, the latest first."""
    related = f"WHERE {_HOLDS} AND m.store IN ('profile', 'relationship') AND m.relation_tail <> '' AND t.role = 'user'"
    return bank.read_memories(f"{related} {_LATEST}", _values(persona_id, as_of))


def upcoming(bank: Bank, persona_id: int, as_of: datetime, limit: int) -> list[Memory]:
    """What was told of days from a moment on, the next first: plans, appointments, visits."""
    ahead = f"WHERE {_HOLDS} AND m.event_end > :at AND m.event_start < :until ORDER BY m.event_start, m.id LIMIT :most"
    until = rows.format_time(as_of + PLANNED)
    return bank.read_memories(ahead, {**_values(persona_id, as_of), "until": until, "most": limit})


def known_facts(bank: Bank, persona_id: int, as_of: datetime) -> list[Memory]:
    """The facts that held at a moment, the latest first; none that an assistant told or that was edited since."""
    clauses = f"""
        WHERE {_HOLDS} AND m.store IN ('profile', 'relationship', 'world') AND coalesce(t.role, '') <> 'assistant'
            AND NOT EXISTS (SELECT 1 FROM changes WHERE other_id = m.id AND kind = 'edit' AND at > :at) {_LATEST}
    """
    return bank.read_memories(clauses, _values(persona_id, as_of))


def name_told(bank: Bank, persona_id: int, as_of: datetime) -> str:
    """The name that the user had told last at a moment; empty if none."""
    # A persona says who it is, too.
    named = (
        f"WHERE {_HOLDS} AND m.attribute = 'name' AND m.relation_tail <> '' AND coalesce(t.role, '') <> 'assistant' "
        f"{_LATEST}"
    )
    facts = bank.read_memories(named, {**_values(persona_id, as_of), "most": 1})
    return facts[0].relation.tail if facts and facts[0].relation else ""


def lines_told(bank: Bank, persona_id: int, span: TimeSpan, limit: int, *, not_in: str = "") -> list[Memory]:
    """The latest of what the user said in a span, the oldest first; none from the chat `not_in`."""
    clauses = """
        WHERE m.persona_id = :persona AND m.store = 'dialogue' AND m.taken_back IS NULL AND t.role = 'user'
            AND m.said_at >= :start AND m.said_at < :end AND m.session_id NOT IN
                (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat AND external_id <> '')
        ORDER BY m.said_at DESC, m.id DESC LIMIT :limit
    """
    values = {"start": rows.format_time(span.start), "end": rows.format_time(span.end), "limit": limit}
    return bank.read_memories(clauses, {"persona": persona_id, "chat": not_in, **values})[::-1]


def count_known(bank: Bank, persona_id: int, as_of: datetime) -> tuple[int, datetime | None]:
    """How many memories were known at a moment, and when the first of them was said."""
    known = "persona_id = :persona AND taken_back IS NULL AND said_at <= :at"
    query = f"SELECT count(*), min(said_at) FROM memories WHERE {known}"
    with bank.reading() as db:
        count, first = db.conn.execute(query, _values(persona_id, as_of)).fetchone()
    return int(count), datetime.fromisoformat(first) if first else None


def _values(persona_id: int, as_of: datetime) -> Mapping[str, object]:
    return {"persona": persona_id, "at": rows.format_time(as_of), "most": MOST}
