-- name: during
-- What happened in a span, or was said in it where no event time is known; everything if there is no span.
(:start IS NULL OR coalesce(m.event_start, m.said_at) < :end AND coalesce(m.event_end, m.said_at) >= :start)

-- name: dialogue
-- Which of the memories `m` are not listed with the facts, people and events; so are the next two.
m.store = 'dialogue' AND m.taken_back IS NULL

-- name: summary
m.attribute = 'summary' AND m.taken_back IS NULL

-- name: retracted
m.taken_back IS NOT NULL

-- name: listed
-- The memories that may be listed, each with what decides on it.
SELECT m.id, m.store, m.text, m.speaker, m.pinned, m.session_id, m.valid_from, m.valid_to, m.event_start, m.event_end,
    m.said_at, m.attribute, m.relation_head, m.relation_name, {during} AS inside, {is_plan} AS is_plan,
    (SELECT min(length(t.text)) FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = m.id)
        AS message_length,
    (SELECT t.role FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = m.id LIMIT 1) AS role
FROM memories m
WHERE m.persona_id = :persona AND (m.store <> 'dialogue' OR {is_plan}) AND m.attribute <> 'summary'
    AND m.taken_back IS NULL {order}
