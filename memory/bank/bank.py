"""Read and write one user's memory.

Every query for memories names a persona and returns that persona's memories only; those by id and those of turns also
what the user said to others (`memory.bank.queries.memories`).
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from sqlite_utils import Database

from memory import named_queries
from memory.bank import journal, rows
from memory.bank.connection import REFUSALS, BankFile
from memory.bank.facts import add_memory
from memory.bank.queries.memories import known_to, memories_by_id, persona_list, read_memories, visible_personas
from memory.bank.sessions import find_or_create_persona, record_sessions, store_session
from memory.errors import BankUnavailable, MemoirError, UnknownMemory
from memory.types import (
    NO_QUOTA,
    Memory,
    MemoryDraft,
    Persona,
    PersonaDraft,
    Quota,
    Session,
    SessionDraft,
    Store,
    TimeSpan,
    Turn,
    WriteCounts,
)

Choice = Literal["embedding_model", "chat_model", "last_chat_model"]
"""What the user chooses for a whole bank."""

SQL = named_queries(__file__)

NEWEST_FIRST = "ORDER BY m.pinned DESC, coalesce(m.event_start, m.said_at, m.recorded_at) DESC, m.id DESC"
"""The order in which memories are shown: pinned ones first, then by when they happened, were said or were stored."""


class Bank(BankFile):
    """A bank: what is read from it and written to it, apart from search (`memory.search.searcher`) and upkeep.

    It refuses to store what would exceed its quota. What only changes or deletes is never refused.
    """

    def __init__(self, path: Path, quota: Quota = NO_QUOTA) -> None:
        super().__init__(path)
        self._quota = quota

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction that is kept whole or not at all; waits for its turn behind other writers.

        Raises:
            BankUnavailable: the quota would be exceeded; nothing was written.
        """
        with super().writing() as db:
            before = db.conn.execute(SQL["last_ids"]).fetchall() if self._quota != NO_QUOTA else None
            yield db
            if before is not None and db.conn.execute(SQL["last_ids"]).fetchall() != before:
                self._check_quota(db)

    def _check_quota(self, db: Database) -> None:
        (size,) = db.conn.execute(SQL["size"]).fetchone()
        held = {"memories": db.table("memories").count, "MB": math.ceil(size / 2**20)}
        for (unit, count), most in zip(held.items(), (self._quota.memories, self._quota.megabytes), strict=True):
            if most is not None and count > most:
                raise BankUnavailable(REFUSALS["full"].format(most=most, unit=unit, count=count))

    # --- personas

    def personas(self) -> list[Persona]:
        """All personas, the oldest first."""
        with self.reading() as db:
            return [rows.read(Persona, r) for r in db.query("SELECT * FROM personas ORDER BY id")]

    def persona(self, wanted: str | int) -> Persona:
        """The persona of that number, name or source id ("conv-26"); case does not matter.

        Raises:
            MemoirError: no persona matches, or several do.
        """
        everyone = self.personas()
        asked = str(wanted).strip().casefold()
        for names in (lambda p: str(p.id), lambda p: p.name.casefold(), lambda p: p.external_id.casefold()):
            matches = [p for p in everyone if names(p) == asked]
            if len(matches) == 1:
                return matches[0]
            if matches:
                raise MemoirError(f"{wanted!r} names {len(matches)} personas in {self.path}; use a name or a number")
        known = ", ".join(p.name for p in everyone[:20]) or "none yet"
        raise MemoirError(f"no persona {wanted!r} in {self.path}; known: {known}")

    def create_persona(self, draft: PersonaDraft) -> Persona:
        """Create a persona, or return the one that the same source created (same `external_id`, or same name)."""
        with self.writing() as db:
            return find_or_create_persona(db, draft)

    def choice(self, name: Choice, default: str) -> str:
        """What was chosen for this bank, or the default."""
        with self.reading() as db:
            row = db.conn.execute("SELECT value FROM choices WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else default

    def choose(self, name: Choice, value: str) -> None:
        """Choose something for this bank. Vectors of another embedding model stay: the way back takes no time."""
        with self.writing() as db:
            rows.choose(db.conn, name, value)

    def change_persona(self, persona_id: int, **columns: str | bool) -> Persona:
        """Change the name of a persona, texts of its card, or whether it is `proactive` or `kept_apart`.

        What was said keeps the names of its speakers.

        Raises:
            MemoirError: the name is empty or taken, or there is no persona of that number.
        """
        with self.writing() as db:
            changes = {name: rows.clean(v).strip() if isinstance(v, str) else int(v) for name, v in columns.items()}
            if "name" in changes:
                changes["name"] = name = " ".join(str(changes["name"]).split())
                others = db.conn.execute("SELECT name FROM personas WHERE id <> ?", (persona_id,))
                if not name:
                    raise MemoirError("Give the persona a name. Nothing was changed.")
                if name.casefold() in {other.casefold() for (other,) in others}:
                    raise MemoirError(f"There is already a persona called {name}. Choose another name.")
            sets = ", ".join(f"{column} = :{column}" for column in changes)
            query = f"UPDATE personas SET {sets} WHERE id = :id RETURNING *"
            changed = [rows.read(Persona, row) for row in db.query(query, {**changes, "id": persona_id})]
            if not changed:
                raise MemoirError(f"There is no persona {persona_id}. It was deleted, perhaps in another window.")
            apart = "kept apart" if changed[0].kept_apart else "shared"
            action = {"name": "renamed", "kept_apart": apart}.get(next(iter(changes)), "edited")
            if "proactive" not in changes:
                journal.record(db, action, persona_id, {"personas": 1})
            return changed[0]

    # --- writing

    def remember(self, persona_id: int, sessions: Sequence[SessionDraft]) -> WriteCounts:
        """Store sessions with a dialogue memory for each turn and what was learned from them, all or nothing.

        What the bank has already is left as it is: remembering twice adds nothing.
        """
        with self.writing() as db:
            _require_persona(db, persona_id)
            stored = sum((store_session(db, persona_id, s) for s in sessions), WriteCounts())
            record_sessions(db, persona_id, sessions, stored)
            return stored

    def add_memories(self, persona_id: int, drafts: Sequence[MemoryDraft]) -> WriteCounts:
        """Store memories that no turn said (an imported profile, an event), all or nothing, except known ones."""
        with self.writing() as db:
            _require_persona(db, persona_id)
            stored = sum((add_memory(db, persona_id, d) for d in drafts), WriteCounts())
            journal.record(db, "imported", persona_id, stored.added)
            return stored

    # --- reading

    def memory(self, persona_id: int, memory_id: int) -> Memory:
        """One memory that a persona knows.

        Raises:
            UnknownMemory: it is not there, or the persona does not know it.
        """
        memories = self.memories_by_id(persona_id, [memory_id])
        if not memories:
            raise UnknownMemory(f"persona {persona_id} has no memory {memory_id}")
        return memories[0]

    def memories_by_id(self, persona_id: int, ids: Sequence[int]) -> list[Memory]:
        """Those of the memories that a persona knows that have these ids, in the order of the ids."""
        with self.reading() as db:
            return memories_by_id(db, persona_id, ids)

    def memories(self, persona_id: int, *, store: Store | None = None, limit: int = -1) -> list[Memory]:
        """A persona's memories, of one store or of all, pinned ones first, then the newest."""
        clauses = f"WHERE m.persona_id = :persona AND m.store = coalesce(:store, m.store) {NEWEST_FIRST} LIMIT :limit"
        return self.read_memories(clauses, {"persona": persona_id, "store": store, "limit": limit})

    def read_memories(self, clauses: str, values: Mapping[str, object]) -> list[Memory]:
        """The memories `m` that SQL clauses with named values, of them `persona`, select."""
        with self.reading() as db:
            return read_memories(db, clauses, values)

    def counts(self, persona_id: int) -> dict[str, int]:
        """The number of `sessions`, `turns` and memories of each store that a persona has."""
        with self.reading() as db:
            return dict(db.conn.execute(SQL["counts"], {"persona": persona_id}).fetchall())

    def time_range(self, *personas: int) -> TimeSpan | None:
        """The span from the first dated turn of personas to just after the last, or None if none has a date."""
        with self.reading() as db:
            first, last = db.conn.execute(SQL["time_range"], (rows.json_list(personas),)).fetchone()
        if first is None:
            return None
        end = datetime.fromisoformat(last).replace(second=59, microsecond=999_999)
        return TimeSpan(min(datetime.fromisoformat(first), end - timedelta(microseconds=1)), end)

    def last_said(self, persona_id: int, before: datetime) -> datetime | None:
        """When the last of what was said before a moment was said; None if nothing was."""
        with self.reading() as db:
            (last,) = db.conn.execute(SQL["last_said"], (persona_id, rows.format_time(before))).fetchone()
        return datetime.fromisoformat(last) if last else None

    def sessions(self, persona_id: int) -> list[Session]:
        """A persona's sessions in the order they took place; those without a date first."""
        return self.read_sessions("WHERE persona_id = :persona ORDER BY started_at, id", {"persona": persona_id})

    def read_sessions(self, clauses: str, values: Mapping[str, object]) -> list[Session]:
        """The sessions `s` that SQL clauses with named values select."""
        with self.reading() as db:
            return [rows.read(Session, r) for r in db.query(f"{SQL['session']} {clauses}", dict(values))]

    def session(self, persona_id: int, session_id: int) -> Session:
        """One session of a persona, or of one whose memories of the user it shares.

        Raises:
            UnknownMemory: it is not there, or another persona's that is kept apart.
        """
        with self.reading() as db:
            personas = persona_list(visible_personas(db, persona_id))
        sessions = self.read_sessions(f"WHERE persona_id IN {personas} AND id = :id", {"id": session_id})
        if not sessions:
            raise UnknownMemory(f"persona {persona_id} has no session {session_id}")
        return sessions[0]

    def turns(self, persona_id: int, session_id: int, *, around: int | None = None, reach: int = 0) -> list[Turn]:
        """The turns of a session in order; with `around`, only those within `reach` places of that position.

        The session is one that `session` finds.
        """
        first, last = (0, 2**31) if around is None else (around - reach, around + reach)
        return self._turns(
            persona_id, "WHERE s.id = ? AND t.position BETWEEN ? AND ? ORDER BY t.position", session_id, first, last
        )

    def _turns(self, persona_id: int, clauses: str, *values: object) -> list[Turn]:
        with self.reading() as db:
            personas = persona_list(visible_personas(db, persona_id))
            query = f"SELECT t.* FROM turns t JOIN sessions s ON s.id = t.session_id AND s.persona_id IN {personas}"
            return [rows.read(Turn, r) for r in db.query(f"{query} {clauses}", list(values))]

    def chat_memories(self, persona_id: int, chat_id: str, limit: int) -> list[Memory]:
        """The dialogue memories of the session with that `external_id`, without retracted ones, the newest first."""
        return self.read_memories(SQL["chat_memories"], {"persona": persona_id, "chat": chat_id, "limit": limit})

    def cited_in_chat(self, persona_id: int, chat_id: str) -> list[Memory]:
        """The memories that replies in the session with that `external_id` cite; those of the last reply first."""
        return self.read_memories(SQL["cited_in_chat"], {"persona": persona_id, "chat": chat_id})

    def memories_from_same_turns(self, persona_id: int, memory_id: int) -> list[Memory]:
        """All known memories from the turns of a memory, itself included, in the order in which they were stored."""
        return self.read_memories(SQL["from_same_turns"], {"persona": persona_id, "id": memory_id})

    def sources(self, persona_id: int, memory_id: int) -> list[Turn]:
        """The turns that a memory came from, in order."""
        clauses = "JOIN sources o ON o.turn_id = t.id WHERE o.memory_id = ? ORDER BY t.session_id, t.position"
        return self._turns(persona_id, clauses, memory_id)

    def quotes(self, persona_id: int, memory_id: int) -> dict[int, str]:
        """The words that carry a memory, by turn id; a dialogue memory, which is its whole turn, has none."""
        with self.reading() as db:
            return dict(db.conn.execute(SQL["quotes"], (persona_id, memory_id)).fetchall())

    def citing_answers(self, persona_id: int, memory_id: int, limit: int) -> list[tuple[str, Turn]]:
        """The answers that relied on a memory, each after its question, the newest first."""
        with self.reading() as db:
            answers = db.query(SQL["citing_answers"], [persona_id, memory_id, limit])
            return [(row["question"] or "", rows.read(Turn, row)) for row in answers]

    def origins(self, persona_id: int, memory_ids: Sequence[int]) -> dict[int, list[Turn]]:
        """By memory id, the first turn that it comes from and up to two before that in its session, the last first.

        Of what was said to another persona, only the user's.
        """
        turns: dict[int, list[Turn]] = defaultdict(list)
        with self.reading() as db:
            query = SQL["origins"].format(known=known_to(db, persona_id, "+m.persona_id"))
            for row in db.query(query, {"persona": persona_id, "ids": rows.json_list(memory_ids)}):
                turns[row["memory_id"]].append(rows.read(Turn, row))
        return dict(turns)


def _require_persona(db: Database, persona_id: int) -> None:
    if not db.table("personas").count_where("id = ?", [persona_id]):
        raise MemoirError(f"no persona {persona_id} in this bank; nothing was stored")
