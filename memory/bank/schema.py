"""The tables of a bank's file (schema.sql), and the migrations that bring an earlier file to this shape.

The rows and dataclasses in `memory.bank.rows` and the export format in `memory.importers.generic.memoir_export` follow
from the columns of the four main tables.
"""

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from hashlib import blake2b
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
    "unsupported": "list",
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
    """The parts of a file's schema, each with the SQL that makes it; of a table, its columns and rules one by one.

    A migrated bank has those of a new one, in another order.
    """
    query = "SELECT type, name, sql FROM sqlite_master WHERE name <> 'sqlite_sequence' AND sql IS NOT NULL"
    for kind, name, sql in conn.execute(query):
        sql = " ".join(sql.split())
        if kind != "table" or sql.upper().startswith("CREATE VIRTUAL"):
            yield f"{kind} {name}", sql
            continue
        before, _, rest = sql.partition("(")
        body, _, after = rest.rpartition(")")
        yield f"table {name}", before.replace('"', "") + after
        for definition in _definitions(body):
            yield f"table {name}: {definition[:40]}", definition


def _definitions(body: str) -> Iterator[str]:
    """The columns and rules of a table: what its outermost commas separate."""
    depth, definition = 0, ""
    for token in re.findall(r"'(?:[^']|'')*'|[^'(),]+|.", body):
        depth += (token == "(") - (token == ")")
        if token == "," and not depth:
            yield definition.strip()
            definition = ""
        else:
            definition += token
    yield definition.strip()


def _of_new_bank() -> tuple[dict[str, dict[str, Kind]], dict[tuple[str, str], str], dict[str, str]]:
    query = "SELECT t.name, c.name, dflt_value FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    columns: dict[str, dict[str, Kind]] = {}
    defaults: dict[tuple[str, str], str] = {}
    with closing(sqlite3.connect(":memory:")) as conn:
        for statement in _STATEMENTS:
            conn.execute(statement)
        for table, column, default in conn.execute(f"{query} AND c.name <> 'digest' ORDER BY c.cid"):
            columns.setdefault(table, {})[column] = _KINDS.get(column, "plain")
            defaults[table, column] = default or "NULL"
        return columns, defaults, dict(_parts(conn))


COLUMNS, _DEFAULTS, _PARTS = _of_new_bank()
"""By table, its columns in their order, but for the digest, and what the values of each stand for; by table and column,
the SQL of its default; the parts of a new bank's schema."""

DIGESTED = (
    *("personas", "sessions", "turns", "memories", "sources", "rests_on", "cites", "changes"),
    *("journal", "choices", "revision"),
)
"""All tables but those that are derived. Each of their rows has a `digest` of its other columns."""

_CHANGING = ("personas", "sessions", "memories", "sources", "revision")
"""Those of them whose rows are changed after they were inserted."""


def _digest_of(table: str, values: Iterable[str] = ()) -> str:
    """SQL for the digest of a row that has these values, in the order of the columns; without any, of a row there."""
    listed = list(values) or list(COLUMNS[table])
    # As bytes: a damaged text may be no UTF-8.
    return f"row_digest(CAST(json_array({', '.join(listed)}) AS BLOB))"


def _key_of(table: str) -> list[str]:
    """The columns of a primary key: an id or a name, or, of a table that links rows, two ids."""
    if "id" in COLUMNS[table]:
        return ["id"]
    return {"choices": ["name"], "revision": ["rowid"]}.get(table) or list(COLUMNS[table])[:2]


def _define_digest(conn: sqlite3.Connection) -> None:
    def row_digest(values: bytes) -> int:
        return int.from_bytes(blake2b(values, digest_size=8).digest(), signed=True)

    conn.create_function("row_digest", 1, row_digest)


def insertion(table: str, names: Collection[str]) -> str:
    """A statement that inserts a row of these columns, its values by name, and its digest."""
    given = [name for name in COLUMNS[table] if name in names]
    columns, values = ", ".join([*given, "digest"]), ", ".join(f":{name}" for name in given)
    digest = _digest_of(table, [f":{name}" if name in names else _DEFAULTS[table, name] for name in COLUMNS[table]])
    return f"INSERT INTO {table} ({columns}) VALUES ({values}, {digest})"


def keep_digests(conn: sqlite3.Connection) -> None:
    """Keep the digests true of the rows that this connection changes; a wrong one stays wrong.

    The triggers are the connection's own, so that what anything else changes in the file is found.
    """
    _define_digest(conn)
    for table in _CHANGING:
        old, new = ([f"{row}.{column}" for column in COLUMNS[table]] for row in ("old", "new"))
        is_row = " AND ".join(f"{column} = new.{column}" for column in _key_of(table))
        conn.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS {table}_changed "
            f"AFTER UPDATE OF {', '.join(COLUMNS[table])} ON main.{table} WHEN old.digest = {_digest_of(table, old)} "
            f"BEGIN UPDATE {table} SET digest = {_digest_of(table, new)} WHERE {is_row}; END"
        )


def renew_digests(conn: sqlite3.Connection, tables: Iterable[str] = DIGESTED) -> None:
    """Take the rows of some tables for right as they are."""
    _define_digest(conn)
    stays = "journal_unchanged"
    conn.execute(f"DROP TRIGGER IF EXISTS {stays}")
    for table in tables:
        conn.execute(f"UPDATE {table} SET digest = {_digest_of(table)}")
    conn.execute(_PARTS[f"trigger {stays}"])


def wrong_digests(conn: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The tables and ids of the rows whose digest is wrong; the ids of a link as "3, 7"."""
    _define_digest(conn)
    for table in DIGESTED:
        key = " || ', ' || ".join(_key_of(table))
        for (ids,) in conn.execute(f"SELECT {key} FROM {table} WHERE digest <> {_digest_of(table)}"):
            yield table, str(ids)


def foreign_parts(conn: sqlite3.Connection) -> list[str]:
    """The parts of a file's schema that no Memoir made, such as "trigger keep_copy"; none in a bank of any version.

    A trigger or a view would run when the bank is read or written: it could keep or copy what is to be forgotten.
    """
    return [part for part, made_by in _parts(conn) if _PARTS.get(part) != made_by]


def missing_parts(conn: sqlite3.Connection) -> list[str]:
    """The parts that a bank of the newest version lacks: without a trigger, forgetting would leave a copy behind."""
    parts = dict(_parts(conn))
    return [part for part in _PARTS if part not in parts]


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


def _add_digests(db: Database) -> None:
    """Add the column; each upgrade ends with the digests of the columns that there are then."""
    for table in ("personas", "sessions", "turns", "memories", "sources", "rests_on", "cites", "changes"):
        db.conn.execute(f"ALTER TABLE {table} ADD COLUMN digest INTEGER NOT NULL DEFAULT 0")


def _add_digests_of_journal(db: Database) -> None:
    """Add the column to the journal and to what was chosen and counted, so that a changed bit is found there, too."""
    for table in ("journal", "choices", "revision"):
        db.conn.execute(f"ALTER TABLE {table} ADD COLUMN digest INTEGER NOT NULL DEFAULT 0")


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
    _add_digests,
    # The sentences of an answer that nothing supports, so that a chat that is opened again still marks them.
    "ALTER TABLE turns ADD COLUMN unsupported TEXT NOT NULL DEFAULT '[]'",
    # Packed segments end with a checksum: the indexer packs again.
    "DELETE FROM segments",
    _add_digests_of_journal,
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
    renew_digests(db.conn)
    db.conn.execute(f"PRAGMA user_version = {newest_version()}")
