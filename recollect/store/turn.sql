-- Turns: the log. Inserted and, when a person asks for it, deleted; never updated.

-- name: append
-- Some turns with all that is derived from them, in one call that opens its scope itself (migration 0021).
SELECT id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at
FROM append_turns(%(scope)s, %(conversation)s, %(project)s, %(user)s, %(session)s, %(name)s, %(count)s,
                  %(interactions)s, %(now)s, %(expires)s, %(embedded_model)s::smallint, %(turns)s::json,
                  %(model)s::smallint, %(vectors)s::halfvec[])

-- name: recent
-- The last turns of a conversation, newest first: read from the end of its key, no further than asked. A join would read
-- and sort them all.
SELECT %(session)s::text, t.turn_index, t.role, t.speaker, t.text, t.said_at, t.data, t.high_value
FROM turn t
WHERE t.scope_id = %(scope)s
  AND t.conversation_id = (
      SELECT c.id FROM conversation c
      WHERE c.scope_id = %(scope)s AND c.session_id = %(session)s AND (c.expires_at IS NULL OR c.expires_at > %(now)s))
  AND (%(before)s::int IS NULL OR t.turn_index < %(before)s)
ORDER BY t.turn_index DESC
LIMIT %(limit)s

-- name: window
-- As `recent`, for a caller with cached turns up to `last`: the later ones only, if the cached ones are valid (`holds`): of this
-- conversation, nothing was blanked since, and the last one is the same. In one statement, or a write could come between
-- the look and the reading. Where there is no later turn there is still a row.
SELECT c.id, c.redactions, k.holds, c.session_id, t.turn_index, t.role, t.speaker, t.text, t.said_at, t.data,
       t.high_value
FROM conversation c
CROSS JOIN LATERAL (
    SELECT c.id = %(known)s::uuid AND c.redactions = %(redactions)s::int AND EXISTS (
               SELECT FROM turn l
               WHERE l.scope_id = %(scope)s AND l.conversation_id = c.id AND l.turn_index = %(last)s::int
                 AND l.said_at = %(at)s::timestamptz) AS holds) k
LEFT JOIN LATERAL (
    SELECT * FROM turn t
    WHERE t.scope_id = %(scope)s AND t.conversation_id = c.id
      AND t.turn_index > CASE WHEN k.holds THEN %(last)s::int ELSE -1 END
    ORDER BY t.turn_index DESC
    LIMIT %(limit)s) t ON true
WHERE c.scope_id = %(scope)s AND c.session_id = %(session)s AND (c.expires_at IS NULL OR c.expires_at > %(now)s)
ORDER BY t.turn_index DESC

-- name: of_conversation
-- One conversation's turns from an index on, for export and for derived work.
SELECT turn_index, role, speaker, text, said_at, data, high_value
FROM turn
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND turn_index >= %(from)s
ORDER BY turn_index
LIMIT %(limit)s

-- name: chosen
-- The turns that recall chose, by position, in its order. Of an extremely long turn only the beginning is read.
SELECT c.session_id, t.turn_index, t.role, t.speaker, left(t.text, %(most_chars)s) AS text, t.said_at, t.data,
       t.high_value
FROM json_to_recordset(%(keys)s::json) AS k(n int, c uuid, i int)
JOIN turn t ON t.scope_id = %(scope)s AND t.conversation_id = k.c AND t.turn_index = k.i
JOIN conversation c ON c.scope_id = %(scope)s AND c.id = k.c
ORDER BY k.n

-- name: delete_one
DELETE FROM turn WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM turn WHERE scope_id = %(scope)s AND conversation_id = ANY(%(conversations)s)
