-- name: rows
-- The memories of a persona between two ids: how each of the `Columns` is read, in their order; the terms; and the vector
-- of a model, if there is one. A store is its place in `STORES`; the first three of them hold facts.
SELECT m.id,
    CASE m.store WHEN 'profile' THEN 0 WHEN 'relationship' THEN 1 WHEN 'world' THEN 2 WHEN 'event' THEN 3
        WHEN 'dialogue' THEN 4 END,
    coalesce(m.session_id, 0),
    coalesce(unixepoch(coalesce(m.said_at, m.valid_from, m.event_start)), -9e999),
    unixepoch(coalesce(m.event_start, m.valid_from, m.said_at)),
    CASE WHEN m.store IN ('profile', 'relationship', 'world') THEN 9e999
        ELSE unixepoch(coalesce(m.event_end, m.said_at)) END,
    m.speaker,
    coalesce((SELECT t.role = 'user' FROM sources o JOIN turns t ON t.id = o.turn_id
        WHERE o.memory_id = m.id ORDER BY t.id LIMIT 1), 0),
    m.terms, v.vector
FROM memories m LEFT JOIN vectors v ON v.key_hash = m.key_hash AND v.model = ?
WHERE m.persona_id = ? AND m.id > ? AND m.id < ? ORDER BY m.id
