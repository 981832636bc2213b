-- Terms: what the ontology of a project says.

-- name: all
SELECT name, kind, description, synonyms, sql, data
FROM term
WHERE scope_id = %(scope)s

-- name: of_name
-- Those of one name, with all that belongs to them.
SELECT t.name, t.kind, t.description, t.synonyms, t.sql, t.data
FROM term t
WHERE t.scope_id = %(scope)s
  AND (t.name = %(name)s OR t.data ->> 'table' = %(name)s
       OR (t.data ->> 'table') || '.' || (t.data ->> 'column') = %(name)s)

-- name: count
SELECT count(*) FROM term WHERE scope_id = %(scope)s

-- name: list
SELECT name, kind, description, synonyms, sql, data
FROM term
WHERE scope_id = %(scope)s AND (%(kind)s::text IS NULL OR kind = %(kind)s)
ORDER BY array_position('{table,column,value,relationship,glossary}', kind), name
LIMIT %(limit)s

-- name: search
-- By its stem; by all words somewhere in it, as parts of words too, which is how Chinese is found; or by a name or
-- synonym that is spelt much like it. The description does not count for spelling: among many words one is always near.
SELECT x.name, x.kind, x.description, x.synonyms, x.sql, x.data
FROM (SELECT t.name, t.kind, t.description, t.synonyms, t.sql, t.data,
             %(stem)s = ANY(t.terms) AS is_it,
             (SELECT bool_and(strpos(lower(h.hay), w) > 0 OR strpos(h.hay, w) > 0) FROM unnest(%(words)s::text[]) w)
                 AS has_all,
             (SELECT max(greatest(similarity(%(search)s, n), strict_word_similarity(%(search)s, n)))
              FROM unnest(t.synonyms || t.name) n) AS alike
      FROM term t,
           LATERAL (SELECT concat_ws(' ', t.name, array_to_string(t.synonyms, ' '), t.description) AS hay) h
      WHERE t.scope_id = %(scope)s AND (%(kind)s::text IS NULL OR t.kind = %(kind)s)) x
WHERE x.is_it OR x.has_all OR x.alike >= %(least)s
ORDER BY x.name = %(search)s DESC, x.is_it DESC, x.has_all DESC, x.alike DESC, x.name, x.kind
LIMIT %(limit)s

-- name: resolve
-- A few terms for each of some stems, those of the likelier kind first.
SELECT DISTINCT x.name, x.kind, x.description, x.synonyms, x.sql, x.data
FROM (SELECT t.name, t.kind, t.description, t.synonyms, t.sql, t.data,
             row_number() OVER (PARTITION BY s.stem ORDER BY array_position(%(kinds)s::text[], t.kind), t.name) AS place
      FROM term t, unnest(t.terms) s(stem)
      WHERE t.scope_id = %(scope)s AND s.stem = ANY(%(terms)s::text[])) x
WHERE x.place <= %(most)s

-- name: put
INSERT INTO term AS t
    (scope_id, name, kind, terms, description, synonyms, sql, data, created_at, updated_at)
SELECT h.scope_id, x.name, x.kind, x.terms, x.description, x.synonyms, x.sql, x.data, %(now)s, %(now)s
FROM holder h
CROSS JOIN json_to_recordset(%(terms)s::json) AS x(
    name text, kind text, terms text[], description text, synonyms text[], sql text, data jsonb)
WHERE h.scope_id = %(scope)s
ON CONFLICT (scope_id, kind, name) DO UPDATE SET
    terms = excluded.terms, description = excluded.description, synonyms = excluded.synonyms, sql = excluded.sql,
    data = excluded.data, updated_at = excluded.updated_at

-- name: drop
DELETE FROM term t
USING json_to_recordset(%(terms)s::json) AS x(name text, kind text)
WHERE t.scope_id = %(scope)s AND t.name = x.name AND t.kind = x.kind
