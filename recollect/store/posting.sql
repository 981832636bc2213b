-- Postings: which chunks have a lexeme. The words arm of document search.

-- name: add
INSERT INTO posting (scope_id, lexeme, document, first, found)
SELECT %(scope)s, x.lexeme, %(number)s, %(first)s, x.found
FROM unnest(%(lexemes)s::text[], %(found)s::bytea[]) AS x(lexeme, found)

-- name: find
-- One row per lexeme of the question: where its runs are and how long each is, and the runs one after the other. Both
-- aggregates see the rows in the same order. By its key: equality of text is leakproof, so that row-level security does
-- not stand in the way as it does with GIN.
SELECT p.lexeme,
       string_agg(int8send(p.document) || int4send(p.first) || int4send(octet_length(p.found)), ''::bytea) AS runs,
       string_agg(p.found, ''::bytea) AS found
FROM posting p
WHERE p.scope_id = %(scope)s AND p.lexeme = ANY(%(terms)s::text[])
  AND (%(documents)s::uuid[] IS NULL OR p.document = ANY (ARRAY(
      SELECT d.number FROM document d WHERE d.scope_id = %(scope)s AND d.id = ANY(%(documents)s))))
GROUP BY p.lexeme

-- name: similar
-- The spelling arm: of the words that some document has, those most like a word that none has. Among those with its first
-- letter, each looked at once: the walk jumps from one lexeme to the next by the key.
WITH RECURSIVE v AS (
    SELECT i.initial, (SELECT p.lexeme FROM posting p
                       WHERE p.scope_id = %(scope)s AND p.lexeme >= i.initial
                       ORDER BY p.lexeme LIMIT 1) AS lexeme
    FROM unnest(%(initials)s::text[]) AS i(initial)
    UNION ALL
    SELECT v.initial, (SELECT p.lexeme FROM posting p
                       WHERE p.scope_id = %(scope)s AND p.lexeme > v.lexeme
                       ORDER BY p.lexeme LIMIT 1)
    FROM v
    WHERE left(v.lexeme, 1) = v.initial
)
SELECT DISTINCT ON (w.word) w.word, v.lexeme
FROM unnest(%(words)s::text[]) AS w(word)
JOIN v ON v.initial = left(w.word, 1) AND left(v.lexeme, 1) = v.initial
      AND length(v.lexeme) BETWEEN length(w.word) - 2 AND length(w.word) + 2
      AND similarity(v.lexeme, w.word) >= %(least)s
ORDER BY w.word, similarity(v.lexeme, w.word) DESC, v.lexeme

-- name: delete_document
DELETE FROM posting
WHERE scope_id = %(scope)s
  AND document = (SELECT d.number FROM document d WHERE d.scope_id = %(scope)s AND d.id = %(id)s)

-- name: delete_all
DELETE FROM posting WHERE scope_id = %(scope)s
