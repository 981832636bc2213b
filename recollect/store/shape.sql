-- Question shapes: what several users of a project ask alike.

-- name: ask
-- Notes who asked; how many have. More than a few need not be told apart.
INSERT INTO shape AS s (scope_id, digest, askers, updated_at)
VALUES (%(scope)s, %(digest)s, ARRAY[%(asker)s::uuid], %(now)s)
ON CONFLICT (scope_id, digest) DO UPDATE SET
    askers = CASE WHEN s.askers @> excluded.askers OR cardinality(s.askers) >= %(most)s THEN s.askers
                  ELSE s.askers || excluded.askers END,
    updated_at = excluded.updated_at
RETURNING cardinality(s.askers)

-- name: forget_asker
UPDATE shape
SET askers = array_remove(askers, %(asker)s::uuid)
WHERE scope_id = %(scope)s AND %(asker)s::uuid = ANY(askers)
