-- Episodes: summaries of runs of turns.

-- name: put
-- The same range again changes nothing: whoever was first made it.
INSERT INTO episode
    (scope_id, conversation_id, first_turn, last_turn, id, session_id, summary, structure, learned_by, model, tokens,
     said_from, said_to, terms, vector, model_id, created_at, model_ms)
VALUES
    (%(scope)s, %(conversation)s, %(first)s, %(last)s, %(id)s, %(session)s, %(summary)s, %(structure)s::jsonb,
     %(learned_by)s, %(model)s, %(tokens)s, %(said_from)s, %(said_to)s, %(terms)s::tsvector,
     (%(vector)s::halfvec[])[1], %(model_id)s, %(now)s, %(model_ms)s)
ON CONFLICT DO NOTHING

-- name: score
-- The episodes nearest to a question, by meaning where they have a vector of the model that is asked for, and those that
-- share a word with it; each with the lexemes of the question that it has.
SELECT x.id, x.session_id, x.first_turn, x.last_turn, x.summary, x.structure, x.learned_by, x.model, x.tokens,
       x.said_from, x.said_to, x.created_at, x.cosine,
       (SELECT array_agg(l) FROM unnest(tsvector_to_array(x.terms)) l WHERE l = ANY(%(lexemes)s::text[])) AS shared
FROM (
SELECT e.*, CASE WHEN e.model_id = %(model)s THEN -(e.vector <#> (%(vector)s::halfvec[])[1]) END AS cosine
FROM episode e
WHERE e.scope_id = %(scope)s
  AND (%(session)s::text IS NULL OR e.session_id = %(session)s)
  AND (%(as_of)s::timestamptz IS NULL OR e.said_to <= %(as_of)s)
  AND (e.terms @@ %(words)s::tsquery OR (e.model_id = %(model)s AND e.vector IS NOT NULL))
ORDER BY coalesce(CASE WHEN e.model_id = %(model)s THEN -(e.vector <#> (%(vector)s::halfvec[])[1]) END, 0)
         + ts_rank('{1,1,1,1}', e.terms, %(words)s::tsquery) DESC
LIMIT %(limit)s) x

-- name: missing
-- Episodes of a conversation without a vector of the current model.
SELECT id, session_id, first_turn, last_turn, summary, structure, learned_by, model, tokens, said_from, said_to,
       created_at
FROM episode
WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s AND model_id <> %(model)s
ORDER BY first_turn
LIMIT %(limit)s

-- name: embed
UPDATE episode e SET vector = (%(vectors)s::halfvec[])[x.v], model_id = %(model)s
FROM json_to_recordset(%(places)s::json) AS x(first int, v int)
WHERE e.scope_id = %(scope)s AND e.conversation_id = %(conversation)s AND e.first_turn = x.first

-- name: list
SELECT id, session_id, first_turn, last_turn, summary, structure, learned_by, model, tokens, said_from, said_to,
       created_at
FROM episode
WHERE scope_id = %(scope)s AND (%(session)s::text IS NULL OR session_id = %(session)s)
ORDER BY said_from, session_id, first_turn
LIMIT %(limit)s

-- name: first
-- Whether a session has any.
SELECT first_turn FROM episode WHERE scope_id = %(scope)s AND session_id = %(session)s LIMIT 1

-- name: delete_one
DELETE FROM episode WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM episode WHERE scope_id = %(scope)s
