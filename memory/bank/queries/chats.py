"""Read chats: those that were held here or imported, what their answers cite, and the latest lines of a history."""

from collections.abc import Mapping

from memory.bank import rows
from memory.bank.bank import SESSION, Bank
from memory.types import Memory, Session


def past_chats(bank: Bank, persona_id: int, limit: int) -> list[Session]:
    """The chats with a persona and the conversations that were imported into it, by their last turns, the latest first.

    Those without a date come last.
    """
    query = f"""
        {SESSION} JOIN (SELECT id, (SELECT said_at FROM turns WHERE session_id = s.id ORDER BY position DESC LIMIT 1)
            AS last FROM sessions s WHERE persona_id = ? ORDER BY last DESC, id DESC LIMIT ?) latest ON latest.id = s.id
        WHERE turn_count > 0 ORDER BY latest.last DESC, s.id DESC
    """
    with bank.reading() as db:
        return [rows.session(row) for row in db.query(query, [persona_id, limit])]


def last_chat(bank: Bank) -> Session | None:
    """The chat in which something was said last."""
    last = "(SELECT max(id) FROM turns WHERE session_id = s.id)"
    with bank.reading() as db:
        found = list(db.query(f"{SESSION} WHERE s.source = 'chat' ORDER BY {last} DESC LIMIT 1"))
    return rows.session(found[0]) if found else None


def find_chat(bank: Bank, chat_id: str, persona_id: int | None = None) -> Session | None:
    """The chat or the imported conversation of an id, if any of it was remembered; that with the persona, if there is.

    Two imports may name their conversations alike.
    """
    query = (
        f"{SESSION} WHERE s.external_id = :chat AND :chat <> '' OR s.external_id = '' AND 'session-' || s.id = :chat "
        "ORDER BY s.persona_id = :persona DESC, s.source = 'chat' DESC, s.id LIMIT 1"
    )
    with bank.reading() as db:
        found = list(db.query(query, {"chat": chat_id, "persona": persona_id}))
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
