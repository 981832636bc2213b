-- Conversations: one per session of a user.

-- name: find
-- One conversation by the caller's session id; an expired one counts as gone.
SELECT id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at
FROM conversation
WHERE scope_id = %(scope)s AND session_id = %(session)s AND (expires_at IS NULL OR expires_at > %(now)s)

-- name: latest
-- The session a user was in last, if that is recent enough to go on with.
SELECT session_id
FROM conversation
WHERE scope_id = %(scope)s AND updated_at > %(since)s AND (expires_at IS NULL OR expires_at > %(now)s)
ORDER BY updated_at DESC
LIMIT 1

-- name: searchable
-- What recall may look into, how many turns each has, and how many of them were ever blanked.
SELECT id, session_id, turn_count, redactions
FROM conversation
WHERE scope_id = %(scope)s
  AND (expires_at IS NULL OR expires_at > %(now)s)
  AND (%(session)s::text IS NULL OR session_id = %(session)s)

-- name: searchable_of
-- The same for the conversations of some runs of turns.
SELECT c.id, c.session_id, c.turn_count, c.redactions
FROM (SELECT DISTINCT r.c FROM json_to_recordset(%(runs)s::json) AS r(c uuid)) r
JOIN conversation c ON c.scope_id = %(scope)s AND c.id = r.c
WHERE c.expires_at IS NULL OR c.expires_at > %(now)s

-- name: all
-- Every conversation of the scope, oldest first, for export.
SELECT id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at
FROM conversation
WHERE scope_id = %(scope)s
ORDER BY created_at, id

-- name: listed
-- A user's conversations, the last one first; of those that expired, none. With a host, only those with its turns.
SELECT id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at
FROM conversation c
WHERE c.scope_id = %(scope)s AND (expires_at IS NULL OR expires_at > %(now)s)
  AND (%(host)s::text IS NULL OR EXISTS (
    SELECT FROM turn t
    WHERE t.scope_id = %(scope)s AND t.conversation_id = c.id AND t.data ->> 'host' = %(host)s))
ORDER BY updated_at DESC, id DESC
LIMIT %(limit)s OFFSET %(offset)s

-- name: rename
UPDATE conversation SET name = %(name)s
WHERE scope_id = %(scope)s AND session_id = %(session)s AND (expires_at IS NULL OR expires_at > %(now)s)
RETURNING id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at

-- name: look_again
-- A turn of it was marked: it may need a vector.
UPDATE conversation SET due = true, embedded_model = 0 WHERE scope_id = %(scope)s AND session_id = %(session)s

-- name: lock
-- Locks the conversation against erasure while something is derived from it.
SELECT id FROM conversation WHERE scope_id = %(scope)s AND id = %(conversation)s FOR UPDATE

-- name: lock_one
-- Holds writers back while a conversation is erased.
SELECT id FROM conversation WHERE scope_id = %(scope)s AND session_id = %(session)s FOR UPDATE

-- name: lock_all
SELECT id FROM conversation WHERE scope_id = %(scope)s ORDER BY id FOR UPDATE

-- name: delete_one
DELETE FROM conversation WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: delete_all
DELETE FROM conversation WHERE scope_id = %(scope)s AND id = ANY(%(conversations)s)
