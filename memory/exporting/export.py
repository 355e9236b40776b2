"""Export personas as Memoir's own JSON Lines; importing them gives equal personas."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.bank import Bank
from memory.bank.queries import named_queries
from memory.bank.unfinished import publish, unfinished_file
from memory.importers.generic.memoir_export import (
    VERSION,
    ChangeRow,
    End,
    Line,
    MemoryRow,
    PersonaRow,
    SessionRow,
    SourceRow,
    TurnRow,
    dump_line,
)
from memory.progress import Progress, without_progress
from memory.types import Persona

SQL = named_queries("transfer.sql")

LINE_TURNS = 2000
LINE_CHARACTERS = 1 << 22
"""Turns and characters of a session in one line, at most: a reader accepts lines of up to 32 MB."""

MEMORY = 6
"""The time it takes to write a memory, in turns."""


def export_lines(bank: Bank, personas: Sequence[Persona], progress: Progress = without_progress) -> Iterator[str]:
    """The lines of each persona with its sessions and memories, then the checksum; all as of one moment."""
    digest, counted, session = hashlib.sha256(), Counter[str](), 0
    with bank.reading_snapshot() as db:
        ids = rows.json_list(persona.id for persona in personas)
        turns, memories = db.conn.execute(SQL["count_turns_and_memories"], (ids,)).fetchone()
        total = turns + MEMORY * memories or 1
        for persona in personas:
            for line in _of_persona(db, persona):
                if line.session is not None:
                    counted.update(sessions=int(line.session.n != session), turns=len(line.session.turns))
                    session = line.session.n
                counted.update(personas=int(line.persona is not None), memories=int(line.memory is not None))
                progress((counted["turns"] + MEMORY * counted["memories"]) / total)
                text = dump_line(line)
                digest.update(text.encode() + b"\n")
                yield text
    yield dump_line(Line(end=End(**counted, sha256=digest.hexdigest())))


def write_export(bank: Bank, personas: Sequence[Persona], path: Path, progress: Progress = without_progress) -> int:
    """Write the lines to a file, completely or not at all, and return their number."""
    with unfinished_file(path) as half:
        with half.open("w", encoding="utf-8", newline="\n") as file:
            written = sum(file.write(line + "\n") > 0 for line in export_lines(bank, personas, progress))
        publish(half, path)
    return written


def _of_persona(db: Database, persona: Persona) -> Iterator[Line]:
    for row in db.table("personas").rows_where("id = ?", [persona.id]):
        yield Line(memoir=VERSION, persona=PersonaRow.read(row))
    for row in db.table("sessions").rows_where("persona_id = ?", [persona.id], order_by="id"):
        for turns in _pieces(db, row["id"]):
            yield Line(session=SessionRow.read(row, turns=turns))
    for row in db.query(SQL["memories"], [persona.id]):
        yield _memory_line(row)
    for row in db.table("changes").rows_where("persona_id = ?", [persona.id], order_by="id"):
        values = {"kind": row["kind"], "at": row["at"], "memory": row["memory_id"], "other": row["other_id"]}
        yield Line(change=ChangeRow(**values, touched=tuple(json.loads(row["touched"]))))


def _pieces(db: Database, session_id: int) -> Iterator[tuple[TurnRow, ...]]:
    """The turns of a session in batches that fit one line; one empty batch for a session without turns."""
    piece: list[TurnRow] = []
    characters = pieces = 0
    for row in db.query(SQL["turns"], [session_id]):
        piece.append(TurnRow.read(row, recallable=bool(row["recallable"])))
        characters += len(row["text"])
        if len(piece) >= LINE_TURNS or characters >= LINE_CHARACTERS:
            yield tuple(piece)
            piece, characters, pieces = [], 0, pieces + 1
    if piece or not pieces:
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
        sources=tuple(SourceRow(turn=turn, quote=quote, alone=bool(alone)) for turn, quote, alone, _ in ordered),
        rests_on=tuple(json.loads(row["bases"])),
        cited_by=tuple((turn, number) for turn, number in json.loads(row["uses"])),
    )
    return Line(memory=memory)
