-- Upkeep: what has expired, is old, idle or too much. The `find_` functions give away ids of scopes (migration 0003).

-- name: find_expired
SELECT scope_id FROM find_expired(%(now)s, %(after)s, %(most)s)

-- name: find_old_requests
SELECT scope_id FROM find_old_requests(%(before)s, %(after)s, %(most)s)

-- name: find_old_keys
SELECT scope_id FROM find_old_keys(%(before)s, %(after)s, %(most)s)

-- name: find_memories
SELECT scope_id
FROM find_upkeep(%(user_idle)s, %(project_idle)s, %(forgotten)s, %(below)s, %(ended)s, %(minor)s, %(minor_most)s,
                 %(after)s, %(most)s)

-- name: expired
-- The expired conversations of a scope, and whether something was still to be learned from each.
SELECT id, due
FROM conversation
WHERE scope_id = %(scope)s AND expires_at <= %(now)s AND id > %(after)s
ORDER BY id
LIMIT %(limit)s

-- name: lock_expired
-- Looked at again under its lock: a message that came meanwhile has given it a new end.
SELECT id FROM conversation
WHERE scope_id = %(scope)s AND id = %(conversation)s AND expires_at <= %(now)s
FOR UPDATE

-- name: drop_requests
WITH gone AS (
    DELETE FROM request r
    WHERE r.scope_id = %(scope)s AND r.id IN (
        SELECT o.id FROM request o
        WHERE o.scope_id = %(scope)s AND o.created_at < %(before)s
        ORDER BY o.created_at
        LIMIT %(limit)s)
    RETURNING 1)
SELECT count(*) FROM gone

-- name: drop_keys
WITH gone AS (
    DELETE FROM idempotency i
    WHERE i.scope_id = %(scope)s AND i.key IN (
        SELECT o.key FROM idempotency o
        WHERE o.scope_id = %(scope)s AND o.created_at < %(before)s
        ORDER BY o.key
        LIMIT %(limit)s)
    RETURNING 1)
SELECT count(*) FROM gone

-- name: hold
-- Holds learners back while memories fade, and lets those that read before find out. Whether it is a project's memory.
UPDATE holder SET version = version + 1 WHERE scope_id = %(scope)s RETURNING user_id IS NULL

-- name: idle
-- A memory that somebody uses or changes at this moment is not idle: it is skipped rather than waited for.
SELECT id, kind, key, status, confidence, decayed, greatest(last_used_at, updated_at), last_decayed_at
FROM memory
WHERE scope_id = %(scope)s AND status = 'active' AND id > %(after)s
  AND greatest(last_used_at, updated_at) <= %(idle)s
ORDER BY id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

-- name: decay
UPDATE memory m SET decayed = x.decayed, last_decayed_at = x.at
FROM json_to_recordset(%(faded)s::json) AS x(id uuid, decayed float8, at timestamptz)
WHERE m.scope_id = %(scope)s AND m.id = x.id

-- name: ended
-- History that has had its time.
SELECT id, kind, key, status
FROM memory
WHERE scope_id = %(scope)s AND status IN ('superseded', 'retracted') AND coalesce(valid_to, updated_at) <= %(ended)s
ORDER BY id
LIMIT %(limit)s
FOR UPDATE SKIP LOCKED

-- name: crowding
-- Minor memories beyond the most that are kept: the least important first, then the oldest. Items of a program are no
-- such memories: it counts on them until it deletes them.
SELECT m.id, m.kind, m.key, m.status
FROM memory m
WHERE m.scope_id = %(scope)s AND m.id IN (
    SELECT k.id FROM memory k
    WHERE k.scope_id = %(scope)s AND k.status = 'active' AND k.importance < %(minor)s
      AND NOT starts_with(k.key, 'item:')
    ORDER BY k.importance DESC, k.valid_from DESC, k.id DESC
    LIMIT %(limit)s OFFSET %(minor_most)s)
FOR UPDATE SKIP LOCKED

-- name: with_earlier
-- Memories with those they took the place of: (memory, itself or an earlier one).
WITH RECURSIVE earlier AS (
    SELECT m.id AS root, m.id FROM memory m WHERE m.scope_id = %(scope)s AND m.id = ANY(%(memories)s)
    UNION
    SELECT e.root, o.id FROM earlier e JOIN memory o ON o.scope_id = %(scope)s AND o.replaced_by = e.id)
SELECT root, id FROM earlier ORDER BY root, id

-- name: drop_evidence
-- With what was said about the same keys and was less sure than what is now gone: it must not come true by that.
DELETE FROM evidence
WHERE scope_id = %(scope)s
  AND (memory_id = ANY(%(memories)s) OR (memory_id IS NULL AND act = 'says' AND key = ANY(%(keys)s)))
RETURNING memory_id, key

-- name: take_errand
-- Of several that would do it, one gets it; if that one is lost, it is due again at `until`.
INSERT INTO errand AS e (name, due_at) VALUES (%(name)s, %(until)s)
ON CONFLICT (name) DO UPDATE SET due_at = %(until)s WHERE e.due_at <= %(now)s
RETURNING true

-- name: finish_errand
INSERT INTO errand AS e (name, due_at) VALUES (%(name)s, %(next)s)
ON CONFLICT (name) DO UPDATE SET due_at = %(next)s
