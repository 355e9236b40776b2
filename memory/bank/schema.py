"""The tables of a bank's file (schema.sql), and what brings an earlier file to this shape (migrations.sql).

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

from memory import named_queries
from memory.bank.relations import relation_of
from memory.search.quotes import find_quote
from memory.types import MemoryDraft

Kind = Literal["plain", "time", "flag", "list"]
"""What a column's values stand for: "time" a UTC time, "flag" 0 or 1, "list" a JSON list."""

_TIMES = "created_at started_at heard_at said_at event_start event_end recorded_at valid_from valid_to taken_back"
_KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(_TIMES.split(), "time"),
    **dict.fromkeys(("proactive", "kept_apart", "learned", "hidden", "pinned"), "flag"),
    **dict.fromkeys(("traits", "unsupported", "touched"), "list"),
}


_SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")

MIGRATIONS: Mapping[str, str] = named_queries(__file__, "migrations.sql")


def _run(conn: sqlite3.Connection, script: str) -> None:
    """Run the statements of a script one by one: at once, they would end the transaction that they belong to."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            conn.execute(statement)
            statement = ""


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
        for definition in map(str.strip, re.split(r",(?![^()]*\))", body)):  # its outermost commas separate them
            yield f"table {name}: {definition[:40]}", definition


def _of_new_bank() -> tuple[dict[str, dict[str, Kind]], dict[tuple[str, str], str], dict[str, str]]:
    query = "SELECT t.name, c.name, dflt_value FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
    columns: dict[str, dict[str, Kind]] = {}
    defaults: dict[tuple[str, str], str] = {}
    with closing(sqlite3.connect(":memory:")) as conn:
        _run(conn, _SCHEMA)
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
    conn.create_function(
        "row_digest", 1, lambda values: int.from_bytes(blake2b(values, digest_size=8).digest(), signed=True)
    )


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


def _read_relations(db: Database) -> None:
    query = "SELECT id, store, text, attribute, speaker FROM memories WHERE store IN ('profile', 'relationship')"
    drafts = [(row["id"], MemoryDraft(**{k: v for k, v in row.items() if k != "id"})) for row in db.query(query)]
    relations = [(r.head, r.name, r.tail, number) for number, draft in drafts if (r := relation_of(draft))]
    db.conn.executemany(
        "UPDATE memories SET relation_head = ?, relation_name = ?, relation_tail = ? WHERE id = ?", relations
    )


def _spell_quotes(db: Database) -> None:
    query = "SELECT o.memory_id, o.turn_id, o.quote, t.text FROM sources o JOIN turns t ON t.id = o.turn_id"
    differ = db.conn.execute(f"{query} WHERE instr(t.text, o.quote) = 0").fetchall()
    spelled = [(find_quote(quote, text) or quote, memory_id, turn_id) for memory_id, turn_id, quote, text in differ]
    db.conn.executemany("UPDATE sources SET quote = ? WHERE memory_id = ? AND turn_id = ?", spelled)


_AFTERWARDS: Mapping[str, Callable[[Database], None]] = {"relations": _read_relations, "quotes": _spell_quotes}
"""What follows the SQL of a migration."""


def newest_version() -> int:
    """The version of the banks that this Memoir writes."""
    return FIRST_VERSION + len(MIGRATIONS)


def upgrade(db: Database, version: int) -> None:
    """Bring a bank of a version to the newest one; version 0 is an empty file, which gets the newest tables at once."""
    if version:
        for name in list(MIGRATIONS)[version - FIRST_VERSION :]:
            _run(db.conn, MIGRATIONS[name])
            if name in _AFTERWARDS:
                _AFTERWARDS[name](db)
    else:
        _run(db.conn, _SCHEMA)
    renew_digests(db.conn)
    db.conn.execute(f"PRAGMA user_version = {newest_version()}")
