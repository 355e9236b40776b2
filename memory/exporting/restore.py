"""Restore exported personas, every row as it was except for its number (see `memory.importers.generic.memoir_export`).

A persona is restored completely or not at all. What the bank has already is left as it is, so that restoring twice adds
nothing. A new fact supersedes, or is superseded by, those that the persona knew.
"""

import json
from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlite_utils import Database

from memory.bank import journal, rows
from memory.bank.bank import Bank
from memory.bank.facts import supersede
from memory.bank.queries import named_queries
from memory.bank.rows import find_by_identity, insert, key_columns, link, next_id, relation_columns
from memory.bank.sessions import find_or_create_persona, turns_by_identity
from memory.errors import Cancelled, UnreadableFile
from memory.importers.generic import memoir_export
from memory.importers.generic.memoir_export import ChangeRow, Line, MemoryRow, SessionRow
from memory.importers.history_file import History
from memory.importers.reading.source import Source
from memory.types import Persona, PersonaDraft, WriteCounts

SQL = named_queries("transfer.sql")


def restore_personas(
    bank: Bank, path: Source, choose: Collection[str] | None, target: str | None, progress: Callable[[int], None]
) -> list[History]:
    """Restore the personas of an export, or those whose id or name is in `choose`; returns what was read and stored.

    `target` is the name of the one persona that takes all, instead of the one that the file names. `progress` is told
    how many bytes were read. Dialogue memories are not counted as read, as in other imports.

    Raises:
        UnreadableFile: the file was cut off or changed; nothing was stored.
        Cancelled: the user cancelled; the message says which personas are stored.
    """
    memoir_export.verify_checksum(path)
    restored: list[History] = []
    try:
        for header, lines in groupby(memoir_export.read_lines(path, progress), itemgetter(0)):
            history = History(header.draft)
            if history.is_among(choose):
                with bank.writing() as db:
                    draft = PersonaDraft(target) if target else header.draft
                    persona = find_or_create_persona(db, draft, None if target else header.created_at)
                    _Mover(db, history, persona, path).take(line for _, line in lines)
                    journal.record(db, "imported", persona.id, history.stored.added)
                restored.append(history)
    except Cancelled as cancelled:
        names = ", ".join(history.persona.name for history in restored if history.persona)
        if not names:
            raise Cancelled(f"Cancelled. Nothing of {path.name} was stored.") from cancelled
        rest = f"Stored completely: {names}. Nothing of the rest was stored; import it again to add the rest."
        raise Cancelled(f"Cancelled {path.name}. {rest}") from cancelled
    return restored


