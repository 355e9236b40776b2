-- {known} is the condition that a persona knows a memory `m` (memory.bank.queries.memories).

-- name: told_before
-- (id, whether it holds at `:since`, the ids of its turns) of a memory of this identity.
SELECT id, coalesce(valid_from, '') <= :since AND coalesce(valid_to, '9') > :since AND taken_back IS NULL,
    (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id)
FROM memories m WHERE persona_id = :persona AND identity = :identity

-- name: closed_by_number
-- (end, id) of what a memory closed by its number, and not by an attribute.
SELECT valid_to, id FROM memories WHERE superseded_by = ? AND taken_back IS NULL AND (attribute = '' OR attribute <> ?)

-- name: statement_of_turn
-- The memory of a turn itself.
SELECT o.memory_id FROM sources o JOIN memories d ON d.id = o.memory_id WHERE o.turn_id = ? AND d.store = 'dialogue'
LIMIT 1

-- name: close
-- Let the memory `:closes` hold until `:since`, when `:by` begins to.
UPDATE memories AS m SET valid_to = :since, superseded_by = :by WHERE {known} AND id = :closes AND id <> :by
    AND taken_back IS NULL AND coalesce(valid_from, '') <= :since AND (valid_to IS NULL OR valid_to > :since)

-- name: close_by_words
-- The same of a fact of these words. It is found by the attribute, which has an index; the text has none.
UPDATE memories AS m SET valid_to = :since, superseded_by = :by WHERE {known} AND attribute = :attribute
    AND attribute <> '' AND store = :store AND text = :text AND speaker = :speaker
    AND taken_back IS NULL AND valid_from <= :since AND (valid_to IS NULL OR valid_to > :since)

-- name: retract
UPDATE memories AS m SET taken_back = ? WHERE {known} AND m.id = ? AND taken_back IS NULL

-- name: delete_summaries
-- Delete the summaries of a memory's sessions; one that is itself changed or taken back stays, as any memory does.
DELETE FROM memories WHERE store = 'event' AND attribute = 'summary' AND session_id IN (
    SELECT t.session_id FROM turns t JOIN sources o ON o.turn_id = t.id JOIN memories m ON m.id = o.memory_id
    WHERE m.id = ? AND m.attribute <> 'summary'
)

-- name: reopen_closed
-- Let what a memory closed hold until that memory's own end; what it corrected stays wrong.
UPDATE memories SET (valid_to, superseded_by) = (SELECT valid_to, superseded_by FROM memories WHERE id = :id)
WHERE superseded_by = :id AND taken_back IS NULL

-- name: corrected
-- What a memory corrected.
SELECT id FROM memories WHERE superseded_by = ? AND taken_back IS NOT NULL

-- name: fact
-- A memory as the values of the two statements that follow.
SELECT id AS new, persona_id AS persona, store, attribute, speaker, valid_from AS since FROM memories WHERE id = ?

-- name: close_earlier
-- Close the facts about the same attribute that had begun by `:since`. SQLite uses the partial index only if the query,
-- too, says that the attribute is not empty.
UPDATE memories SET valid_to = :since, superseded_by = :new
WHERE persona_id = :persona AND store = :store AND attribute = :attribute AND attribute <> '' AND speaker = :speaker
    AND id <> :new AND taken_back IS NULL AND valid_from <= :since AND (valid_to IS NULL OR valid_to > :since)

-- name: next_later
-- (id, beginning) of the first fact about the same attribute that begins after `:since`.
SELECT id, valid_from FROM memories
WHERE persona_id = :persona AND store = :store AND attribute = :attribute AND attribute <> '' AND speaker = :speaker
    AND id <> :new AND taken_back IS NULL AND valid_from > :since ORDER BY valid_from LIMIT 1

-- name: end
-- Let a memory end because of another: (the other, the end, the memory).
UPDATE memories SET superseded_by = ?, valid_to = ? WHERE id = ?

-- name: move_source
-- Give a turn of a memory to another: (the other, the memory, the turn).
UPDATE sources SET memory_id = ? WHERE memory_id = ? AND turn_id = ?

-- name: later_statements
-- (turn, time) of each statement of a fact after it ended.
SELECT o.turn_id, t.said_at FROM sources o JOIN turns t ON t.id = o.turn_id JOIN memories m ON m.id = o.memory_id
WHERE m.id = ? AND t.said_at > m.valid_to ORDER BY t.said_at
