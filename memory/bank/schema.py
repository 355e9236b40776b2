"""The tables of a bank's file (schema.sql), and the migrations that bring an earlier file to this shape.

The rows and dataclasses in `memory.bank.rows` and the export format in `memory.importers.generic.memoir_export` follow
from the columns of the four main tables.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal

from sqlite_utils import Database

from memory.bank.relations import relation_of
from memory.search.quotes import find_quote
from memory.types import MemoryDraft

Kind = Literal["plain", "time", "flag", "list"]
"""What a column's values stand for: "time" a UTC time, "flag" 0 or 1, "list" a JSON list."""

_TIMES = "created_at started_at heard_at said_at event_start event_end recorded_at valid_from valid_to taken_back"
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_TIMES.split(), "time"),
    **dict.fromkeys(("proactive", "kept_apart", "learned", "hidden", "pinned"), "flag"),
    "traits": "list",
}


def _statements() -> Iterator[str]:
    """The statements of schema.sql, one by one: a script would end the transaction that makes the tables."""
    statement = ""
    for line in Path(__file__).with_name("schema.sql").read_text("utf-8").splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


_STATEMENTS = tuple(_statements())


def _parts(conn: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The columns and links of a file's tables, and whatever else its schema holds, each with what it is made by."""
    lists = (("PRAGMA table_xinfo({})", "column", 1), ("PRAGMA foreign_key_list({})", "link of", 3))
    query = "SELECT type, name, sql FROM sqlite_master WHERE name <> 'sqlite_sequence' AND sql IS NOT NULL"
    for kind, name, sql in conn.execute(query).fetchall():
        if kind != "table" or sql.upper().startswith("CREATE VIRTUAL"):
            yield f"{kind} {name}", " ".join(sql.split())
            continue
        for statement, what, of_name in lists:
            for row in conn.execute(statement.format('"' + name.replace('"', '""') + '"')):
                yield f"table {name}, {what} {row[of_name]}", str(row[2:])


def _of_new_bank() -> tuple[dict[str, dict[str, Kind]], dict[str, str]]:
    query = "SELECT t.name, c.name FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    columns: dict[str, dict[str, Kind]] = {}
    with closing(sqlite3.connect(":memory:")) as conn:
        for statement in _STATEMENTS:
            conn.execute(statement)
        for table, column in conn.execute(f"{query} ORDER BY c.cid"):
            columns.setdefault(table, {})[column] = _KINDS.get(column, "plain")
        return columns, dict(_parts(conn))


COLUMNS, _PARTS = _of_new_bank()
"""By table, its columns in their order, and what the values of each stand for; the parts of a new bank's schema."""


def foreign_parts(conn: sqlite3.Connection) -> list[str]:
    """The parts of a file's schema that no Memoir made, such as "trigger keep_copy"; none in a bank of any version.

    A trigger or a view would run when the bank is read or written: it could keep or copy what is to be forgotten.
    """
    return [part for part, made_by in _parts(conn) if _PARTS.get(part) != made_by]


FIRST_VERSION = 5
"""The oldest version that can be opened. Those before it were never released."""


def _add_relations(db: Database) -> None:
    """Store relations, which had been read from the memories' texts each time they were shown."""
    for column in ("relation_head", "relation_name", "relation_tail"):
        db.conn.execute(f"ALTER TABLE memories ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
    query = "SELECT id, store, text, attribute, speaker FROM memories WHERE store IN ('profile', 'relationship')"
    drafts = [(row["id"], MemoryDraft(**{k: v for k, v in row.items() if k != "id"})) for row in db.query(query)]
    relations = [(r.head, r.name, r.tail, number) for number, draft in drafts if (r := relation_of(draft))]
    db.conn.executemany(
        "UPDATE memories SET relation_head = ?, relation_name = ?, relation_tail = ? WHERE id = ?", relations
    )


def _add_card_texts(db: Database) -> None:
    """Store what a character card holds for a chat model, which had been kept as turns of the session "The card"."""
    kept_as = {"scenario": "scenario", "first_message": "first message", "examples": "examples of dialogue"}
    for column, speaker in kept_as.items():
        db.conn.execute(f"ALTER TABLE personas ADD COLUMN {column} TEXT NOT NULL DEFAULT ''")
        query = f"""
            UPDATE personas SET {column} = substr(t.text, 1, 6000) FROM turns t JOIN sessions s ON s.id = t.session_id
            WHERE s.persona_id = personas.id AND s.external_id = 'card' AND t.speaker = ? AND t.role = 'other'
                AND personas.external_id LIKE 'card-%'
        """
        db.conn.execute(query, (speaker,))


def _spell_quotes(db: Database) -> None:
    """Spell quotes as their turns do, so that a letter that changed since is found; models had changed their case."""
    query = "SELECT o.memory_id, o.turn_id, o.quote, t.text FROM sources o JOIN turns t ON t.id = o.turn_id"
    differ = db.conn.execute(f"{query} WHERE instr(t.text, o.quote) = 0").fetchall()
    spelled = [(find_quote(quote, text) or quote, memory_id, turn_id) for memory_id, turn_id, quote, text in differ]
    db.conn.executemany("UPDATE sources SET quote = ? WHERE memory_id = ? AND turn_id = ?", spelled)


def _add_kept_apart(db: Database) -> None:
    """Keep apart what was imported, each persona as it was; what the user told in chats is known to all others."""
    db.conn.execute("ALTER TABLE personas ADD COLUMN kept_apart INTEGER NOT NULL DEFAULT 1")
    db.conn.execute(
        "UPDATE personas SET kept_apart = 0 WHERE external_id <> 'sample' AND NOT EXISTS "
        "(SELECT 1 FROM sessions WHERE persona_id = personas.id AND source = 'import')"
    )


MIGRATIONS: tuple[str | Callable[[Database], None], ...] = (
    _add_relations,
    # The numbers of citations, so that a chat can be resumed with its citations.
    "ALTER TABLE cites ADD COLUMN number INTEGER NOT NULL DEFAULT 0",
    # Finds relations without reading every memory: each question looks its people up.
    "CREATE INDEX memories_related ON memories (persona_id, store) WHERE relation_tail <> ''",
    _add_card_texts,
    _spell_quotes,
    # What the user chose for the whole bank, such as its embedding model.
    "CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    _add_kept_apart,
    # The encoder was trained further, and has a centre for each script: the indexer makes its vectors again.
    "DELETE FROM vectors WHERE model = 'multilingual-e5-small'",
    "DELETE FROM segments WHERE kind LIKE '%multilingual-e5-small%'",
    # A chat leaves the list of chats, and what was told in it stays known.
    "ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0",
    # The picture of a character card, cut small.
    "ALTER TABLE personas ADD COLUMN picture TEXT NOT NULL DEFAULT ''",
)
"""Append only: the first brings a bank of `FIRST_VERSION` to the version after it, and so on. A new bank is made in the
newest shape at once, so what a migration adds stands in schema.sql, too. Never edit one that was released."""


def newest_version() -> int:
    """The version of the banks that this Memoir writes."""
    return FIRST_VERSION + len(MIGRATIONS)


def upgrade(db: Database, version: int) -> None:
    """Bring a bank of a version to the newest one; version 0 is an empty file, which gets the newest tables at once."""
    if version:
        for migration in MIGRATIONS[version - FIRST_VERSION :]:
            if isinstance(migration, str):
                db.conn.execute(migration)
            else:
                migration(db)
    else:
        for statement in _STATEMENTS:
            db.conn.execute(statement)
    db.conn.execute(f"PRAGMA user_version = {newest_version()}")
