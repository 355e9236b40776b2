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

-- name: by_month
-- Months are numbered from the year 0.
SELECT kind, 12 * substr(at, 1, 4) + substr(at, 6, 2) - 1 AS month, count(*) FROM (
    SELECT store AS kind, coalesce(event_start, said_at, valid_from) AS at FROM memories
    WHERE persona_id = :persona AND taken_back IS NULL
    UNION ALL SELECT 'session', started_at FROM sessions WHERE persona_id = :persona)
GROUP BY kind, month

-- name: dated_facts
-- Which of the memories `m`.
WHERE m.persona_id = :persona AND m.store IN ('profile', 'relationship', 'world') AND m.taken_back IS NULL
    AND m.valid_from IS NOT NULL ORDER BY m.valid_to IS NULL, m.valid_from DESC, m.id DESC LIMIT :limit

-- name: name_told
-- The name that the user, who speaks under the names `:user` (a JSON list), told last. A persona says who it is, too.
SELECT relation_tail FROM memories WHERE persona_id = :persona AND attribute = 'name' AND store = 'profile'
    AND speaker IN (SELECT value FROM json_each(:user)) AND taken_back IS NULL AND valid_to IS NULL
    AND relation_tail <> '' ORDER BY said_at DESC, id DESC LIMIT 1

-- name: user_speakers
-- The names under which the user speaks, the most frequent first.
SELECT t.speaker FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE s.persona_id = ? AND t.role = 'user' GROUP BY t.speaker ORDER BY count(*) DESC
