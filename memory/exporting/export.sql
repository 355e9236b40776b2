-- The rows of a persona that an export holds, and what a restore looks up and connects.

-- name: counts
-- The number of personas, given as a JSON list of ids, and of all that they have.
SELECT count(*) AS personas,
    coalesce(sum((SELECT count(*) FROM sessions WHERE persona_id = p.id)), 0) AS sessions,
    coalesce(sum((SELECT count(*) FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = p.id)), 0)
        AS turns,
    coalesce(sum((SELECT count(*) FROM memories WHERE persona_id = p.id)), 0) AS memories
FROM personas p WHERE id IN (SELECT value FROM json_each(?))

-- name: turns
-- The turns of a session in order, and whether each is `recallable`.
SELECT t.*, EXISTS (SELECT 1 FROM sources o JOIN memories m ON m.id = o.memory_id
    WHERE o.turn_id = t.id AND o.quote = '' AND m.store = 'dialogue') AS recallable
FROM turns t WHERE session_id = ? ORDER BY position

-- name: memories
-- The memories of a persona in order of id. `links` (turn, quote, alone, the turn's identity), `bases` (memories it rests
-- on) and `uses` (turn, number of the citation) are JSON lists. An export of one persona does not refer to another: what
-- is linked across personas is left out, and so is a `successor` of another.
SELECT m.*,
    (SELECT json_group_array(json_array(o.turn_id, o.quote, o.alone, t.identity))
        FROM sources o JOIN turns t ON t.id = o.turn_id JOIN sessions s ON s.id = t.session_id
        WHERE o.memory_id = m.id AND s.persona_id = m.persona_id) AS links,
    (SELECT json_group_array(basis_id) FROM rests_on JOIN memories b ON b.id = basis_id
        WHERE memory_id = m.id AND b.persona_id = m.persona_id) AS bases,
    (SELECT json_group_array(json_array(turn_id, number))
        FROM cites JOIN turns t ON t.id = turn_id JOIN sessions s ON s.id = t.session_id
        WHERE memory_id = m.id AND s.persona_id = m.persona_id) AS uses,
    (SELECT id FROM memories WHERE id = m.superseded_by AND persona_id = m.persona_id) AS successor
FROM memories m WHERE persona_id = ? ORDER BY id

-- name: identity_of_turn
SELECT identity FROM turns WHERE id = ?

-- name: requeue_session
-- Queue a session for learning again.
UPDATE sessions SET learned = 0 WHERE id = ?

-- name: set_superseding
-- Set which memory superseded another: (the later, the earlier).
UPDATE memories SET superseded_by = ? WHERE id = ?

-- name: find_change
-- A change of the same persona, memory and time.
SELECT 1 FROM changes WHERE persona_id = :persona_id AND memory_id = :memory_id AND at = :at
