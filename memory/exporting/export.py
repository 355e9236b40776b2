"""Export personas as Memoir's own JSON Lines, and restore them (see `memory.importers.generic.memoir_export`).

Every row is restored as it was, except for its number. A persona is restored completely or not at all. What the bank
has already is left as it is, so that restoring twice adds nothing. A new fact supersedes, or is superseded by, those
that the persona knew.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from sqlite_utils import Database

from memory import named_queries
from memory.bank import journal, rows
from memory.bank.bank import Bank
from memory.bank.facts import supersede
from memory.bank.rows import find_by_identity, insert, key_columns, link, next_id, relation_columns
from memory.bank.sessions import find_or_create_persona, insert_turns
from memory.bank.unfinished import publish, unfinished_file
from memory.errors import Cancelled, UnreadableFile
from memory.importers.generic import memoir_export
from memory.importers.generic.memoir_export import ChangeRow, End, Line, MemoryRow, PersonaRow, SessionRow, TurnRow
from memory.importers.history_file import History
from memory.importers.reading.source import Source
from memory.progress import Progress, without_progress
from memory.types import Persona, PersonaDraft, WriteCounts

SQL = named_queries(__file__)

LINE_TURNS = 2000
LINE_CHARACTERS = 1 << 22
"""Turns and characters of a session in one line, at most: a reader accepts lines of up to 32 MB."""

MEMORY = 6
"""The time it takes to write a memory, in turns."""


def export_lines(bank: Bank, personas: Sequence[Persona], progress: Progress = without_progress) -> Iterator[str]:
    """The lines of each persona with its sessions and memories, then the checksum; all as of one moment."""
    digest, done = hashlib.sha256(), 0
    with bank.reading_snapshot() as db:
        counts = next(iter(db.query(SQL["counts"], [rows.json_list(persona.id for persona in personas)])))
        total = counts["turns"] + MEMORY * counts["memories"] or 1
        for persona in personas:
            for line in _of_persona(db, persona):
                done += len(line.session.turns) if line.session else MEMORY * (line.memory is not None)
                progress(done / total)
                text = memoir_export.dump_line(line)
                digest.update(text.encode() + b"\n")
                yield text
    yield memoir_export.dump_line(Line(end=End(**counts, sha256=digest.hexdigest())))


def write_export(bank: Bank, personas: Sequence[Persona], path: Path, progress: Progress = without_progress) -> int:
    """Write the lines to a file, completely or not at all, and return their number."""
    with unfinished_file(path) as half:
        with half.open("w", encoding="utf-8", newline="\n") as file:
            written = sum(file.write(line + "\n") > 0 for line in export_lines(bank, personas, progress))
        publish(half, path)
    return written


def _of_persona(db: Database, persona: Persona) -> Iterator[Line]:
    for row in db.table("personas").rows_where("id = ?", [persona.id]):
        yield Line(memoir=memoir_export.VERSION, persona=PersonaRow.read(row))
    for row in db.table("sessions").rows_where("persona_id = ?", [persona.id], order_by="id"):
        for turns in _pieces(db, row["id"]):
            yield Line(session=SessionRow.read(row, turns=turns))
    for row in db.query(SQL["memories"], [persona.id]):
        yield _memory_line(row)
    for row in db.table("changes").rows_where("persona_id = ?", [persona.id], order_by="id"):
        yield Line(change=ChangeRow.read(row))


def _pieces(db: Database, session_id: int) -> Iterator[tuple[TurnRow, ...]]:
    """The turns of a session in batches that fit one line; one empty batch for a session without turns."""
    piece: list[TurnRow] = []
    characters = 0
    for row in db.query(SQL["turns"], [session_id]):
        if len(piece) >= LINE_TURNS or characters >= LINE_CHARACTERS:
            yield tuple(piece)
            piece, characters = [], 0
        piece.append(TurnRow.read(row, recallable=bool(row["recallable"])))
        characters += len(row["text"])
    yield tuple(piece)


def _memory_line(row: rows.Row) -> Line:
    links = json.loads(row["links"])
    # An utterance's identity has this bank's number of the session in it: the file has its own turn first instead.
    own = [link for link in links if row["identity"] == rows.digest(row["session_id"], link[3])]
    ordered = own + [link for link in links if link not in own]
    memory = MemoryRow.read(
        row,
        identity=None if own else row["identity"],
        superseded_by=row["successor"],
        key=row["key"] if row["key"] != row["text"] else "",
        sources=tuple(
            memoir_export.SourceRow(turn=turn, quote=quote, alone=bool(alone)) for turn, quote, alone, _ in ordered
        ),
        rests_on=tuple(json.loads(row["bases"])),
        cited_by=tuple((turn, number) for turn, number in json.loads(row["uses"])),
    )
    return Line(memory=memory)


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
                    _Restorer(db, history, persona, path).restore(line for _, line in lines)
                    journal.record(db, "imported", persona.id, history.stored.added)
                restored.append(history)
    except Cancelled as cancelled:
        names = ", ".join(history.persona.name for history in restored if history.persona)
        if not names:
            raise Cancelled(f"Cancelled. Nothing of {path.name} was stored.") from cancelled
        rest = f"Stored completely: {names}. Nothing of the rest was stored; import it again to add the rest."
        raise Cancelled(f"Cancelled {path.name}. {rest}") from cancelled
    return restored


class _Restorer:
    """Store the lines of one persona inside a transaction, and map the file's numbers to the bank's ids."""

    def __init__(self, db: Database, history: History, persona: Persona, path: Source) -> None:
        self._db = db
        self._history = history
        self._persona = history.persona = persona
        self._path = path
        self._had_memories = bool(db.table("memories").count_where("persona_id = ?", [persona.id]))
        self._ids: dict[str, dict[int, int]] = {"session": {}, "turn": {}, "memory": {}}
        self._new_sessions: set[int] = set()
        self._new_memories: list[MemoryRow] = []

    def restore(self, lines: Iterable[Line]) -> None:
        """Store all lines that follow a persona's own line."""
        changes: list[ChangeRow] = []
        for line in lines:
            if line.session is not None:
                self._restore_session(line.session)
            elif line.memory is not None:
                self._restore_memory(line.memory)
            elif line.change is not None:
                changes.append(line.change)
        self._link_memories()
        self._restore_changes(changes)
        self._history.sessions, self._history.turns = len(self._ids["session"]), len(self._ids["turn"])

    def _restore_session(self, row: SessionRow) -> None:
        """Store a session and the turns that it lacks, at their positions, or after those that the bank had before."""
        session_id, is_begun = self._find_or_insert("sessions", row.identity, row.bank_columns)
        if is_begun:
            self._new_sessions.add(session_id)
        self._ids["session"][row.n] = session_id
        is_new = session_id in self._new_sessions  # its turns may stand in several lines
        turns = [{**turn.bank_columns, "unsupported": rows.to_sql(turn.unsupported)} for turn in row.turns]
        ids, fresh = insert_turns(self._db, session_id, turns, in_place=is_new)
        self._ids["turn"].update(zip((turn.n for turn in row.turns), ids, strict=True))
        if fresh and not is_new:
            self._db.conn.execute(SQL["requeue_session"], (session_id,))
        counts = WriteCounts(sessions=int(is_begun), turns=len(fresh), known_turns=len(ids) - len(fresh))
        self._history.stored += counts

    def _restore_memory(self, row: MemoryRow) -> None:
        self._history.memories += row.identity is not None
        session_id = None if row.session is None else self._id("session", row.session)
        identity = row.identity
        if identity is None:
            turn_id = self._id("turn", row.sources[0].turn)
            (of_turn,) = self._db.conn.execute(SQL["identity_of_turn"], (turn_id,)).fetchone()
            identity = rows.digest(session_id, of_turn)
        changed = {
            "session_id": session_id,
            "superseded_by": None,  # set once all memories have their ids
            **relation_columns(row.draft),  # an export of an earlier version has none
            **key_columns(row.speaker, row.key or row.text),
        }
        memory_id, is_new = self._find_or_insert("memories", identity, row.bank_columns | changed)
        if is_new:
            self._new_memories.append(row)
        self._history.stored += WriteCounts(memories=int(is_new), known_memories=int(not is_new))
        self._ids["memory"][row.n] = memory_id
        link(self._db, "sources", [(memory_id, self._id("turn", s.turn), s.quote, s.alone) for s in row.sources])
        link(self._db, "cites", [(self._id("turn", turn), memory_id, n) for turn, n in row.citations])

    def _find_or_insert(self, table: str, identity: str, columns: rows.Row) -> tuple[int, bool]:
        """The id of the persona's session or memory of that identity, and whether it is new."""
        known = find_by_identity(self._db, table, self._persona.id, identity)
        if known is not None:
            return known, False
        number = next_id(self._db, table)
        insert(self._db, table, [{**columns, "id": number, "persona_id": self._persona.id, "identity": identity}])
        return number, True

    def _link_memories(self) -> None:
        """Set the references of new memories to others, some of which came later in the file."""
        closed = [(row.superseded_by, row.n) for row in self._new_memories if row.superseded_by is not None]
        bases = [(row.n, basis) for row in self._new_memories for basis in row.rests_on]
        self._db.conn.executemany(SQL["set_superseding"], self._pairs(closed))
        link(self._db, "rests_on", self._pairs(bases))
        if self._had_memories:
            for row in self._new_memories:
                if row.valid_to is None and row.taken_back is None:
                    supersede(self._db, self._ids["memory"][row.n])

    def _restore_changes(self, changes: Iterable[ChangeRow]) -> None:
        """Store the changes that can be undone, except known ones, without rows that were forgotten since."""
        for row in changes:
            touched = self._ids["turn" if row.kind == "merge" else "memory"]
            values = {
                **row.bank_columns,
                "persona_id": self._persona.id,
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
