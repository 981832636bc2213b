-- Answers to requests that carried an idempotency key.

-- name: claim
-- The first request with this key gets a row; a second waits here for the first to commit, and gets none.
INSERT INTO idempotency (scope_id, key, body, created_at)
VALUES (%(scope)s, %(key)s, %(body)s, %(now)s)
ON CONFLICT (scope_id, key) DO NOTHING
RETURNING true

-- name: answered
SELECT body, answer FROM idempotency WHERE scope_id = %(scope)s AND key = %(key)s

-- name: answer
UPDATE idempotency SET answer = %(answer)s::jsonb WHERE scope_id = %(scope)s AND key = %(key)s

-- name: delete_one
-- The answers that speak of a conversation go with it: a repeated request must not be told of turns that are gone.
DELETE FROM idempotency WHERE scope_id = %(scope)s AND answer #>> '{conversation,id}' = %(conversation)s::uuid::text

-- name: delete_all
DELETE FROM idempotency WHERE scope_id = %(scope)s
