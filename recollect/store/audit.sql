-- The audit log: who changed or erased what, and when, without content.

-- name: add
INSERT INTO audit (scope_id, id, at, actor, action, subject, detail)
SELECT %(scope)s, x.id, %(now)s, x.actor, x.action, x.subject, x.detail
FROM json_to_recordset(%(audit)s::json) AS x(id uuid, actor text, action text, subject text, detail jsonb)

-- name: forget_actor
-- What somebody did stays in the log; who it was does not.
UPDATE audit SET actor = %(pseudonym)s WHERE scope_id = %(scope)s AND actor = %(user)s

-- name: all
SELECT id, at, actor, action, subject, detail FROM audit WHERE scope_id = %(scope)s ORDER BY at, id
