-- Work: conversations whose log is ahead of something that is derived from it.

-- name: find
-- Of any scope; ids only. Unlocked: another worker may see the same.
SELECT DISTINCT scope_id, conversation_id FROM find_work(%(model)s, %(most)s)

-- name: of_scope
-- The work of one scope, whoever has a lease on it: for a caller who waits until all is done.
SELECT id
FROM conversation
WHERE scope_id = %(scope)s AND (due OR embedded_model <> coalesce(%(model)s, embedded_model))
ORDER BY created_at, id

-- name: claim
-- Compare and set: of several workers that saw the same work, one gets the lease, and nobody after it is done.
UPDATE conversation
SET lease_until = %(until)s, attempts = least(attempts + 1, 1000)
WHERE scope_id = %(scope)s AND id = %(conversation)s AND (lease_until IS NULL OR lease_until < %(now)s)
  AND (due OR (parked <> '{}' AND (retry_at IS NULL OR retry_at < %(now)s))
       OR embedded_model <> coalesce(%(model)s, embedded_model))
RETURNING id, project, user_id, session_id, turn_count, learned_turns, reasoned_turns, episode_turns, embedded_model,
          CASE WHEN retry_at > %(now)s THEN parked ELSE '{}' END AS resting, attempts

-- name: unread
-- The turns that the rules have not read yet; sent along with the claim.
SELECT t.turn_index, t.role, t.speaker, t.text, t.said_at, t.data, t.high_value
FROM turn t
WHERE t.scope_id = %(scope)s AND t.conversation_id = %(conversation)s
  AND t.turn_index >= (SELECT c.learned_turns FROM conversation c
                       WHERE c.scope_id = %(scope)s AND c.id = %(conversation)s)
ORDER BY t.turn_index
LIMIT %(limit)s

-- name: between
SELECT turn_index, role, speaker, text, said_at, data, high_value
FROM turn
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND turn_index BETWEEN %(first)s AND %(last)s
ORDER BY turn_index

-- name: advance
-- The positions move in the transaction that writes what was learned, and only from where the reader found them.
WITH moved AS (
    UPDATE conversation
    SET learned_turns = %(learned)s, reasoned_turns = %(reasoned)s, episode_turns = %(episodes)s
    WHERE scope_id = %(scope)s AND id = %(conversation)s
      AND learned_turns = %(learned_before)s AND reasoned_turns = %(reasoned_before)s
      AND episode_turns = %(episodes_before)s
    RETURNING 1)
SELECT insist(EXISTS (SELECT FROM moved))

-- name: release
-- All is done up to `turn_count`; if the log has grown meanwhile, it is work again. Where a parked stage rests, its error
-- and its next try stay.
UPDATE conversation
SET lease_until = NULL, due = turn_count <> %(turn_count)s,
    attempts = CASE WHEN %(rests)s THEN attempts ELSE 0 END,
    last_error = CASE WHEN %(rests)s THEN last_error END,
    failed_at = CASE WHEN %(rests)s THEN failed_at END,
    retry_at = CASE WHEN %(rests)s THEN retry_at END,
    parked = CASE WHEN %(rests)s THEN parked ELSE '{}' END,
    -- Chapters carry the mean of the old vectors: they are written anew.
    chaptered_turns = CASE WHEN embedded_model = coalesce(%(model)s, embedded_model) THEN chaptered_turns ELSE 0 END,
    embedded_model = CASE WHEN turn_count = %(turn_count)s THEN coalesce(%(model)s, embedded_model) ELSE 0 END
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: postpone
-- A stage failed: the conversation is left alone until `until`, and the reason kept.
UPDATE conversation
SET lease_until = %(until)s, last_error = %(error)s, failed_at = %(now)s, attempts = %(attempts)s
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: let_go
-- Whoever had the lease was told to stop: the next one need not wait for it to run out.
UPDATE conversation SET lease_until = NULL, attempts = greatest(attempts - 1, 0)
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: park
-- Stages failed too often: they rest until `retry_at`, and what else there is to do for the conversation goes on.
UPDATE conversation
SET lease_until = NULL, last_error = %(error)s, failed_at = %(now)s, parked = %(parked)s, retry_at = %(retry_at)s,
    due = turn_count <> %(turn_count)s
WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: wake
-- Parked work is tried again at once; an empty stage means any.
SELECT wake_parked(%(stage)s)

-- name: status
SELECT due, leased, failing, parked, oldest FROM work_status()

-- name: troubles
SELECT scope_id, conversation_id, attempts, parked, failed_at, next_try, error FROM work_troubles(%(most)s)
