"""The tables of a bank's file, and the migrations that bring an earlier file to this shape.

    personas 1 -- n sessions 1 -- n turns
        1 -- n memories n -- m turns (through `sources`, with the words that carry the memory)
                        n -- m memories (through `rests_on`: what holds only as long as another does)
    vectors: one row a (model, text hash), shared by all memories with that key
    segments: stretches of a persona's memories, packed for search
    journal: counts of what was written, recalled and forgotten, without any text

`PERSONAS`, `SESSIONS`, `TURNS` and `MEMORIES` define the columns of the four main tables. The tables here, the rows and
dataclasses in `memory.bank.rows` and the export format in `memory.exporting.format` follow from them.

`revision` counts writes, so that caches know when to look again, and separately the deleted or changed rows that search
reads, so that caches know when new rows are not all that changed.
`vectors` and `segments` are derived: `memory.bank.maintenance` verifies and rebuilds them. A trigger drops the segment
that holds a memory when that memory is deleted or changed; the time at which it stopped holding is not in the segment.
"""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from sqlite_utils import Database

from memory.bank.relations import relation_of
from memory.search.quotes import find_quote
from memory.types import MemoryDraft


class Column(NamedTuple):
    """A column: its SQL type, how its values are converted, and its name in an export.

    `kind` is "time" for a UTC time, "flag" for 0 or 1 and "list" for a JSON list. `exported` is None where the name in
    an export is the column's own, and "" where the column is not exported.
    """

    sql: str
    kind: Literal["plain", "time", "flag", "list"] = "plain"
    exported: str | None = None


Columns = Mapping[str, Column]

_ID = Column("INTEGER PRIMARY KEY AUTOINCREMENT", exported="n")
_TEXT = Column("TEXT NOT NULL")
_TEXT_OR_EMPTY = Column("TEXT NOT NULL DEFAULT ''")
_TIME = Column("TEXT", "time")
_PERSONA_ID = Column("INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE", exported="")
_EXTERNAL_ID = Column("TEXT NOT NULL", exported="id")

PERSONAS: Columns = {
    "id": _ID,
    "name": Column("TEXT NOT NULL UNIQUE"),
    "external_id": Column("TEXT NOT NULL DEFAULT ''", exported="id"),
    "description": Column("TEXT NOT NULL DEFAULT ''"),
    "traits": Column("TEXT NOT NULL DEFAULT '[]'", "list"),
    "manner": Column("TEXT NOT NULL DEFAULT 'plain'"),
    "created_at": Column("TEXT NOT NULL", "time"),
    "proactive": Column("INTEGER NOT NULL DEFAULT 1", "flag"),
    "scenario": Column("TEXT NOT NULL DEFAULT ''"),
    "first_message": Column("TEXT NOT NULL DEFAULT ''"),
    "examples": Column("TEXT NOT NULL DEFAULT ''"),
}

SESSIONS: Columns = {
    "id": _ID,
    "persona_id": _PERSONA_ID,
    "identity": _TEXT,
    "external_id": _EXTERNAL_ID,
    "title": _TEXT,
    "source": Column("TEXT NOT NULL CHECK (source IN ('chat', 'import'))"),
    "started_at": _TIME,
    "started_text": _TEXT,
    # When somebody last spoke in an open chat, by the machine's clock; NULL once it is closed.
    "heard_at": _TIME,
    # Whether all its turns were learned from; a turn that comes or goes sets it back to 0.
    "learned": Column("INTEGER NOT NULL DEFAULT 0", "flag"),
}

TURNS: Columns = {
    "id": _ID,
    "session_id": Column("INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE", exported=""),
    "position": Column("INTEGER NOT NULL"),
    "identity": _TEXT,
    "speaker": _TEXT,
    "role": Column("TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'other'))"),
    "text": _TEXT,
    "said_at": _TIME,
    "said_text": _TEXT,
    "external_id": _EXTERNAL_ID,
}

