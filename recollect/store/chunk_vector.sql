-- Vectors of chunks, per model. The vector arm of document search: an exact scan of the scope's rows.

-- name: add
INSERT INTO chunk_vector (scope_id, model_id, document_id, chunk_index, vector)
SELECT d.scope_id, %(model)s, d.id, x.i, (%(vectors)s::halfvec[])[x.v]
FROM document d CROSS JOIN unnest(%(places)s::int[]) WITH ORDINALITY AS x(i, v)
WHERE d.scope_id = %(scope)s AND d.id = %(id)s
ON CONFLICT DO NOTHING

-- name: nearest
-- What is not processed yet is left out as a list, which is nearly always empty: a join would cost a look per chunk.
-- The distance is named once, or it would be computed twice.
SELECT n.document_id, n.chunk_index, -n.distance AS cosine
FROM (SELECT v.document_id, v.chunk_index, v.vector <#> (%(vector)s::halfvec[])[1] AS distance
      FROM chunk_vector v
      WHERE v.scope_id = %(scope)s AND v.model_id = %(model)s
        AND (%(documents)s::uuid[] IS NULL OR v.document_id = ANY(%(documents)s))
        AND v.document_id <> ALL (ARRAY(
            SELECT d.id FROM document d WHERE d.scope_id = %(scope)s AND d.status <> 'processed'))
      ORDER BY distance
      LIMIT %(limit)s) n
ORDER BY n.distance

-- name: of_chunks
-- Cosines of some chunks and, where asked for, their vectors.
SELECT v.document_id, v.chunk_index, -(v.vector <#> (%(vector)s::halfvec[])[1]) AS cosine,
       CASE WHEN %(whole)s THEN halfvec_send(v.vector) END AS vector
FROM json_to_recordset(%(keys)s::json) AS k(d uuid, i int)
JOIN chunk_vector v ON v.scope_id = %(scope)s AND v.model_id = %(model)s AND v.document_id = k.d
                   AND v.chunk_index = k.i

-- name: delete_document
DELETE FROM chunk_vector WHERE scope_id = %(scope)s AND document_id = %(id)s

-- name: delete_all
DELETE FROM chunk_vector WHERE scope_id = %(scope)s
