-- The tables of a new bank. A bank of an earlier version gets this shape through the migrations in schema.py.
--
--     personas 1 -- n sessions 1 -- n turns
--         1 -- n memories n -- m turns (through `sources`, with the words that carry the memory)
--                         n -- m memories (through `rests_on`: what holds only as long as another does)
--     vectors: one row a (model, text hash), shared by all memories with that key
--     segments: stretches of a persona's memories, packed for search
--     journal: counts of what was written, recalled and forgotten, without any text
--
-- `revision` counts writes, so that caches know when to look again, and separately the deleted or changed rows that
-- search reads, so that caches know when new rows are not all that changed.
-- `digest` is of all other columns of its row (`memory.bank.schema.keep_digests`), so that a changed bit is found.
-- Without one are the coordinates of `vectors`: a changed bit there goes unnoticed.
-- `vectors` and `segments` are derived: `memory.bank.maintenance` verifies and rebuilds them. A trigger drops the segment
-- that holds a memory when that memory is deleted or changed; the time at which it stopped holding is not in the segment.

-- What the user says to a persona that is not `kept_apart` is known to all others that are not (memory.bank.queries.memories).
CREATE TABLE personas (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    external_id TEXT NOT NULL DEFAULT '',
    description TEXT NOT NULL DEFAULT '',
    traits TEXT NOT NULL DEFAULT '[]',
    manner TEXT NOT NULL DEFAULT 'plain',
    created_at TEXT NOT NULL,
    proactive INTEGER NOT NULL DEFAULT 1,
    scenario TEXT NOT NULL DEFAULT '',
    first_message TEXT NOT NULL DEFAULT '',
    examples TEXT NOT NULL DEFAULT '',
    kept_apart INTEGER NOT NULL DEFAULT 1,
    picture TEXT NOT NULL DEFAULT '',
    digest INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `heard_at` is when somebody last spoke in an open chat, by the machine's clock; NULL once it is closed. `learned` is
-- whether all its turns were learned from; a turn that comes or goes sets it back to 0. A `hidden` one is left out of the
-- list of chats until something is said in it.
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    identity TEXT NOT NULL,
    external_id TEXT NOT NULL,
    title TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('chat', 'import')),
    started_at TEXT,
    started_text TEXT NOT NULL,
    heard_at TEXT,
    learned INTEGER NOT NULL DEFAULT 0,
    hidden INTEGER NOT NULL DEFAULT 0,
    digest INTEGER NOT NULL DEFAULT 0,
    UNIQUE (persona_id, identity)
) STRICT;

-- `unsupported` are the sentences of a chat model's reply that no memory supports.
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
    unsupported TEXT NOT NULL DEFAULT '[]',
    digest INTEGER NOT NULL DEFAULT 0,
    UNIQUE (session_id, position),
    UNIQUE (session_id, identity)
) STRICT;

-- The relation is who or what is what to whom, where the memory says so; the tail is '' where it does not.
CREATE TABLE memories (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    session_id INTEGER REFERENCES sessions (id) ON DELETE CASCADE,
    store TEXT NOT NULL CHECK (store IN ('profile', 'relationship', 'world', 'event', 'dialogue')),
    identity TEXT NOT NULL,
    text TEXT NOT NULL,
    key TEXT NOT NULL,
    key_hash TEXT NOT NULL,
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
    taken_back TEXT,
    pinned INTEGER NOT NULL DEFAULT 0,
    relation_head TEXT NOT NULL DEFAULT '',
    relation_name TEXT NOT NULL DEFAULT '',
    relation_tail TEXT NOT NULL DEFAULT '',
    digest INTEGER NOT NULL DEFAULT 0,
    UNIQUE (persona_id, identity),
    CHECK ((event_start IS NULL) = (event_end IS NULL))
) STRICT;

