-- name: wrong_quotes
SELECT o.memory_id, o.turn_id FROM sources o JOIN turns t ON t.id = o.turn_id WHERE NOT instr(t.text, o.quote)

-- name: memories
-- All memories; those of a turn with what that turn says, who said it and when.
SELECT m.*, coalesce(nullif(o.quote, ''), t.text) AS said, t.speaker AS said_by, t.said_at AS said_when,
    t.identity AS turn_identity
FROM memories m
LEFT JOIN sources o ON m.store = 'dialogue' AND o.memory_id = m.id
    AND o.turn_id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
LEFT JOIN turns t ON t.id = o.turn_id

-- name: stray_vectors
SELECT count(*) FROM vectors WHERE key_hash NOT IN (SELECT key_hash FROM memories)
