-- Tallies: what learning turned away, counted by reason and day.

-- name: add
INSERT INTO tally AS t (scope_id, day, reason, count)
SELECT %(scope)s, %(now)s::date, x.reason, x.count
FROM json_to_recordset(%(tally)s::json) AS x(reason text, count int)
ON CONFLICT (scope_id, day, reason) DO UPDATE SET count = t.count + excluded.count

-- name: all
SELECT day, reason, count FROM tally WHERE scope_id = %(scope)s ORDER BY day, reason

-- name: delete_all
DELETE FROM tally WHERE scope_id = %(scope)s
