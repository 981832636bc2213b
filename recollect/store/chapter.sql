-- Chapters: runs of turns of a large scope, each searched as one document.

-- name: score
-- Both arms over the chapters of a giant scope, packed into one value (the layout is `CHAPTER` in store/wire_format.py).
-- A chapter's vector counts only if it is of the model that is asked for; NaN: it has none.
SELECT string_agg(
           uuid_send(h.conversation_id)
           || int4send(h.first_turn)
           || int4send(h.last_turn)
           || int4send(h.length)
           || float4send(coalesce(CASE WHEN h.model_id = %(model)s
                                       THEN -(h.vector <#> (%(vector)s::halfvec[])[1]) END, 'NaN')::float4)
           || coalesce((SELECT string_agg(float4send(ts_rank('{1,1,1,1}', h.terms, q)), '')
                        FROM unnest(%(terms)s::text[]::tsquery[]) q), ''),
           ''::bytea) AS records
FROM chapter h
WHERE h.scope_id = %(scope)s
  AND (%(session)s::text IS NULL OR h.conversation_id = (
          SELECT c.id FROM conversation c WHERE c.scope_id = %(scope)s AND c.session_id = %(session)s))

-- name: uncovered
-- Runs of turns that no chapter covers: (conversation, first, last).
SELECT id, chaptered_turns, turn_count - 1
FROM conversation
WHERE scope_id = %(scope)s AND chaptered_turns < turn_count
  AND (%(session)s::text IS NULL OR session_id = %(session)s)

-- name: unfinished
SELECT id FROM conversation WHERE scope_id = %(scope)s AND chaptered_turns < turn_count ORDER BY id

-- name: drop_last
-- The last chapter may have been short: it is written anew.
DELETE FROM chapter h USING conversation c
WHERE h.scope_id = %(scope)s AND h.conversation_id = %(conversation)s
  AND c.scope_id = %(scope)s AND c.id = %(conversation)s
  AND h.first_turn >= c.chaptered_turns / %(turns)s * %(turns)s

-- name: write
INSERT INTO chapter (scope_id, conversation_id, first_turn, last_turn, length, terms, model_id)
SELECT c.scope_id, c.id, min(s.turn_index), max(s.turn_index), sum(s.length), tsvector_sum(s.terms), c.embedded_model
FROM conversation c
JOIN sketch s ON s.scope_id = %(scope)s AND s.conversation_id = %(conversation)s
             AND s.turn_index >= c.chaptered_turns / %(turns)s * %(turns)s AND s.turn_index < c.turn_count
WHERE c.scope_id = %(scope)s AND c.id = %(conversation)s
GROUP BY c.scope_id, c.id, s.turn_index / %(turns)s, c.embedded_model

-- name: embed
-- The mean vector of each chapter that was just written. Not part of `write`: an outer join there leads to no shard.
UPDATE chapter h
SET vector = (SELECT avg(e.vector) FROM embedding e
              WHERE e.scope_id = %(scope)s AND e.model_id = h.model_id AND e.conversation_id = %(conversation)s
                AND e.turn_index BETWEEN h.first_turn AND h.last_turn)
FROM conversation c
WHERE h.scope_id = %(scope)s AND h.conversation_id = %(conversation)s
  AND c.scope_id = %(scope)s AND c.id = %(conversation)s
  AND h.first_turn >= c.chaptered_turns / %(turns)s * %(turns)s

-- name: finish
UPDATE conversation SET chaptered_turns = turn_count WHERE scope_id = %(scope)s AND id = %(conversation)s

-- name: delete_one
DELETE FROM chapter WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM chapter WHERE scope_id = %(scope)s AND conversation_id = ANY(%(conversations)s)
