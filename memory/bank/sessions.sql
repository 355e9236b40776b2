-- name: hear
-- Something was said in a session. A chat that began with small talk has no title yet.
UPDATE sessions SET learned = 0, hidden = 0, heard_at = ?, title = coalesce(nullif(title, ''), ?) WHERE id = ?

-- name: continue_imported
-- The imported session that is continued as a chat, whose id is its own from now on.
UPDATE sessions SET external_id = :chat WHERE persona_id = :persona AND source = 'import'
    AND (external_id = :chat OR external_id = '' AND 'session-' || id = :chat) RETURNING id

-- name: imported_with_turn_at
-- The imported sessions of a persona with a turn that was said at a moment.
SELECT DISTINCT m.session_id FROM memories m JOIN sessions s ON s.id = m.session_id
WHERE m.persona_id = ? AND m.said_at = ? AND m.store = 'dialogue' AND s.source = 'import'

-- name: turns
SELECT external_id, speaker, text, said_at FROM turns WHERE session_id = ? ORDER BY position
