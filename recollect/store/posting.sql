-- Postings: which chunks have a lexeme. The words arm of document search.

-- name: add
INSERT INTO posting (scope_id, lexeme, document, first, found)
SELECT d.scope_id, x.lexeme, d.number, %(first)s, x.found
FROM document d CROSS JOIN unnest(%(lexemes)s::text[], %(found)s::bytea[]) AS x(lexeme, found)
WHERE d.scope_id = %(scope)s AND d.id = %(id)s

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
-- The spelling arm: of the words that some document has, those most like a word that none has. The walk jumps from lexeme
-- to lexeme by the key, among those that begin like the word, and no further than `most`: five microseconds each. Words
-- that differ in the second letter begin otherwise; they are looked up one by one.
WITH RECURSIVE v AS (
    SELECT i.prefix, 1 AS n, (SELECT p.lexeme FROM posting p
                              WHERE p.scope_id = %(scope)s AND p.lexeme >= i.prefix
                              ORDER BY p.lexeme LIMIT 1) AS lexeme
    FROM unnest(%(prefixes)s::text[]) AS i(prefix)
    UNION ALL
    SELECT v.prefix, v.n + 1, (SELECT p.lexeme FROM posting p
                               WHERE p.scope_id = %(scope)s AND p.lexeme > v.lexeme
                               ORDER BY p.lexeme LIMIT 1)
    FROM v
    WHERE starts_with(v.lexeme, v.prefix) AND v.n < %(most)s
), near AS (
    SELECT v.lexeme FROM v WHERE starts_with(v.lexeme, v.prefix)
    UNION
    -- A scalar, so that it stays one look at the key for each: a join might read all postings.
    SELECT (SELECT p.lexeme FROM posting p WHERE p.scope_id = %(scope)s AND p.lexeme = x.variant LIMIT 1)
    FROM unnest(%(variants)s::text[]) AS x(variant)
)
SELECT DISTINCT ON (w.word) w.word, n.lexeme
FROM unnest(%(words)s::text[]) AS w(word)
JOIN near n ON left(n.lexeme, 1) = left(w.word, 1)
      AND length(n.lexeme) BETWEEN length(w.word) - 2 AND length(w.word) + 2
      AND similarity(n.lexeme, w.word) >= %(least)s
ORDER BY w.word, similarity(n.lexeme, w.word) DESC, n.lexeme

-- name: delete_document
DELETE FROM posting
WHERE scope_id = %(scope)s
  AND document = (SELECT d.number FROM document d WHERE d.scope_id = %(scope)s AND d.id = %(id)s)

-- name: delete_all
DELETE FROM posting WHERE scope_id = %(scope)s