class _Mover:
    """Store the lines of one persona inside a transaction, and map the file's numbers to the bank's ids."""

    def __init__(self, db: Database, history: History, persona: Persona, path: Source) -> None:
        self._db = db
        self._history = history
        self._persona = history.persona = persona
        self._path = path
        self._knew = bool(db.table("memories").count_where("persona_id = ?", [persona.id]))
        self._ids: dict[str, dict[int, int]] = {"session": {}, "turn": {}, "memory": {}}
        self._made: set[int] = set()
        self._new: list[MemoryRow] = []
        self._changes: list[ChangeRow] = []

    def take(self, lines: Iterable[Line]) -> None:
        """Store all lines that follow a persona's own line."""
        for line in lines:
            if line.session is not None:
                self._take_session(line.session)
            elif line.memory is not None:
                self._take_memory(line.memory)
            elif line.change is not None:
                self._changes.append(line.change)
        self._connect()
        self._take_changes()
        self._history.sessions, self._history.turns = len(self._ids["session"]), len(self._ids["turn"])

    def _take_session(self, row: SessionRow) -> None:
        session_id = find_by_identity(self._db, "sessions", self._persona.id, row.identity)
        if session_id is None:
            session_id = next_id(self._db, "sessions")
            values = {**row.bank_columns, "id": session_id, "persona_id": self._persona.id}
            insert(self._db, "sessions", [values])
            self._made.add(session_id)
            self._history.stored += WriteCounts(sessions=1)
        self._ids["session"][row.n] = session_id
        self._take_turns(row, session_id)

    def _take_turns(self, row: SessionRow, session_id: int) -> None:
        """Store the turns that the session lacks, at their positions, or after those that the bank had before."""
        known = turns_by_identity(self._db, session_id)
        after = 1 + max((position for _, position in known.values()), default=-1)
        fresh: list[dict[str, Any]] = []
        first_id = next_id(self._db, "turns")
        for turn in row.turns:
            if turn.identity in known:
                self._ids["turn"][turn.n] = known[turn.identity][0]
                continue
            self._ids["turn"][turn.n] = first_id + len(fresh)
            place = turn.position if session_id in self._made else after + len(fresh)
            values = {"id": self._ids["turn"][turn.n], "session_id": session_id, "position": place}
            fresh.append({**turn.bank_columns, **values, "unsupported": rows.to_sql(turn.unsupported)})
        insert(self._db, "turns", fresh)
        if fresh and session_id not in self._made:
            self._db.conn.execute(SQL["requeue_session"], (session_id,))
        self._history.stored += WriteCounts(turns=len(fresh), known_turns=len(row.turns) - len(fresh))

    def _take_memory(self, row: MemoryRow) -> None:
        self._history.memories += row.identity is not None
        session_id = None if row.session is None else self._id("session", row.session)
        identity = row.identity
        if identity is None:
            turn_id = self._id("turn", row.sources[0].turn)
            (of_turn,) = self._db.conn.execute(SQL["identity_of_turn"], (turn_id,)).fetchone()
            identity = rows.digest(session_id, of_turn)
        memory_id = find_by_identity(self._db, "memories", self._persona.id, identity)
        if memory_id is None:
            memory_id = self._add(row, session_id, identity)
            self._new.append(row)
            self._history.stored += WriteCounts(memories=1)
        else:
            self._history.stored += WriteCounts(known_memories=1)
        self._ids["memory"][row.n] = memory_id
        link(self._db, "sources", [(memory_id, self._id("turn", s.turn), s.quote, s.alone) for s in row.sources])
        link(self._db, "cites", [(self._id("turn", turn), memory_id, n) for turn, n in row.citations])

    def _add(self, row: MemoryRow, session_id: int | None, identity: str) -> int:
        memory_id = next_id(self._db, "memories")
        values = {
            **row.bank_columns,
            **relation_columns(row.draft),  # an export of an earlier version has none
            **key_columns(row.speaker, row.key or row.text),
            "id": memory_id,
            "persona_id": self._persona.id,
            "session_id": session_id,
            "identity": identity,
            "superseded_by": None,  # set once all memories have their ids
        }
        insert(self._db, "memories", [values])
        return memory_id

    def _connect(self) -> None:
        """Set the references of new memories to others, some of which came later in the file."""
        closed = [(row.superseded_by, row.n) for row in self._new if row.superseded_by is not None]
        bases = [(row.n, basis) for row in self._new for basis in row.rests_on]
        self._db.conn.executemany(SQL["set_superseding"], self._pairs(closed))
        link(self._db, "rests_on", self._pairs(bases))
        if self._knew:
            for row in self._new:
                if row.valid_to is None and row.taken_back is None:
                    supersede(self._db, self._ids["memory"][row.n])

    def _take_changes(self) -> None:
        """Store the changes that can be undone, except known ones, without rows that were forgotten since."""
        for row in self._changes:
            touched = self._ids["turn" if row.kind == "merge" else "memory"]
            values = {
                "persona_id": self._persona.id,
                "at": row.at,
                "kind": row.kind,
                "memory_id": self._id("memory", row.memory),
                "other_id": None if row.other is None else self._id("memory", row.other),
                "touched": json.dumps([touched[number] for number in row.touched if number in touched]),
            }
            if self._db.conn.execute(SQL["find_change"], values).fetchone() is None:
                insert(self._db, "changes", [values])

    def _pairs(self, numbers: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        return [(self._id("memory", first), self._id("memory", second)) for first, second in numbers]

    def _id(self, kind: str, number: int) -> int:
        """The bank's id of the session, turn or memory that has this number in the file."""
        ids = self._ids[kind]
        if number not in ids:
            raise UnreadableFile(
                f"{self._path.name} mentions {kind} {number} of {self._persona.name}, but does not contain it. "
                f"Nothing of {self._persona.name} was stored; make a new export and import that."
            )
        return ids[number]
