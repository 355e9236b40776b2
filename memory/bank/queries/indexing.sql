-- name: bank_state
SELECT value, rewritten, (SELECT coalesce(max(id), 0) FROM vectors), coalesce(j.id, 0), j.at
FROM revision LEFT JOIN journal j ON j.id = (SELECT max(id) FROM journal)

-- name: of_attribute
-- SQLite uses the partial index only if the query, too, says that the attribute is not empty.
SELECT id FROM memories WHERE persona_id IN {personas} AND attribute = ? AND attribute <> ''

-- name: without_vector
-- Which of the memories `m`: a persona's between two ids that have no vector of a model.
FROM memories m WHERE m.persona_id = ? AND m.id > ? AND m.id < ?
AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key_hash = m.key_hash AND v.model = ?)

-- name: new_vectors
-- It begins with the vectors, for they are few; the rows that wait for one may be a million.
SELECT m.id, v.vector FROM vectors v CROSS JOIN memories m INDEXED BY memories_key ON m.key_hash = v.key_hash
WHERE v.id > ? AND v.model = ? AND m.persona_id = ? AND m.id > ? AND m.id < ?

-- name: words_and_vectors
-- Of all memories of a bank, in order of id.
SELECT m.id, m.terms, m.valid_to, v.vector FROM memories m
LEFT JOIN vectors v ON v.key_hash = m.key_hash AND v.model = ? ORDER BY m.id

-- name: insert_vector
INSERT OR IGNORE INTO vectors (model, key_hash, vector)
SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM memories WHERE key_hash = ?2)

-- name: insert_segment
INSERT INTO segments (persona_id, kind, first_id, last_id, size, payload) VALUES (?, ?, ?, ?, ?, ?)
