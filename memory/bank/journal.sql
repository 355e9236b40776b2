-- name: entries
SELECT j.id, j.at, j.action, j.request, j.persona_id, j.counts, j.memories, coalesce(p.name, '') AS persona
FROM journal j LEFT JOIN personas p ON p.id = j.persona_id ORDER BY j.id DESC LIMIT ? OFFSET ?