MEMORIES: Columns = {
    "id": _ID,
    "persona_id": _PERSONA_ID,
    "session_id": Column("INTEGER REFERENCES sessions (id) ON DELETE CASCADE", exported="session"),
    "store": Column("TEXT NOT NULL CHECK (store IN ('profile', 'relationship', 'world', 'event', 'dialogue'))"),
    "identity": _TEXT,
    "text": _TEXT,
    "key": _TEXT,
    "key_hash": Column("TEXT NOT NULL", exported=""),
    "terms": Column("TEXT NOT NULL", exported=""),
    "speaker": _TEXT,
    "attribute": _TEXT,
    "event_start": _TIME,
    "event_end": _TIME,
    "event_text": _TEXT,
    "said_at": _TIME,
    "recorded_at": Column("TEXT NOT NULL", "time"),
    "valid_from": _TIME,
    "valid_to": _TIME,
    "superseded_by": Column("INTEGER REFERENCES memories (id) ON DELETE SET NULL"),
    "emotion": _TEXT,
    "scene": _TEXT,
    "external_id": _EXTERNAL_ID,
    "taken_back": _TIME,
    "pinned": Column("INTEGER NOT NULL DEFAULT 0", "flag"),
    # Who or what is what to whom, where the memory says so; the tail is '' where it does not.
    "relation_head": _TEXT_OR_EMPTY,
    "relation_name": _TEXT_OR_EMPTY,
    "relation_tail": _TEXT_OR_EMPTY,
}


def _table(name: str, columns: Columns, *constraints: str) -> str:
    lines = [*(f"{column} {columns[column].sql}" for column in columns), *constraints]
    return f"CREATE TABLE {name} (\n    " + ",\n    ".join(lines) + "\n) STRICT"


_TABLES = (
    _table("personas", PERSONAS),
    _table("sessions", SESSIONS, "UNIQUE (persona_id, identity)"),
    _table("turns", TURNS, "UNIQUE (session_id, position)", "UNIQUE (session_id, identity)"),
    _table(
        "memories",
        MEMORIES,
        "UNIQUE (persona_id, identity)",
        "CHECK ((event_start IS NULL) = (event_end IS NULL))",
    ),
)

_LINKS_AND_DERIVED = """
-- `quote` is the words of the turn that carry the memory; `alone`, whether they do so without the other turns.
CREATE TABLE sources (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    quote TEXT NOT NULL DEFAULT '',
    alone INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (memory_id, turn_id)
) STRICT, WITHOUT ROWID

CREATE TABLE rests_on (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    basis_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (memory_id, basis_id)
) STRICT, WITHOUT ROWID

-- Which memories an answer relied on, and the number by which it cites each; 0 in banks of before there was a number.
CREATE TABLE cites (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    number INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (turn_id, memory_id)
) STRICT, WITHOUT ROWID

-- What the user changed by hand, so that it can be undone. `other_id` is the new version, or the memory that was
-- merged in; `touched` lists the ids of what followed: dependent memories, or, of a merge, the turns taken over.
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('edit', 'wrong', 'pin', 'unpin', 'merge')),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER REFERENCES memories (id) ON DELETE CASCADE,
    touched TEXT NOT NULL DEFAULT '[]'
) STRICT

-- See `memory.bank.journal`. It references no persona: its lines outlive them.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    request TEXT NOT NULL,
    persona_id INTEGER,
    counts TEXT NOT NULL,
    memories TEXT NOT NULL
) STRICT

CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT

CREATE TABLE revision (value INTEGER NOT NULL, rewritten INTEGER NOT NULL DEFAULT 0) STRICT

INSERT INTO revision VALUES (0, 0)

-- An id that only grows tells what was embedded since, and rows in that order do not scatter over the file.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key_hash, model)
) STRICT

CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT
"""

