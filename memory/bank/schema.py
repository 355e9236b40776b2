"""The shape of a bank's file, a step at a time.

    personas 1 -- n sessions 1 -- n turns
        1 -- n memories n -- m turns (through `sources`, with the words that carry the memory)
                        n -- m memories (through `rests_on`: what holds only as long as another does)
    vectors: one row a (model, text hash), shared by all memories with that key
    segments: stretches of a persona's memories, packed for search
    journal: what was written, recalled and forgotten, without a word of it

`revision` counts writes, so that what is held in memory knows when to look again, and rows that went or changed in what
search looks at, so that it knows when to look at more than what is new.
`vectors` and `segments` are derived: `memory.bank.maintenance` proves that they agree with the rows and makes them
again. A
trigger drops the segment that holds a memory as the memory goes or changes; when it stopped holding is not in there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlite_utils import Database

_TABLES = """
CREATE TABLE personas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    external_id TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    traits TEXT NOT NULL DEFAULT '[]',
    manner TEXT NOT NULL DEFAULT 'plain',
    created_at TEXT NOT NULL
) STRICT;
CREATE INDEX personas_external ON personas (external_id);

CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    identity TEXT NOT NULL,
    external_id TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('chat', 'import')),
    started_at TEXT,
    started_text TEXT NOT NULL,
    UNIQUE (persona_id, identity)
) STRICT;

CREATE TABLE turns (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    identity TEXT NOT NULL,
    speaker TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'other')),
    text TEXT NOT NULL,
    said_at TEXT,
    said_text TEXT NOT NULL,
    external_id TEXT NOT NULL,
    UNIQUE (session_id, position),
    UNIQUE (session_id, identity)
) STRICT;

CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    store TEXT NOT NULL CHECK (store IN ('profile', 'relationship', 'world', 'event', 'dialogue')),
    identity TEXT NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    scope TEXT NOT NULL,
    terms TEXT NOT NULL,
    speaker TEXT NOT NULL,
    attribute TEXT NOT NULL,
    event_start TEXT,
    event_end TEXT,
    event_text TEXT NOT NULL,
    said_at TEXT,
    recorded_at TEXT NOT NULL,
    valid_from TEXT,
    valid_to TEXT,
    superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL,
    emotion TEXT NOT NULL,
    scene TEXT NOT NULL,
    external_id TEXT NOT NULL,
    UNIQUE (persona_id, identity),
    CHECK ((event_start IS NULL) = (event_end IS NULL))
) STRICT;
CREATE INDEX memories_said ON memories (persona_id, said_at);
CREATE INDEX memories_attribute ON memories (persona_id, attribute) WHERE attribute <> '';
CREATE INDEX memories_session ON memories (session_id);
CREATE INDEX memories_key ON memories (key_hash);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE TABLE sources (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    PRIMARY KEY (memory_id, turn_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_turn ON sources (turn_id);

CREATE TABLE revision (
    value INTEGER NOT NULL
) STRICT;
INSERT INTO revision VALUES (0);

CREATE TABLE vectors (
    model TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, key_hash)
) STRICT, WITHOUT ROWID;
"""


def _create(db: Database) -> None:
    for statement in _TABLES.split(";"):
        if statement.strip():
            db.conn.execute(statement)
    # `scope` names the persona inside the index: filtering there is five times faster than a join (measured at 100k).
    db.table("memories").enable_fts(["scope", "terms"], create_triggers=True, tokenize="unicode61 remove_diacritics 0")
    db.conn.execute("CREATE VIRTUAL TABLE memories_terms USING fts5vocab(memories_fts, row)")


_PACKED = (
    # Words are ranked from `segments` and `terms`.
    "DROP TABLE memories_terms",
    "DROP TRIGGER memories_ai",
    "DROP TRIGGER memories_ad",
    "DROP TRIGGER memories_au",
    "DROP TABLE memories_fts",
    "ALTER TABLE memories DROP COLUMN scope",
    # An id that only grows tells what was embedded since, and rows in that order do not scatter over the file.
    """
CREATE TABLE embedded (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key_hash, model)
) STRICT
""",
    "INSERT INTO embedded (model, key_hash, vector) SELECT model, key_hash, vector FROM vectors",
    "DROP TABLE vectors",
    "ALTER TABLE embedded RENAME TO vectors",
    """
CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT
""",
    # Holds all but the payload: to list segments must not touch that.
    "CREATE INDEX segments_of ON segments (persona_id, kind, first_id, last_id, size)",
    "CREATE INDEX memories_persona ON memories (persona_id)",
    "CREATE INDEX memories_closed ON memories (persona_id, valid_to) WHERE valid_to IS NOT NULL",
    "ALTER TABLE revision ADD COLUMN rewritten INTEGER NOT NULL DEFAULT 0",
    """
CREATE TRIGGER memories_gone AFTER DELETE ON memories BEGIN
    DELETE FROM vectors WHERE key_hash = old.key_hash
        AND NOT EXISTS (SELECT 1 FROM memories WHERE key_hash = old.key_hash);
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END
""",
    """
CREATE TRIGGER memories_rewritten AFTER UPDATE OF id, persona_id, session_id, store, key_hash, terms, speaker,
        event_start, event_end, said_at, valid_from, emotion, scene ON memories BEGIN
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END
""",
)


_LEARNED = (
    # When an open chat was last heard, by the clock of the machine; NULL once it is closed.
    "ALTER TABLE sessions ADD COLUMN heard_at TEXT",
    # Whether all its turns were learned from; one that comes or goes makes the session due again.
    "ALTER TABLE sessions ADD COLUMN learned INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX sessions_due ON sessions (id) WHERE NOT learned",
    "CREATE INDEX sessions_open ON sessions (heard_at) WHERE heard_at IS NOT NULL",
    # The words of the turn that carry the memory, and whether they do without those of the other turns.
    "ALTER TABLE sources ADD COLUMN quote TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE sources ADD COLUMN alone INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE memories ADD COLUMN taken_back TEXT",
    "CREATE INDEX memories_taken_back ON memories (persona_id) WHERE taken_back IS NOT NULL",
    """
CREATE TABLE rests_on (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    basis_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (memory_id, basis_id)
) STRICT, WITHOUT ROWID
""",
    "CREATE INDEX rests_on_basis ON rests_on (basis_id)",
    "ALTER TABLE personas ADD COLUMN proactive INTEGER NOT NULL DEFAULT 1",
)


_CORRECTED = (
    # Which memories an answer relied on.
    """
CREATE TABLE cites (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    PRIMARY KEY (turn_id, memory_id)
) STRICT, WITHOUT ROWID
""",
    "CREATE INDEX cites_memory ON cites (memory_id)",
    "ALTER TABLE memories ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX memories_pinned ON memories (persona_id) WHERE pinned",
    # What the user changed by hand, so that it can be undone. `other_id` is what took its place, or was merged with it;
    # `touched` the ids of what followed: of memories that rest on it, or of turns that it took over.
    """
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('edit', 'wrong', 'pin', 'unpin', 'merge')),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER REFERENCES memories (id) ON DELETE CASCADE,
    touched TEXT NOT NULL DEFAULT '[]'
) STRICT
""",
    "CREATE INDEX changes_of ON changes (persona_id, id)",
    "CREATE INDEX changes_memory ON changes (memory_id)",
    "CREATE INDEX changes_other ON changes (other_id)",
)


_JOURNAL = (
    # What was done to the bank, in numbers; see `memory.bank.journal`. No reference to a persona: its lines outlive it.
    """
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    request TEXT NOT NULL,
    persona_id INTEGER,
    counts TEXT NOT NULL,
    memories TEXT NOT NULL
) STRICT
""",
    """
CREATE TRIGGER journal_stays BEFORE DELETE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END
""",
    """
CREATE TRIGGER journal_unchanged BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END
""",
)


def _run(statements: Sequence[str]) -> Callable[[Database], None]:
    def migrate(db: Database) -> None:
        for statement in statements:
            db.conn.execute(statement)

    return migrate


MIGRATIONS: tuple[Callable[[Database], None], ...] = (
    _create,
    _run(_PACKED),
    _run(_LEARNED),
    _run(_CORRECTED),
    _run(_JOURNAL),
)
"""Append only: the n-th brings a bank from version n-1 to n. One that has shipped is never edited."""
