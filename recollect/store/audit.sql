-- The trail: who changed or erased what, when. Never what it said.

-- name: add
INSERT INTO audit (scope_id, id, at, actor, action, subject, detail)
SELECT %(scope)s, x.id, %(now)s, x.actor, x.action, x.subject, x.detail
FROM json_to_recordset(%(audit)s::json) AS x(id uuid, actor text, action text, subject text, detail jsonb)

-- name: all
SELECT id, at, actor, action, subject, detail FROM audit WHERE scope_id = %(scope)s ORDER BY at, id
