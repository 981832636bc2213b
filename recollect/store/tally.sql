-- Tallies: what learning turned away, counted by reason and day.

-- name: add
-- One reason: what was only turned away has no other row in the scope to join many with.
INSERT INTO tally AS t (scope_id, day, reason, count)
VALUES (%(scope)s, %(now)s::date, %(reason)s, %(count)s)
ON CONFLICT (scope_id, day, reason) DO UPDATE SET count = t.count + excluded.count

-- name: all
SELECT day, reason, count FROM tally WHERE scope_id = %(scope)s ORDER BY day, reason

-- name: delete_all
DELETE FROM tally WHERE scope_id = %(scope)s
