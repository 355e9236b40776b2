"""Read chats: those that were held here, what their answers cite, and the latest lines of a history."""

from collections.abc import Mapping

from memory.bank import rows
from memory.bank.bank import SESSION, Bank
from memory.types import Memory, Session


def recent_chats(bank: Bank, persona_id: int | None, limit: int) -> list[Session]:
    """The chats with a persona, or with any, the latest first."""
    query = (
        f"{SESSION} WHERE s.source = 'chat' AND s.persona_id = coalesce(?, s.persona_id) "
        "ORDER BY (SELECT max(id) FROM turns WHERE session_id = s.id) DESC LIMIT ?"
    )
    with bank.reading() as db:
        return [rows.session(row) for row in db.query(query, [persona_id, limit])]


def find_chat(bank: Bank, chat_id: str) -> Session | None:
    """The chat of an id, if any of it was remembered."""
    with bank.reading() as db:
        found = list(db.query(f"{SESSION} WHERE s.source = 'chat' AND s.external_id = ?", [chat_id]))
    return rows.session(found[0]) if found else None


def citations(bank: Bank, session_id: int) -> Mapping[int, Mapping[int, int]]:
    """What the answers of a chat cite: by the id of the answer's turn, memory ids by the number of the citation.

    Citations that were stored without a number are left out.
    """
    query = (
        "SELECT c.turn_id, c.number, c.memory_id FROM cites c JOIN turns t ON t.id = c.turn_id "
        "WHERE t.session_id = ? AND c.number > 0 ORDER BY c.turn_id, c.number"
    )
    cited: dict[int, dict[int, int]] = {}
    with bank.reading() as db:
        for turn_id, number, memory_id in db.conn.execute(query, (session_id,)):
            cited.setdefault(turn_id, {})[number] = memory_id
    return cited


def memories_of_turn(bank: Bank, persona_id: int, chat_id: str, turn_id: str) -> list[Memory]:
    """The memories that were made of one turn of a chat, the utterance itself first."""
    clauses = (
        "WHERE m.session_id IN (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat) "
        "AND t.external_id = :turn AND m.taken_back IS NULL ORDER BY m.id"
    )
    return bank.read_memories(clauses, {"persona": persona_id, "chat": chat_id, "turn": turn_id})


def latest_lines(bank: Bank, persona_id: int, limit: int) -> list[Memory]:
    """The dialogue memories that were stored last, the latest first."""
    clauses = (
        "WHERE m.persona_id = :persona AND m.store = 'dialogue' AND m.taken_back IS NULL ORDER BY m.id DESC LIMIT :n"
    )
    return bank.read_memories(clauses, {"persona": persona_id, "n": limit})
