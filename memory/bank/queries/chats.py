"""Read chats: those that were held here or imported, what their answers cite, and the latest lines of a history."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from memory import named_queries
from memory.bank import rows
from memory.bank.bank import Bank
from memory.types import Memory, Session

SQL = named_queries(__file__)


def past_chats(bank: Bank, persona_id: int, limit: int, words: str = "") -> list[tuple[Session, datetime | None]]:
    """The chats with a persona and the conversations that were imported into it, each with when its last turn was said.

    A chat that was answered as of an earlier day was held when it began. The latest come first, those without a date
    last. Of `words`, each is part of the title or of a turn, in any case.
    """
    values = {"persona": persona_id, "limit": limit, "words": json.dumps(words.casefold().split())}
    with bank.reading() as db:
        db.conn.create_function("folded", 1, str.casefold, deterministic=True)
        found = db.query(SQL["past_chats"], values)
        return [(rows.read(Session, row), rows.parse_time(row["last"], row["last_text"])) for row in found]


def openings(bank: Bank, chats: Sequence[Session], turns: int) -> dict[int, str]:
    """What the user said first in each of the chats, so many turns of it, by the ids of the chats."""
    with bank.reading() as db:
        said = db.conn.execute(SQL["openings"], {"chats": rows.json_list(chat.id for chat in chats), "turns": turns})
        return {chat_id: text or "" for chat_id, text in said}


def change_chat(bank: Bank, chat: Session, **columns: str | int) -> None:
    """Change the `title` of a chat, or whether it is `hidden`: left out of the list until something is said in it."""
    with bank.writing() as db:
        db.table("sessions").update(chat.id, columns)


def last_chat(bank: Bank) -> Session | None:
    """The chat in which something was said last."""
    return next(iter(bank.read_sessions(SQL["last_chat"], {})), None)


def find_chat(bank: Bank, chat_id: str, persona_id: int | None = None) -> Session | None:
    """The chat or the imported conversation of an id, if any of it was remembered; that with the persona, if there is.

    Two imports may name their conversations alike.
    """
    return next(iter(bank.read_sessions(SQL["find_chat"], {"chat": chat_id, "persona": persona_id})), None)


def citations(bank: Bank, session_id: int) -> Mapping[int, Mapping[int, int]]:
    """What the answers of a chat cite: by the id of the answer's turn, memory ids by the number of the citation.

    Citations that were stored without a number are left out.
    """
    cited: dict[int, dict[int, int]] = {}
    with bank.reading() as db:
        for turn_id, number, memory_id in db.conn.execute(SQL["citations"], (session_id,)):
            cited.setdefault(turn_id, {})[number] = memory_id
    return cited


def memories_of_chat(bank: Bank, persona_id: int, chat_id: str, turn_id: str = "") -> list[Memory]:
    """The memories that were made of a chat, or of one turn of it; not those that were replaced.

    Of those of one turn, the utterance itself comes first.
    """
    return bank.read_memories(SQL["memories_of_chat"], {"persona": persona_id, "chat": chat_id, "turn": turn_id})


def latest_lines(bank: Bank, persona_id: int, limit: int) -> list[Memory]:
    """The dialogue memories that were stored last, the latest first."""
    return bank.read_memories(SQL["latest_lines"], {"persona": persona_id, "n": limit})
