-- name: due
-- Which of the sessions `s`: those that are over at `:quiet` and were not learned from yet.
WHERE NOT learned AND (heard_at IS NULL OR heard_at < :quiet) ORDER BY s.id LIMIT :limit

-- name: close_chats
UPDATE sessions SET heard_at = NULL WHERE heard_at IS NOT NULL AND external_id = coalesce(?, external_id)

-- name: session_turns
-- The turns of a session, and whether each is a memory that stands on its own.
SELECT t.*, EXISTS (SELECT 1 FROM sources o JOIN memories m ON m.id = o.memory_id WHERE o.turn_id = t.id
    AND o.alone AND m.store = 'dialogue' AND m.taken_back IS NULL) AS news
FROM turns t WHERE t.session_id = ? ORDER BY t.position

-- name: learned_before
-- Which of the memories `m`.
WHERE m.persona_id = :persona AND m.session_id = :session AND m.store <> 'dialogue' AND m.attribute <> 'summary'

-- name: delete_other_summaries
-- Delete the summary of a session, unless it has one of these texts, a JSON list.
DELETE FROM memories WHERE session_id = ? AND store = 'event' AND attribute = 'summary'
    AND text NOT IN (SELECT value FROM json_each(?))
