-- Answers to requests that carried an idempotency key. `key` is a digest of it: callers may put anything into one.

-- name: claim
-- The first request with this key gets a row; a second waits here for the first to commit, and gets none.
INSERT INTO idempotency (scope_id, key, body, created_at)
VALUES (%(scope)s, %(key)s, %(body)s, %(now)s)
ON CONFLICT (scope_id, key) DO NOTHING
RETURNING true

-- name: take
-- As `claim`, for work that has its own transaction: a key that was left without an answer long ago is free again.
INSERT INTO idempotency AS i (scope_id, key, body, created_at)
VALUES (%(scope)s, %(key)s, %(body)s, %(now)s)
ON CONFLICT (scope_id, key) DO UPDATE SET created_at = %(now)s
    WHERE i.answer IS NULL AND i.body = %(body)s AND i.created_at < %(abandoned)s
RETURNING true

-- name: free
DELETE FROM idempotency WHERE scope_id = %(scope)s AND key = %(key)s AND answer IS NULL

-- name: leave
-- The work may have been carried out although it failed, for example at its commit: the next request with the key does
-- it at once, and knows that it is a repetition.
UPDATE idempotency SET created_at = %(abandoned)s
WHERE scope_id = %(scope)s AND key = %(key)s AND answer IS NULL

-- name: answered
SELECT body, answer FROM idempotency WHERE scope_id = %(scope)s AND key = %(key)s

-- name: answer
UPDATE idempotency SET answer = %(answer)s::jsonb WHERE scope_id = %(scope)s AND key = %(key)s

-- name: delete_one
-- The answers that speak of a conversation go with it: a repeated request must not be told of turns that are gone.
DELETE FROM idempotency i
USING conversation c
WHERE i.scope_id = %(scope)s AND c.scope_id = %(scope)s AND c.id = %(conversation)s
  AND (i.answer #>> '{conversation,id}' = c.id::text
       OR regexp_replace(i.answer ->> 'ref', '#[0-9]+$', '') = c.session_id)

-- name: delete_all
DELETE FROM idempotency WHERE scope_id = %(scope)s