-- `quote` is the words of the turn that carry the memory; `alone`, whether they do so without the other turns.
CREATE TABLE sources (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    quote TEXT NOT NULL DEFAULT '',
    alone INTEGER NOT NULL DEFAULT 1,
    digest INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (memory_id, turn_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE rests_on (
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    basis_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    digest INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (memory_id, basis_id)
) STRICT, WITHOUT ROWID;

-- Which memories an answer relied on, and the number by which it cites each; 0 in banks of before there was a number.
CREATE TABLE cites (
    turn_id INTEGER NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    number INTEGER NOT NULL DEFAULT 0,
    digest INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (turn_id, memory_id)
) STRICT, WITHOUT ROWID;

-- What the user changed by hand, so that it can be undone. `other_id` is the new version, or the memory that was
-- merged in; `touched` lists the ids of what followed: dependent memories, or, of a merge, the turns taken over.
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    at TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('edit', 'wrong', 'pin', 'unpin', 'merge')),
    memory_id INTEGER NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    other_id INTEGER REFERENCES memories (id) ON DELETE CASCADE,
    touched TEXT NOT NULL DEFAULT '[]',
    digest INTEGER NOT NULL DEFAULT 0
) STRICT;

-- See `memory.bank.journal`. It references no persona: its lines outlive them.
CREATE TABLE journal (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    request TEXT NOT NULL,
    persona_id INTEGER,
    counts TEXT NOT NULL,
    memories TEXT NOT NULL,
    digest INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL, digest INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE revision (
    value INTEGER NOT NULL,
    rewritten INTEGER NOT NULL DEFAULT 0,
    digest INTEGER NOT NULL DEFAULT 0
) STRICT;

INSERT INTO revision (value) VALUES (0);

-- An id that only grows tells what was embedded since, and rows in that order do not scatter over the file.
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (key_hash, model)
) STRICT;

CREATE TABLE segments (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    persona_id INTEGER NOT NULL REFERENCES personas (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload BLOB NOT NULL
) STRICT;

CREATE INDEX personas_external ON personas (external_id);
CREATE INDEX sessions_due ON sessions (id) WHERE NOT learned;
CREATE INDEX sessions_open ON sessions (heard_at) WHERE heard_at IS NOT NULL;
CREATE INDEX memories_persona ON memories (persona_id);
CREATE INDEX memories_said ON memories (persona_id, said_at);
CREATE INDEX memories_attribute ON memories (persona_id, attribute) WHERE attribute <> '';
CREATE INDEX memories_session ON memories (session_id);
CREATE INDEX memories_key ON memories (key_hash);
CREATE INDEX memories_superseded ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memories_closed ON memories (persona_id, valid_to) WHERE valid_to IS NOT NULL;
CREATE INDEX memories_taken_back ON memories (persona_id) WHERE taken_back IS NOT NULL;
CREATE INDEX memories_pinned ON memories (persona_id) WHERE pinned;
CREATE INDEX memories_related ON memories (persona_id, store) WHERE relation_tail <> '';
CREATE INDEX sources_turn ON sources (turn_id);
CREATE INDEX rests_on_basis ON rests_on (basis_id);
CREATE INDEX cites_memory ON cites (memory_id);
CREATE INDEX changes_of ON changes (persona_id, id);
CREATE INDEX changes_memory ON changes (memory_id);
CREATE INDEX changes_other ON changes (other_id);
-- Holds all but the payload: to list segments must not touch that.
CREATE INDEX segments_of ON segments (persona_id, kind, first_id, last_id, size);

CREATE TRIGGER memories_gone AFTER DELETE ON memories BEGIN
    DELETE FROM vectors WHERE key_hash = old.key_hash
        AND NOT EXISTS (SELECT 1 FROM memories WHERE key_hash = old.key_hash);
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END;

CREATE TRIGGER memories_rewritten AFTER UPDATE OF id, persona_id, session_id, store, key_hash, terms, speaker,
        event_start, event_end, said_at, valid_from, emotion, scene ON memories BEGIN
    DELETE FROM segments WHERE persona_id = old.persona_id AND old.id BETWEEN first_id AND last_id;
    UPDATE revision SET rewritten = rewritten + 1;
END;

CREATE TRIGGER journal_stays BEFORE DELETE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END;

CREATE TRIGGER journal_unchanged BEFORE UPDATE ON journal BEGIN
    SELECT raise(ABORT, 'the journal is only added to');
END;
