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
-- What recall may look into, and how many turns each has.
SELECT id, session_id, turn_count
FROM conversation
WHERE scope_id = %(scope)s
  AND (expires_at IS NULL OR expires_at > %(now)s)
  AND (%(session)s::text IS NULL OR session_id = %(session)s)

-- name: searchable_of
-- The same for the conversations of some runs of turns.
SELECT c.id, c.session_id
FROM (SELECT DISTINCT r.c FROM json_to_recordset(%(runs)s::json) AS r(c uuid)) r
JOIN conversation c ON c.scope_id = %(scope)s AND c.id = r.c
WHERE c.expires_at IS NULL OR c.expires_at > %(now)s

-- name: all
-- Every conversation of the scope, oldest first, for export.
SELECT id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at
FROM conversation
WHERE scope_id = %(scope)s
ORDER BY created_at, id

-- name: reserve
-- Takes `count` indexes at the end of a conversation, and makes the conversation if there is none. The row lock that
-- this takes is what orders concurrent writers.
INSERT INTO conversation AS c
    (scope_id, id, project, user_id, session_id, name, turn_count, interaction_count,
     created_at, updated_at, expires_at, embedded_model)
VALUES
    (%(scope)s, %(conversation)s, %(project)s, %(user)s, %(session)s, %(name)s, %(count)s, %(interactions)s,
     %(now)s, %(now)s, %(expires)s, %(embedded_model)s)
ON CONFLICT (scope_id, session_id) DO UPDATE SET
    turn_count = c.turn_count + %(count)s,
    interaction_count = c.interaction_count + %(interactions)s,
    updated_at = greatest(c.updated_at, %(now)s),
    expires_at = %(expires)s,
    embedded_model = CASE WHEN c.embedded_model = %(embedded_model)s THEN c.embedded_model ELSE 0 END
RETURNING id, session_id, name, turn_count, interaction_count, created_at, updated_at, expires_at

-- name: claim
-- Compare and set: of several workers that saw the same work, one gets the lease, and nobody after it is done.
UPDATE conversation
SET lease_until = %(until)s, attempts = attempts + 1
WHERE scope_id = %(scope)s AND id = %(conversation)s AND (lease_until IS NULL OR lease_until < %(now)s)
  AND embedded_model <> %(model)s
RETURNING attempts, turn_count

-- name: release
-- The work is done up to `turn_count`; if the log has grown meanwhile, it is work again.
UPDATE conversation
SET lease_until = NULL, attempts = 0, last_error = NULL,
    -- Chapters carry the mean of the old vectors: they are written anew.
    chaptered_turns = CASE WHEN embedded_model = %(model)s THEN chaptered_turns ELSE 0 END,
    embedded_model = CASE WHEN turn_count = %(turn_count)s THEN %(model)s ELSE 0 END
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: postpone
-- The work failed: leave it alone until `until`, and keep the reason.
UPDATE conversation
SET lease_until = %(until)s, last_error = %(error)s
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: lock
-- Holds back whoever would erase a conversation while something is derived from it.
SELECT FROM conversation WHERE scope_id = %(scope)s AND id = %(conversation)s FOR UPDATE

-- name: lock_one
-- Holds writers back while a conversation is erased.
SELECT id FROM conversation WHERE scope_id = %(scope)s AND session_id = %(session)s FOR UPDATE

-- name: lock_all
SELECT id FROM conversation WHERE scope_id = %(scope)s ORDER BY id FOR UPDATE

-- name: delete_one
DELETE FROM conversation WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: delete_all
DELETE FROM conversation WHERE scope_id = %(scope)s AND id = ANY(%(conversations)s)
