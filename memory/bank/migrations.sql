-- What brings a bank of an earlier version to this one: the first brings a bank of `FIRST_VERSION` to the version after
-- it, and so on. Append only, and never edit one that was released. A new bank is made in the newest shape at once, so
-- what a migration adds stands in schema.sql, too.

-- name: relations
-- Relations, which had been read from the memories' texts each time they were shown; schema.py reads them once.
ALTER TABLE memories ADD COLUMN relation_head TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN relation_name TEXT NOT NULL DEFAULT '';
ALTER TABLE memories ADD COLUMN relation_tail TEXT NOT NULL DEFAULT '';

-- name: citation_numbers
-- The numbers of citations, so that a chat can be resumed with its citations.
ALTER TABLE cites ADD COLUMN number INTEGER NOT NULL DEFAULT 0;

-- name: index_of_relations
-- Finds relations without reading every memory: each question looks its people up.
CREATE INDEX memories_related ON memories (persona_id, store) WHERE relation_tail <> '';

-- name: card_texts
-- What a character card holds for a chat model, which had been kept as turns of the session "The card".
ALTER TABLE personas ADD COLUMN scenario TEXT NOT NULL DEFAULT '';
ALTER TABLE personas ADD COLUMN first_message TEXT NOT NULL DEFAULT '';
ALTER TABLE personas ADD COLUMN examples TEXT NOT NULL DEFAULT '';
UPDATE personas SET scenario = substr(t.text, 1, 6000) FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE s.persona_id = personas.id AND s.external_id = 'card' AND t.speaker = 'scenario' AND t.role = 'other'
    AND personas.external_id LIKE 'card-%';
UPDATE personas SET first_message = substr(t.text, 1, 6000) FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE s.persona_id = personas.id AND s.external_id = 'card' AND t.speaker = 'first message' AND t.role = 'other'
    AND personas.external_id LIKE 'card-%';
UPDATE personas SET examples = substr(t.text, 1, 6000) FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE s.persona_id = personas.id AND s.external_id = 'card' AND t.speaker = 'examples of dialogue' AND t.role = 'other'
    AND personas.external_id LIKE 'card-%';

-- name: quotes
-- Quotes spelled as their turns are, so that a letter that changed since is found; models had changed their case.
-- schema.py spells them.

-- name: choices
-- What the user chose for the whole bank, such as its embedding model.
CREATE TABLE choices (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

-- name: kept_apart
-- What was imported is kept apart, each persona as it was; what the user told in chats is known to all others.
ALTER TABLE personas ADD COLUMN kept_apart INTEGER NOT NULL DEFAULT 1;
UPDATE personas SET kept_apart = 0 WHERE external_id <> 'sample'
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE persona_id = personas.id AND source = 'import');

-- name: e5_vectors
-- The encoder was trained further, and has a centre for each script: the indexer makes its vectors again.
DELETE FROM vectors WHERE model = 'multilingual-e5-small';

-- name: e5_segments
DELETE FROM segments WHERE kind LIKE '%multilingual-e5-small%';

-- name: hidden
-- A chat leaves the list of chats, and what was told in it stays known.
ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;

-- name: picture
-- The picture of a character card, cut small.
ALTER TABLE personas ADD COLUMN picture TEXT NOT NULL DEFAULT '';

-- name: digests
-- The columns; each upgrade ends with the digests of the columns that there are then.
ALTER TABLE personas ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sources ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE rests_on ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE cites ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE changes ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;

-- name: unsupported
-- The sentences of an answer that nothing supports, so that a chat that is opened again still marks them.
ALTER TABLE turns ADD COLUMN unsupported TEXT NOT NULL DEFAULT '[]';

-- name: segments
-- Packed segments end with a checksum: the indexer packs again.
DELETE FROM segments;

-- name: digests_of_journal
-- So that a changed bit is found in the journal, and in what was chosen and counted, too.
ALTER TABLE journal ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE choices ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
ALTER TABLE revision ADD COLUMN digest INTEGER NOT NULL DEFAULT 0;
