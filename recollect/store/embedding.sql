-- Vectors, kept per model.

-- name: model
-- The id of a model; the same for everybody who names it.
SELECT id FROM embedding_model WHERE name = %(name)s AND dimension = %(dimension)s

-- name: add_model
SELECT add_model(%(name)s, %(dimension)s)

-- name: score
-- The vector arm over a whole scope (or one conversation): an exact scan by its key, packed like sketch.score. Kept apart
-- from the words arm because a planner without statistics joins the two by conversation, which is quadratic.
SELECT e.conversation_id, string_agg(
           int4send(e.turn_index) || float4send((-(e.vector <#> (%(vector)s::halfvec[])[1]))::float4), ''::bytea) AS records
FROM embedding e
WHERE e.scope_id = %(scope)s AND e.model_id = %(model)s
  AND (%(session)s::text IS NULL OR e.conversation_id = (
          SELECT c.id FROM conversation c WHERE c.scope_id = %(scope)s AND c.session_id = %(session)s))
  AND %(most)s >= (SELECT sum(g.turn_count) FROM conversation g
                   WHERE g.scope_id = %(scope)s AND (%(session)s::text IS NULL OR g.session_id = %(session)s)
                     AND (g.expires_at IS NULL OR g.expires_at > %(now)s))
GROUP BY e.conversation_id

-- name: score_within
SELECT e.conversation_id, string_agg(
           int4send(e.turn_index) || float4send((-(e.vector <#> (%(vector)s::halfvec[])[1]))::float4), ''::bytea) AS records
FROM json_to_recordset(%(runs)s::json) AS r(c uuid, first int, last int)
CROSS JOIN LATERAL (
    SELECT * FROM embedding k
    WHERE k.scope_id = %(scope)s AND k.model_id = %(model)s
      AND k.conversation_id = r.c AND k.turn_index BETWEEN r.first AND r.last
    OFFSET 0) e
GROUP BY e.conversation_id

-- name: nothing
-- In the place of the vector arm when the question has no vector.
SELECT NULL::uuid, NULL::bytea WHERE false

-- name: missing
-- The turns of a conversation that have no vector of this model yet.
SELECT t.turn_index, t.role, t.speaker, t.text, t.said_at, t.data, t.high_value
FROM turn t
WHERE t.scope_id = %(scope)s AND t.conversation_id = %(conversation)s
  AND (NOT %(high_value)s OR EXISTS (
      SELECT FROM sketch s
      WHERE s.scope_id = %(scope)s AND s.conversation_id = %(conversation)s AND s.turn_index = t.turn_index
        AND s.flags & %(flag)s::smallint <> 0))
  AND NOT EXISTS (
      SELECT FROM embedding e
      WHERE e.scope_id = %(scope)s AND e.model_id = %(model)s AND e.conversation_id = %(conversation)s
        AND e.turn_index = t.turn_index)
ORDER BY t.turn_index
LIMIT %(limit)s

-- name: add
INSERT INTO embedding (scope_id, model_id, conversation_id, turn_index, vector)
SELECT t.scope_id, %(model)s, t.conversation_id, t.turn_index, (%(vectors)s::halfvec[])[x.v]
FROM turn t
JOIN json_to_recordset(%(places)s::json) AS x(i int, v int) ON x.i = t.turn_index
WHERE t.scope_id = %(scope)s AND t.conversation_id = %(conversation)s
ON CONFLICT DO NOTHING

-- name: delete_one
DELETE FROM embedding WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM embedding WHERE scope_id = %(scope)s AND conversation_id = ANY(%(conversations)s)
