-- Clauses choose among the memories `m` of queries/memories.sql; {known} is the condition that a persona knows them.

-- name: last_ids
-- The last numbers of what is counted: they change if any of it is added, and stay if some is deleted.
SELECT name, seq FROM sqlite_sequence WHERE name IN ('personas', 'sessions', 'turns', 'memories') ORDER BY name

-- name: size
-- The bytes of the file that are in use.
SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size

-- name: last_said
SELECT max(said_at) FROM memories WHERE persona_id = ? AND said_at < ?

-- name: session
-- The sessions of the bank; clauses follow.
SELECT s.*, (SELECT count(*) FROM turns WHERE session_id = s.id) AS turn_count FROM sessions s

-- name: time_range
-- Each query alone reads one entry of the index; both in one would scan it.
SELECT min((SELECT min(said_at) FROM memories WHERE persona_id = value)),
    max((SELECT max(said_at) FROM memories WHERE persona_id = value)) FROM json_each(?)

-- name: counts
SELECT 'sessions', count(*) FROM sessions WHERE persona_id = :persona
UNION ALL SELECT 'turns', count(*) FROM sessions s JOIN turns t ON t.session_id = s.id WHERE s.persona_id = :persona
UNION ALL SELECT store, count(*) FROM memories WHERE persona_id = :persona GROUP BY store

-- name: chat_memories
WHERE m.persona_id = :persona AND m.store = 'dialogue' AND m.taken_back IS NULL AND m.session_id =
    (SELECT id FROM sessions WHERE persona_id = m.persona_id AND external_id = :chat)
ORDER BY m.id DESC LIMIT :limit

-- name: cited_in_chat
JOIN (SELECT c.memory_id, max(c.turn_id) AS cited_by FROM cites c JOIN turns r ON r.id = c.turn_id
    WHERE r.session_id = (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat)
    GROUP BY c.memory_id) cited ON cited.memory_id = m.id
WHERE {known} ORDER BY cited.cited_by DESC, m.id

-- name: from_same_turns
WHERE {known} AND m.id IN (SELECT memory_id FROM sources
    WHERE turn_id IN (SELECT turn_id FROM sources WHERE memory_id = :id)) ORDER BY m.id

-- name: quotes
SELECT o.turn_id, o.quote FROM sources o JOIN memories m ON m.id = o.memory_id
WHERE m.persona_id = ? AND m.id = ? AND o.quote <> ''

-- name: citing_answers
SELECT t.*, q.text AS question FROM cites c JOIN memories m ON m.id = c.memory_id JOIN turns t ON t.id = c.turn_id
    LEFT JOIN turns q ON q.session_id = t.session_id AND q.position = t.position - 1
WHERE m.persona_id = ? AND m.id = ? ORDER BY t.id DESC LIMIT ?

-- name: origins
SELECT m.id AS memory_id, o.* FROM memories m
    JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
    JOIN turns o ON o.session_id = t.session_id AND o.position BETWEEN t.position - 2 AND t.position
WHERE {known} AND m.id IN (SELECT value FROM json_each(:ids)) AND (o.role = 'user' OR m.persona_id = :persona)
ORDER BY o.position DESC
