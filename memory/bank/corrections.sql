-- name: duplicates
-- Which of the memories `m`.
JOIN memories o ON o.id = :id AND o.persona_id = m.persona_id AND o.store = m.store
    AND o.speaker = m.speaker AND o.text = m.text COLLATE NOCASE
WHERE m.persona_id = :persona AND m.id <> :id AND m.taken_back IS NULL AND m.store <> 'dialogue' ORDER BY m.id

-- name: further_sources
-- The turns of one memory that another does not come from.
SELECT turn_id FROM sources WHERE memory_id = ? EXCEPT SELECT turn_id FROM sources WHERE memory_id = ?

-- name: new_dependants
-- What was learned from the turns of a memory alone, and does not depend on it yet.
SELECT memory_id FROM sources WHERE memory_id <> :id AND memory_id IN (
    SELECT memory_id FROM sources WHERE turn_id IN (SELECT turn_id FROM sources WHERE memory_id = :id))
GROUP BY memory_id
HAVING sum(turn_id NOT IN (SELECT turn_id FROM sources WHERE memory_id = :id)) = 0
EXCEPT SELECT memory_id FROM rests_on WHERE basis_id = :id
EXCEPT SELECT id FROM memories WHERE store = 'dialogue'

-- name: last_change
SELECT * FROM changes WHERE persona_id = ? ORDER BY id DESC LIMIT 1

-- name: delete_source
DELETE FROM sources WHERE memory_id = ? AND turn_id = ?

-- name: delete_basis
DELETE FROM rests_on WHERE memory_id = ? AND basis_id = ?
