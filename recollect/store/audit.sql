-- The audit log: who changed or erased what, and when, without content.

-- name: add
-- One entry: there may be no other row of the scope to join many with.
INSERT INTO audit (scope_id, id, at, actor, action, subject, detail)
VALUES (%(scope)s, %(id)s, %(now)s, %(actor)s, %(action)s, %(subject)s, %(detail)s::jsonb)

-- name: add_all
-- Many entries, of a scope that has a holder.
INSERT INTO audit (scope_id, id, at, actor, action, subject, detail)
SELECT h.scope_id, x.id, %(now)s, x.actor, x.action, x.subject, x.detail
FROM holder h
CROSS JOIN json_to_recordset(%(audit)s::json) AS x(id uuid, actor text, action text, subject text, detail jsonb)
WHERE h.scope_id = %(scope)s

-- name: forget_actor
-- What somebody did stays in the log; who it was does not.
UPDATE audit SET actor = %(pseudonym)s WHERE scope_id = %(scope)s AND actor = %(user)s

-- name: all
SELECT id, at, actor, action, subject, detail FROM audit WHERE scope_id = %(scope)s ORDER BY at, id
