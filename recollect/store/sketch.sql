-- Sketches: every turn of a scope as recall sees it. The arms are here.

-- name: score
-- The words arm over a whole scope (or one conversation) in one scan by its key. Each turn travels as one packed record
-- (the layout is `SKETCH` in store/wire_format.py), one row per conversation: the client reads thousands of turns without
-- making a Python object for any. Few calls make a record, because a call per column and turn costs more than the scan:
-- numbers side by side are sent as one. The frequency of a lexeme is folded into ts_rank, the only function that finds it
-- without unnesting the vector (three times cheaper); recall/fuse.py unfolds it. Most turns have no word of the question,
-- and one look tells.
SELECT s.conversation_id, string_agg(
           int8send((s.turn_index::bigint << 32) | s.tokens)
           || int8send((s.length::bigint << 32) | (s.flags::bigint << 16) | least(length(s.terms), 32767))
           || int4send(s.speaker_key)
           || timestamptz_send(s.said_at)
           || CASE WHEN s.terms @@ (SELECT array_to_string(%(terms)s::text[], ' | ')::tsquery)
                   THEN (SELECT string_agg(float4send(ts_rank('{1,1,1,1}', s.terms, q)), '')
                         FROM unnest(%(terms)s::text[]::tsquery[]) q)
                   ELSE decode(repeat('00000000', cardinality(%(terms)s::text[])), 'hex') END,
           ''::bytea) AS records
FROM sketch s
WHERE s.scope_id = %(scope)s
  AND (%(session)s::text IS NULL OR s.conversation_id = (
          SELECT c.id FROM conversation c WHERE c.scope_id = %(scope)s AND c.session_id = %(session)s))
  AND (%(as_of)s::timestamptz IS NULL OR s.said_at <= %(as_of)s)
  -- Looked at once: a giant scope is not read here but by chapter.
  AND %(most)s >= (SELECT sum(g.turn_count) FROM conversation g
                   WHERE g.scope_id = %(scope)s AND (%(session)s::text IS NULL OR g.session_id = %(session)s)
                     AND (g.expires_at IS NULL OR g.expires_at > %(now)s))
GROUP BY s.conversation_id

-- name: score_within
-- As `score`, within some runs of turns. OFFSET 0 keeps the planner from turning the runs into one big scan.
SELECT s.conversation_id, string_agg(
           int8send((s.turn_index::bigint << 32) | s.tokens)
           || int8send((s.length::bigint << 32) | (s.flags::bigint << 16) | least(length(s.terms), 32767))
           || int4send(s.speaker_key)
           || timestamptz_send(s.said_at)
           || CASE WHEN s.terms @@ (SELECT array_to_string(%(terms)s::text[], ' | ')::tsquery)
                   THEN (SELECT string_agg(float4send(ts_rank('{1,1,1,1}', s.terms, q)), '')
                         FROM unnest(%(terms)s::text[]::tsquery[]) q)
                   ELSE decode(repeat('00000000', cardinality(%(terms)s::text[])), 'hex') END,
           ''::bytea) AS records
FROM json_to_recordset(%(runs)s::json) AS r(c uuid, first int, last int)
CROSS JOIN LATERAL (
    SELECT * FROM sketch k
    WHERE k.scope_id = %(scope)s AND k.conversation_id = r.c AND k.turn_index BETWEEN r.first AND r.last
      AND (%(as_of)s::timestamptz IS NULL OR k.said_at <= %(as_of)s)
    OFFSET 0) s
GROUP BY s.conversation_id

-- name: similar_words
-- The trigram arm: spelling. The scope's own vocabulary is the dictionary; a word is looked for among those with its
-- first letter, which people seldom get wrong and which spares most of the comparing.
SELECT DISTINCT ON (w.word) w.word, v.lexeme
FROM unnest(%(words)s::text[]) AS w(word)
JOIN (SELECT DISTINCT l AS lexeme
      FROM sketch s, unnest(tsvector_to_array(s.terms)) AS l
      WHERE s.scope_id = %(scope)s AND left(l, 1) = ANY(%(initials)s::text[])) v
  ON left(v.lexeme, 1) = left(w.word, 1)
 AND length(v.lexeme) BETWEEN length(w.word) - 2 AND length(w.word) + 2
 AND similarity(v.lexeme, w.word) >= %(least)s
 -- A question that was recorded before it is searched does not make its mistake a word.
 AND NOT (v.lexeme = w.word AND w.word = ANY(%(unknown)s::text[]))
ORDER BY w.word, similarity(v.lexeme, w.word) DESC, v.lexeme

-- name: mark
-- Of high value, or no longer. The turn itself is as it was said; what it is worth to recall is derived.
UPDATE sketch s
SET flags = CASE WHEN %(marked)s THEN s.flags | %(flag)s::smallint ELSE s.flags & ~%(flag)s::smallint END
FROM conversation c
WHERE s.scope_id = %(scope)s AND c.scope_id = %(scope)s AND c.session_id = %(session)s
  AND s.conversation_id = c.id AND s.turn_index = %(index)s
RETURNING s.turn_index

-- name: delete_one
DELETE FROM sketch WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM sketch WHERE scope_id = %(scope)s AND conversation_id = ANY(%(conversations)s)
