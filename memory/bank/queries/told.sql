-- name: holds
-- Whether a memory `m` held at `:at`, and was known then.
m.taken_back IS NULL AND (m.valid_from IS NULL OR m.valid_from <= :at)
    AND (m.valid_to IS NULL OR m.valid_to > :at) AND (m.said_at IS NULL OR m.said_at <= :at)

-- name: latest
ORDER BY coalesce(m.valid_from, m.said_at) DESC, m.id DESC LIMIT :most

-- name: facts_told
-- Which of the memories `m`, whose first source is `t`; so are the next five.
m.store IN ('profile', 'relationship') AND m.relation_tail <> '' AND t.role = 'user' {latest}

-- name: facts_of_persona
m.persona_id = :persona AND m.speaker = :name AND m.store IN ('profile', 'relationship') AND m.relation_tail <> ''
    AND m.relation_head = :name {latest}

-- name: upcoming
{is_plan} AND m.event_start < :until ORDER BY m.event_start, m.id LIMIT :most

-- name: events_told
m.store = 'event' AND m.attribute <> 'summary' {latest}

-- name: known_facts
m.store IN ('profile', 'relationship', 'world') AND coalesce(t.role, '') <> 'assistant'
    AND NOT EXISTS (SELECT 1 FROM changes WHERE other_id = m.id AND kind = 'edit' AND at > :at) {latest}

-- name: name_told
-- A persona says who it is, too.
m.attribute = 'name' AND m.relation_tail <> '' AND coalesce(t.role, '') <> 'assistant' {latest}

-- name: known_relations
SELECT CASE WHEN t.role = 'user' AND m.relation_head = m.speaker THEN :you ELSE m.relation_head END,
    m.relation_name, m.relation_tail, m.id
FROM memories m LEFT JOIN turns t ON t.id = (SELECT min(turn_id) FROM sources WHERE memory_id = m.id)
WHERE {known} AND {holds} AND m.store = 'relationship' AND m.relation_tail <> '' {latest}

-- name: lines_told
-- Which of the memories `m`, whose first source is `t`.
WHERE {known} AND m.store = 'dialogue' AND m.taken_back IS NULL AND t.role = 'user' AND m.said_at >= :start
    AND m.said_at < :end AND m.session_id NOT IN
        (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat AND external_id <> '')
ORDER BY m.said_at DESC, m.id DESC LIMIT :limit

-- name: count_known
SELECT count(DISTINCT coalesce((SELECT min(turn_id) FROM sources WHERE memory_id = m.id), -m.id)), min(m.said_at)
FROM memories m WHERE {known} AND m.taken_back IS NULL AND m.said_at <= :at AND m.attribute <> 'question'
