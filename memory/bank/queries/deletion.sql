-- What is selected to be forgotten, what depends on it, and the changes to what stays. `:memories`, `:turns`, `:sessions`,
-- `:titles` and `:personas` are JSON lists of the selected ids.

-- name: personas_of_persona
SELECT id FROM personas WHERE id = :persona

-- name: sessions_of_persona
SELECT id FROM sessions WHERE persona_id = :persona

-- name: turns_of_persona
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = :persona

-- name: memories_of_persona
SELECT id FROM memories WHERE persona_id = :persona

-- name: known_memories
-- Those of the memories of these ids, a JSON list, that a persona knows by the condition {known}.
SELECT m.id FROM memories m WHERE {known} AND m.id IN (SELECT value FROM json_each(?))

-- name: source_turns
SELECT DISTINCT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(:memories))

-- name: known_session
-- The session, if it is of one of the personas `:knowing`, a JSON list.
SELECT id FROM sessions WHERE id = :session AND persona_id IN (SELECT value FROM json_each(:knowing))

-- name: turns_of_session
SELECT id FROM turns WHERE session_id = :session

-- name: memories_of_session
-- Those that came from no turn; the others go with their turns.
SELECT id FROM memories m WHERE session_id = :session AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)

-- name: turns_before
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.persona_id = :persona AND t.said_at < :moment

-- name: memories_before
SELECT id FROM memories m WHERE persona_id = :persona AND coalesce(said_at, event_end) < :moment
    AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)

-- name: mentioning_memories
-- Several columns as one text: a call out of SQLite costs as much as the search itself. Between them stands a private-use
-- character that is neither a letter nor a space, so that no match spans two columns.
SELECT id FROM memories WHERE persona_id = :persona AND mentions(text || char(0xE000)
    || CASE WHEN key = text THEN '' ELSE key END || char(0xE000) || speaker || char(0xE000) || attribute
    || char(0xE000) || event_text || char(0xE000) || emotion || char(0xE000) || scene)

-- name: mentioning_turns
SELECT t.id FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE s.persona_id = :persona AND mentions(t.text || char(0xE000) || t.speaker)

-- name: mentioning_titles
SELECT id FROM sessions WHERE persona_id = :persona AND mentions(title)

-- name: orphaned_memories
-- The memories that would keep no turn that supports them on its own.
SELECT memory_id FROM sources
WHERE memory_id IN (SELECT memory_id FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns)))
GROUP BY memory_id HAVING sum(alone AND NOT turn_id IN (SELECT value FROM json_each(:turns))) = 0

-- name: emptied_sessions
-- The sessions that would keep no turn.
SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) GROUP BY session_id
HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)

-- name: other_replies
-- (turn id, text, whether it cites one of the memories or answers one of the turns) of each other reply that was made
-- here, by one of the personas `:knowing` (a JSON list), or that cites one of the memories. What was imported is recallable.
SELECT t.id, t.text,
    EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories)))
    OR EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.position = t.position - 1
        AND b.id IN (SELECT value FROM json_each(:turns)))
FROM turns t JOIN sessions s ON s.id = t.session_id
WHERE t.role = 'assistant' AND (s.source = 'chat' OR NOT EXISTS (SELECT 1 FROM sources WHERE turn_id = t.id))
    AND (s.persona_id IN (SELECT value FROM json_each(:knowing)) OR EXISTS (
        SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories))))
    AND NOT t.id IN (SELECT value FROM json_each(:turns))

-- name: own_questions
-- The turns that only ask, and that one of the turns answers: a question names what its answer repeats.
SELECT q.id FROM turns t JOIN turns q ON q.session_id = t.session_id AND q.position = t.position - 1
    JOIN sources o ON o.turn_id = q.id JOIN memories m ON m.id = o.memory_id
WHERE t.id IN (SELECT value FROM json_each(:turns)) AND t.role = 'assistant' AND q.role = 'user'
    AND m.store = 'dialogue' AND m.attribute = 'question'

-- name: first_texts
-- (speaker, text) of the first of the turns, followed by those of the memories that came from no turn.
SELECT * FROM (SELECT speaker, text FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) ORDER BY id)
UNION ALL SELECT speaker, text FROM memories m
WHERE id IN (SELECT value FROM json_each(:memories)) AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id)
LIMIT :limit

-- name: texts
-- Every text that the bank stores for the memories and turns; those of replies that were made here if `:replies`.
SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
UNION SELECT text FROM turns t WHERE id IN (SELECT value FROM json_each(:turns))
    AND (:replies OR role <> 'assistant' OR EXISTS (SELECT 1 FROM sources WHERE turn_id = t.id))
UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))

-- name: card_and_titles
-- The texts of the personas' cards, and the titles of their sessions.
SELECT name FROM personas WHERE id IN (SELECT value FROM json_each(:personas))
UNION SELECT description FROM personas WHERE id IN (SELECT value FROM json_each(:personas))
UNION SELECT scenario FROM personas WHERE id IN (SELECT value FROM json_each(:personas))
UNION SELECT first_message FROM personas WHERE id IN (SELECT value FROM json_each(:personas))
UNION SELECT examples FROM personas WHERE id IN (SELECT value FROM json_each(:personas))
UNION SELECT title FROM sessions WHERE persona_id IN (SELECT value FROM json_each(:personas))

-- name: all_texts
-- The text and speaker of every turn, the text and key of every memory, every card and every title, one by one.
SELECT text FROM turns UNION ALL SELECT text FROM memories UNION ALL SELECT key FROM memories
UNION ALL SELECT DISTINCT speaker FROM turns UNION ALL SELECT DISTINCT speaker FROM memories
UNION ALL SELECT name FROM personas UNION ALL SELECT description FROM personas UNION ALL SELECT scenario FROM personas
UNION ALL SELECT first_message FROM personas UNION ALL SELECT examples FROM personas UNION ALL SELECT title FROM sessions

-- name: clear_titles
-- Clear the `:titles`, and those that are words of one of the turns: a chat is named after its first words.
UPDATE sessions SET title = '' WHERE title <> '' AND (id IN (SELECT value FROM json_each(:titles)) OR EXISTS (
    SELECT 1 FROM turns t WHERE t.session_id = sessions.id AND instr(t.text, sessions.title)
        AND t.id IN (SELECT value FROM json_each(:turns))))

-- name: move_shared_memories
-- Move memories that have sources in other sessions to one of those, or deleting these would delete them.
UPDATE memories SET session_id = (
    SELECT t.session_id FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = memories.id
        AND NOT t.session_id IN (SELECT value FROM json_each(:sessions)) ORDER BY t.id LIMIT 1)
WHERE session_id IN (SELECT value FROM json_each(:sessions)) AND EXISTS (
    SELECT 1 FROM sources o JOIN turns t ON t.id = o.turn_id WHERE o.memory_id = memories.id
        AND NOT t.session_id IN (SELECT value FROM json_each(:sessions)))

-- name: requeue_sessions
-- Queue the sessions of these rows for learning again: their summaries may have to be written anew.
UPDATE sessions SET learned = 0 WHERE id IN (
    SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        OR id IN (SELECT turn_id FROM sources WHERE memory_id IN (SELECT value FROM json_each(:memories))))
