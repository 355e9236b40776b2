-- name: past_chats
-- The latest chats of a persona, with when the last turn of each was said; each of the `:words` (a JSON list, in small
-- letters) is part of the title or of a turn.
SELECT s.*, (SELECT count(*) FROM turns WHERE session_id = s.id) AS turn_count, latest.last, latest.last_text
FROM sessions s JOIN (
    SELECT s.id, max(coalesce(t.said_at, s.started_at), coalesce(s.started_at, t.said_at)) AS last,
        iif(s.started_at > t.said_at, s.started_text, t.said_text) AS last_text
    FROM sessions s JOIN turns t ON t.session_id = s.id
        AND t.position = (SELECT max(position) FROM turns WHERE session_id = s.id)
    WHERE s.persona_id = :persona AND NOT s.hidden AND NOT EXISTS (
        SELECT 1 FROM json_each(:words) WHERE NOT (instr(folded(s.title), value)
            OR EXISTS (SELECT 1 FROM turns WHERE session_id = s.id AND instr(folded(text), value))))
    ORDER BY last DESC, s.id DESC LIMIT :limit
) latest ON latest.id = s.id ORDER BY latest.last DESC, s.id DESC

-- name: openings
-- The user's first turns of each of the `:chats` (a JSON list of ids).
SELECT value, (SELECT group_concat(text, char(10)) FROM
    (SELECT text FROM turns WHERE session_id = value AND role = 'user' ORDER BY position LIMIT :turns))
FROM json_each(:chats)

-- name: last_chat
-- Which of the sessions `s`: that with the newest turn.
WHERE s.source = 'chat' AND NOT s.hidden ORDER BY (SELECT max(id) FROM turns WHERE session_id = s.id) DESC LIMIT 1

-- name: find_chat
-- Which of the sessions `s`: those of an id, the best one first.
WHERE s.external_id = :chat AND :chat <> '' OR s.external_id = '' AND 'session-' || s.id = :chat
ORDER BY s.persona_id = :persona DESC, s.source = 'chat' DESC, s.id LIMIT 1

-- name: citations
SELECT c.turn_id, c.number, c.memory_id FROM cites c JOIN turns t ON t.id = c.turn_id
WHERE t.session_id = ? AND c.number > 0 ORDER BY c.turn_id, c.number

-- name: memories_of_chat
-- Which of the memories `m`, whose first source is `t`.
WHERE m.session_id IN (SELECT id FROM sessions WHERE persona_id = :persona AND external_id = :chat)
    AND (t.external_id = :turn OR :turn = '') AND (m.taken_back IS NULL OR m.superseded_by IS NULL) ORDER BY m.id

-- name: latest_lines
-- Which of the memories `m`.
WHERE m.persona_id = :persona AND m.store = 'dialogue' AND m.taken_back IS NULL ORDER BY m.id DESC LIMIT :n
