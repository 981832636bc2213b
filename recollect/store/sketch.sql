-- Sketches: every turn of a scope as recall sees it. The arms are here.

-- name: size
-- How much there is to search, and how much of it no chapter covers.
SELECT coalesce(sum(turn_count), 0)::int, coalesce(sum(turn_count - chaptered_turns), 0)::int
FROM conversation
WHERE scope_id = %(scope)s AND (%(session)s::text IS NULL OR session_id = %(session)s)

-- name: score
-- The lexical and the vector arm over the whole scope in one pass. Each turn travels as one packed record (the layout
-- is `RECORD` in store/candidates.py), one row per conversation: the client reads thousands of turns without
-- making a Python object for any. The frequency of a lexeme is folded into ts_rank, the only function that finds it
-- without unnesting the vector (three times cheaper); model/bm25.py unfolds it. NaN: the turn has no vector.
SELECT c.id, c.session_id, string_agg(
           int4send(s.turn_index)
           || int4send(s.tokens)
           || int4send(s.length)
           || int2send(s.flags)
           || int2send(least(length(s.terms), 32767)::smallint)
           || int4send(s.speaker_key)
           || float8send(extract(epoch FROM s.said_at)::float8)
           || float4send(coalesce(-(e.vector <#> (%(vector)s::halfvec[])[1]), 'NaN')::float4)
           || coalesce((SELECT string_agg(float4send(ts_rank('{1,1,1,1}', s.terms, q)), '')
                        FROM unnest(%(terms)s::text[]::tsquery[]) q), ''),
           ''::bytea ORDER BY s.turn_index) AS records
FROM conversation c
JOIN sketch s ON s.scope_id = %(scope)s AND s.conversation_id = c.id
LEFT JOIN embedding e ON e.scope_id = %(scope)s AND e.model_id = %(model)s
                     AND e.conversation_id = s.conversation_id AND e.turn_index = s.turn_index
WHERE c.scope_id = %(scope)s
  -- Evaluated once: a giant scope is not touched here but searched by chapter.
  AND %(most)s >= (SELECT sum(g.turn_count) FROM conversation g
                   WHERE g.scope_id = %(scope)s AND (%(session)s::text IS NULL OR g.session_id = %(session)s))
  AND (c.expires_at IS NULL OR c.expires_at > %(now)s)
  AND (%(session)s::text IS NULL OR c.session_id = %(session)s)
  AND (%(as_of)s::timestamptz IS NULL OR s.said_at <= %(as_of)s)
GROUP BY c.id, c.session_id

-- name: score_within
-- As `score`, within some chapters and whatever no chapter covers yet.
WITH reach AS MATERIALIZED (
    SELECT r.c, r.first, r.last FROM json_to_recordset(%(chapters)s::json) AS r(c uuid, first int, last int)
    UNION ALL
    SELECT t.id, t.chaptered_turns, t.turn_count FROM conversation t
    WHERE t.scope_id = %(scope)s AND t.chaptered_turns < t.turn_count
      AND (%(session)s::text IS NULL OR t.session_id = %(session)s)
)
SELECT c.id, c.session_id, string_agg(
           int4send(s.turn_index)
           || int4send(s.tokens)
           || int4send(s.length)
           || int2send(s.flags)
           || int2send(least(length(s.terms), 32767)::smallint)
           || int4send(s.speaker_key)
           || float8send(extract(epoch FROM s.said_at)::float8)
           || float4send(coalesce(-(e.vector <#> (%(vector)s::halfvec[])[1]), 'NaN')::float4)
           || coalesce((SELECT string_agg(float4send(ts_rank('{1,1,1,1}', s.terms, q)), '')
                        FROM unnest(%(terms)s::text[]::tsquery[]) q), ''),
           ''::bytea ORDER BY s.turn_index) AS records
FROM reach r
JOIN conversation c ON c.scope_id = %(scope)s AND c.id = r.c
JOIN sketch s ON s.scope_id = %(scope)s AND s.conversation_id = r.c AND s.turn_index BETWEEN r.first AND r.last
LEFT JOIN embedding e ON e.scope_id = %(scope)s AND e.model_id = %(model)s
                     AND e.conversation_id = s.conversation_id AND e.turn_index = s.turn_index
WHERE (c.expires_at IS NULL OR c.expires_at > %(now)s)
  AND (%(as_of)s::timestamptz IS NULL OR s.said_at <= %(as_of)s)
GROUP BY c.id, c.session_id

-- name: similar_words
-- The trigram arm: spelling. The scope's own vocabulary is the dictionary.
SELECT DISTINCT ON (w.word) w.word, v.lexeme
FROM unnest(%(words)s::text[]) AS w(word)
JOIN (SELECT DISTINCT unnest(tsvector_to_array(s.terms)) AS lexeme FROM sketch s WHERE s.scope_id = %(scope)s) v
  ON length(v.lexeme) BETWEEN length(w.word) - 2 AND length(w.word) + 2
 AND similarity(v.lexeme, w.word) >= %(least)s
ORDER BY w.word, similarity(v.lexeme, w.word) DESC, v.lexeme

-- name: insert_incoming
-- The sketches of turns that came by COPY (turn.make_incoming).
INSERT INTO sketch (scope_id, conversation_id, turn_index, said_at, speaker_key, flags, tokens, length, terms)
SELECT %(scope)s, %(conversation)s, turn_index, said_at, speaker_key, flags, tokens, length, terms
FROM incoming

-- name: delete_one
DELETE FROM sketch WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM sketch WHERE scope_id = %(scope)s
