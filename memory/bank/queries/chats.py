"""Read chats: those that were held here or imported, what their answers cite, and the latest lines of a history."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory.bank import rows
from memory.bank.bank import SESSION, Bank
from memory.types import Memory, Session


def past_chats(bank: Bank, persona_id: int, limit: int, words: str = "") -> list[tuple[Session, datetime | None]]:
    """The chats with a persona and the conversations that were imported into it, each with when its last turn was said.

    A chat that was answered as of an earlier day was held when it began. The latest come first, those without a date
    last. Of `words`, each is part of the title or of a turn, in any case.
    """
    in_turn = "EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND instr(folded(text), value))"
    query = f"""
        {SESSION.replace("SELECT s.*", "SELECT s.*, latest.last, latest.last_text")} JOIN (
            SELECT s.id, max(coalesce(t.said_at, s.started_at), coalesce(s.started_at, t.said_at)) AS last,
                iif(s.started_at > t.said_at, s.started_text, t.said_text) AS last_text
            FROM sessions s JOIN turns t ON t.session_id = s.id
                AND t.position = (SELECT max(position) FROM turns WHERE session_id = s.id)
            WHERE s.persona_id = :persona AND NOT s.hidden
                AND NOT EXISTS (SELECT 1 FROM json_each(:words) WHERE NOT (instr(folded(s.title), value) OR {in_turn}))
            ORDER BY last DESC, s.id DESC LIMIT :limit
        ) latest ON latest.id = s.id ORDER BY latest.last DESC, s.id DESC
    """
    values = {"persona": persona_id, "limit": limit, "words": json.dumps(words.casefold().split())}
    with bank.reading() as db:
        db.conn.create_function("folded", 1, str.casefold, deterministic=True)
        return [(rows.session(row), rows.parse_time(row["last"], row["last_text"])) for row in db.query(query, values)]


def openings(bank: Bank, chats: Sequence[Session], turns: int) -> dict[int, str]:
    """What was said first in each of the chats, so many turns of it, by the ids of the chats."""
    first = "SELECT text FROM turns WHERE session_id = value ORDER BY position LIMIT :turns"
    query = f"SELECT value, (SELECT group_concat(text, char(10)) FROM ({first})) FROM json_each(:chats)"
    with bank.reading() as db:
        said = db.conn.execute(query, {"chats": rows.json_list(chat.id for chat in chats), "turns": turns})
        return {chat_id: text or "" for chat_id, text in said}


def change_chat(bank: Bank, chat: Session, **columns: str | int) -> None:
    """Change the `title` of a chat, or whether it is `hidden`: left out of the list until something is said in it."""
    with bank.writing() as db:
        db.table("sessions").update(chat.id, columns)


def last_chat(bank: Bank) -> Session | None:
    """The chat in which something was said last."""
    last = "(SELECT max(id) FROM turns WHERE session_id = s.id)"
    return _first_session(bank, f"WHERE s.source = 'chat' AND NOT s.hidden ORDER BY {last} DESC", {})


def find_chat(bank: Bank, chat_id: str, persona_id: int | None = None) -> Session | None:
    """The chat or the imported conversation of an id, if any of it was remembered; that with the persona, if there is.

    Two imports may name their conversations alike.
    """
    clauses = (
        "WHERE s.external_id = :chat AND :chat <> '' OR s.external_id = '' AND 'session-' || s.id = :chat "
        "ORDER BY s.persona_id = :persona DESC, s.source = 'chat' DESC, s.id"
    )
    return _first_session(bank, clauses, {"chat": chat_id, "persona": persona_id})


def _first_session(bank: Bank, clauses: str, values: Mapping[str, object]) -> Session | None:
    with bank.reading() as db:
        return next((rows.session(row) for row in db.query(f"{SESSION} {clauses} LIMIT 1", dict(values))), None)


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


def memories_of_chat(bank: Bank, persona_id: int, chat_id: str, turn_id: str = "") -> list[Memory]:
    """The memories that were made of a chat, or of one turn of it; not those that were replaced.

    Of those of one turn, the utterance itself comes first.
    """
    clauses = (
        "WHERE m.session_id IN (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat) "
        "AND (t.external_id = :turn OR :turn = '') AND (m.taken_back IS NULL OR m.superseded_by IS NULL) ORDER BY m.id"
    )
    return bank.read_memories(clauses, {"persona": persona_id, "chat": chat_id, "turn": turn_id})


def latest_lines(bank: Bank, persona_id: int, limit: int) -> list[Memory]:
    """The dialogue memories that were stored last, the latest first."""
    clauses = (
        "WHERE m.persona_id = :persona AND m.store = 'dialogue' AND m.taken_back IS NULL ORDER BY m.id DESC LIMIT :n"
    )
    return bank.read_memories(clauses, {"persona": persona_id, "n": limit})
