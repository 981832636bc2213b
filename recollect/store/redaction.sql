-- Redaction: a value is blanked; that it existed stays recorded.

-- name: words
-- Every wording of a memory.
SELECT DISTINCT value FROM evidence WHERE scope_id = %(scope)s AND memory_id = %(memory)s

-- name: turns
-- The turns that a memory rests on, and those that speak its value: an answer often repeats it.
SELECT t.conversation_id, c.session_id, t.turn_index, t.role, t.speaker, t.text, t.said_at, t.data, t.high_value,
       rests.is_so
FROM turn t
JOIN conversation c ON c.scope_id = %(scope)s AND c.id = t.conversation_id
CROSS JOIN LATERAL (
    SELECT EXISTS (SELECT FROM evidence e WHERE e.scope_id = %(scope)s AND e.memory_id = %(memory)s
                   AND e.conversation_id = t.conversation_id AND e.turn_index = t.turn_index) AS is_so) rests
WHERE t.scope_id = %(scope)s
  AND (rests.is_so OR t.text ~* %(pattern)s OR t.data::text ~* %(pattern)s OR t.speaker ~* %(pattern)s)
ORDER BY t.conversation_id, t.turn_index

-- name: keys
-- What has to be made anew: the keys under which the value is kept.
SELECT DISTINCT key FROM evidence
WHERE scope_id = %(scope)s
  AND (memory_id = %(memory)s OR value ~* %(pattern)s OR old ~* %(pattern)s OR data::text ~* %(pattern)s)

-- name: drop_evidence
-- What was turned away and has the value; and of one memory what would be the same without its words.
DELETE FROM evidence e
WHERE e.scope_id = %(scope)s
  AND ((e.memory_id IS NULL AND e.act = 'says' AND e.value ~* %(pattern)s)
       OR (e.memory_id = %(memory)s AND EXISTS (
               SELECT FROM evidence o
               WHERE o.scope_id = %(scope)s AND o.memory_id = e.memory_id AND o.id < e.id AND o.act = e.act
                 AND (o.kind, o.key, o.conversation_id, o.turn_index)
                   = (e.kind, e.key, e.conversation_id, e.turn_index))))

-- name: blank_evidence
-- The memory's own loses its value, any other what it has of it. That it was said, and when, stays.
UPDATE evidence
SET value = CASE WHEN memory_id = %(memory)s THEN %(mark)s ELSE regexp_replace(value, %(pattern)s, %(mark)s, 'gi') END,
    data = CASE WHEN memory_id = %(memory)s THEN %(data)s::jsonb
                WHEN data::text ~* %(pattern)s THEN NULL
                ELSE data END,
    old = regexp_replace(old, %(pattern)s, %(mark)s, 'gi')
WHERE scope_id = %(scope)s
  AND (memory_id = %(memory)s OR value ~* %(pattern)s OR old ~* %(pattern)s OR data::text ~* %(pattern)s)

-- name: forget_old
-- Corrections of what was erased no longer say what they corrected.
UPDATE evidence SET old = %(mark)s WHERE scope_id = %(scope)s AND id = ANY(%(evidence)s)

-- name: forget_evidence
DELETE FROM evidence WHERE scope_id = %(scope)s AND id = ANY(%(evidence)s)

-- name: take_turn
-- The log has no UPDATE: a turn is taken out and put back without the value.
DELETE FROM turn
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND turn_index = %(index)s

-- name: put_turn
INSERT INTO turn (scope_id, conversation_id, turn_index, role, speaker, text, said_at, recorded_at, data, high_value)
VALUES (%(scope)s, %(conversation)s, %(index)s, %(role)s, %(speaker)s, %(text)s, %(said_at)s, %(now)s, NULL,
        %(high_value)s)

-- name: sketch
UPDATE sketch
SET flags = %(flags)s, tokens = %(tokens)s, length = %(length)s, terms = %(terms)s::tsvector
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND turn_index = %(index)s

-- name: vectors
DELETE FROM embedding
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND turn_index = %(index)s

-- name: episodes
-- An episode that covers a turn, and those after it, are made anew.
DELETE FROM episode
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND last_turn >= %(index)s

-- name: chapters
DELETE FROM chapter WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: requests
-- Questions that contain the value.
DELETE FROM request
WHERE scope_id = %(scope)s AND (query ~* %(pattern)s OR trace::text ~* %(pattern)s)

-- name: answers
-- An answer that is kept for a repeated request tells the name of its conversation.
UPDATE idempotency SET answer = jsonb_set(answer, '{conversation,name}', to_jsonb(%(name)s::text))
WHERE scope_id = %(scope)s AND answer #>> '{conversation,id}' = %(conversation)s::uuid::text
  AND (answer #>> '{conversation,name}' = %(old_name)s OR answer #>> '{conversation,name}' ~* %(pattern)s)

-- name: again
-- The worker has to look at the conversation again: vectors, episodes and chapters are missing. A conversation that was
-- called by the turn gets its new name.
UPDATE conversation c
SET due = true, embedded_model = 0, chaptered_turns = 0, lease_until = NULL, redactions = redactions + 1,
    name = CASE WHEN name = %(old_name)s THEN %(name)s ELSE regexp_replace(name, %(pattern)s, %(mark)s, 'gi') END,
    episode_turns = coalesce((SELECT max(e.last_turn) + 1 FROM episode e
                              WHERE e.scope_id = %(scope)s AND e.conversation_id = %(conversation)s), 0)
WHERE c.scope_id = %(scope)s AND c.id = %(conversation)s