_INDEXES = (
    "CREATE INDEX personas_external ON personas (external_id)",
    "CREATE INDEX sessions_due ON sessions (id) WHERE NOT learned",
    "CREATE INDEX sessions_open ON sessions (heard_at) WHERE heard_at IS NOT NULL",
    "CREATE INDEX memories_persona ON memories (persona_id)",
    "CREATE INDEX memories_said ON memories (persona_id, said_at)",
    "CREATE INDEX memories_attribute ON memories (persona_id, attribute) WHERE attribute <> ''",
    "CREATE INDEX memories_session ON memories (session_id)",
    "CREATE INDEX memories_key ON memories (key_hash)",
    "CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL",
    "CREATE INDEX memories_closed ON memories (persona_id, valid_to) WHERE valid_to IS NOT NULL",
    "CREATE INDEX memories_taken_back ON memories (persona_id) WHERE taken_back IS NOT NULL",
    "CREATE INDEX memories_pinned ON memories (persona_id) WHERE pinned",
    "CREATE INDEX memories_related ON memories (persona_id, store) WHERE relation_tail <> ''",
    "CREATE INDEX sources_turn ON sources (turn_id)",
    "CREATE INDEX rests_on_basis ON rests_on (basis_id)",
    "CREATE INDEX cites_memory ON cites (memory_id)",
    "CREATE INDEX changes_of ON changes (persona_id, id)",
    "CREATE INDEX changes_memory ON changes (memory_id)",
    "CREATE INDEX changes_other ON changes (other_id)",
    # Holds all but the payload: to list segments must not touch that.
    "CREATE INDEX segments_of ON segments (persona_id, kind, first_id, last_id, size)",
)

_TRIGGERS = """
CREATE TRIGGER memories_gone AFTER DELETE ON memories BEGIN
    DELETE FROM vectors WHERE key_hash = old.key_hash
        AND NOT EXISTS (SELECT 1 FROM memories WHERE key_hash = old.key_hash);
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END

CREATE TRIGGER memories_rewritten AFTER UPDATE OF id, persona_id, session_id, store, key_hash, terms, speaker,
        event_start, event_end, said_at, valid_from, emotion, scene ON memories BEGIN
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END

CREATE TRIGGER journal_stays BEFORE DELETE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END

CREATE TRIGGER journal_unchanged BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END
"""

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


def _number_citations(db: Database) -> None:
    """Store the numbers of citations, so that a chat can be resumed with its citations."""
    db.conn.execute("ALTER TABLE cites ADD COLUMN number INTEGER NOT NULL DEFAULT 0")


def _index_relations(db: Database) -> None:
    """Find relations without reading every memory: each question looks its people up."""
    db.conn.execute("CREATE INDEX memories_related ON memories (persona_id, store) WHERE relation_tail <> ''")


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


def _add_choices(db: Database) -> None:
    """Store what the user chose for the whole bank, such as its embedding model."""
    db.conn.execute("CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT")


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    _add_relations,
    _number_citations,
    _index_relations,
    _add_card_texts,
    _spell_quotes,
    _add_choices,
)
"""Append only: the first brings a bank of `FIRST_VERSION` to the version after it, and so on. A new bank is made in the
newest shape at once, so what a migration adds stands in the tables above, too. Never edit one that was released."""


def newest_version() -> int:
    """The version of the banks that this Memoir writes."""
    return FIRST_VERSION + len(MIGRATIONS)


def upgrade(db: Database, version: int) -> None:
    """Bring a bank of a version to the newest one; version 0 is an empty file, which gets the newest tables at once."""
    if version:
        for migration in MIGRATIONS[version - FIRST_VERSION :]:
            migration(db)
    else:
        for statement in (*_TABLES, *_LINKS_AND_DERIVED.split("\n\n"), *_INDEXES, *_TRIGGERS.split("\n\n")):
            db.conn.execute(statement)
    db.conn.execute(f"PRAGMA user_version = {newest_version()}")
