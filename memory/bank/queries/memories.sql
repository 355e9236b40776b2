-- name: memory
-- The memories of the bank, for a `:persona` who asks; clauses follow.
SELECT m.*, t.said_text, (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id) AS turn_ids,
    (SELECT min(coalesce(b.taken_back, b.valid_to)) FROM rests_on r JOIN memories b ON b.id = r.basis_id
     WHERE r.memory_id = m.id) AS stale_since,
    (SELECT name FROM personas WHERE id = m.persona_id AND id <> :persona) AS told_to,
    t.role = 'user' AND t.speaker = m.speaker AND (SELECT NOT kept_apart FROM personas WHERE id = m.persona_id) AS by_user
FROM memories m
LEFT JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)

-- name: of_user
-- Whether a memory `m` is the user's: their words, or what was learned from them. A summary has both sides in it.
(m.attribute <> 'summary' AND 'user' = (SELECT t.role FROM sources o JOIN turns t ON t.id = o.turn_id
    WHERE o.memory_id = m.id ORDER BY t.id LIMIT 1))

-- name: is_plan
-- Whether a memory `m` is of a time that was ahead when it was told ("tonight", said at night, was not) and is not over
-- at `:at`. Of a turn and the event that was learned from it, the event is, or what replaced that; neither, if the event
-- was marked wrong. No event is that was learned from a statement which was edited and tells another time now.
(m.event_end > :at AND (m.said_at IS NULL OR m.said_at < m.event_start)
    AND m.attribute NOT IN ('question', 'summary') AND (m.store <> 'dialogue' OR NOT EXISTS (
        SELECT 1 FROM sources o JOIN sources p ON p.turn_id = o.turn_id JOIN memories e ON e.id = p.memory_id
        WHERE o.memory_id = m.id AND e.store = 'event' AND e.attribute <> 'summary'
            AND e.event_start < m.event_end AND e.event_end > m.event_start))
    AND NOT EXISTS (SELECT 1 FROM rests_on r JOIN memories b ON b.id = r.basis_id JOIN memories n ON n.id = b.superseded_by
        WHERE r.memory_id = m.id AND b.taken_back IS NOT NULL
            AND (n.event_start >= m.event_end OR n.event_end <= m.event_start)))

-- name: other_personas
-- The others who know what the user says to a persona.
SELECT o.id FROM personas p JOIN personas o ON o.id <> p.id WHERE p.id = ? AND NOT p.kept_apart AND NOT o.kept_apart
ORDER BY o.id

-- name: ended_elsewhere
-- (id, end) of the user's facts that a persona knows by the condition {known}, and that still held when the next fact about
-- the same attribute began, which was told to another persona.
SELECT id, next_from FROM (
    SELECT m.id, m.persona_id, coalesce(m.valid_to, '9') AS until, lead(m.persona_id) OVER later AS next_persona,
        lead(m.valid_from) OVER later AS next_from FROM memories m
    WHERE {known} AND m.attribute <> '' AND m.store IN ('profile', 'relationship', 'world') AND m.valid_from IS NOT NULL
        AND m.taken_back IS NULL AND {of_user}
    WINDOW later AS (PARTITION BY m.store, m.attribute ORDER BY m.valid_from, m.id))
WHERE next_persona <> persona_id AND next_from < until
