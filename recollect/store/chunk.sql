-- Chunks: the passages of documents.

-- name: add
INSERT INTO chunk
    (scope_id, document_id, chunk_index, text, start, "end", page, page_end, headings, lead, tokens, breaks)
SELECT d.scope_id, d.id, x.i, x.text, x.start, x."end", x.page, x.page_end, x.headings, x.lead, x.tokens, x.breaks
FROM document d
CROSS JOIN json_to_recordset(%(chunks)s::json) AS x(
    i int, text text, start int, "end" int, page int, page_end int, headings text[], lead text, tokens int,
    breaks int[])
WHERE d.scope_id = %(scope)s AND d.id = %(id)s

-- name: chosen
-- The chunks that a search chose, by position, in its order.
SELECT c.document_id, c.chunk_index, c.text, c.start, c."end", c.page, c.page_end, c.headings, c.lead, c.tokens,
       c.breaks
FROM json_to_recordset(%(keys)s::json) AS k(n int, d uuid, i int)
JOIN chunk c ON c.scope_id = %(scope)s AND c.document_id = k.d AND c.chunk_index = k.i
ORDER BY k.n

-- name: between
-- The chunks that a range of characters touches.
SELECT chunk_index, text, start, "end", page, page_end, headings, lead, tokens, breaks
FROM chunk
WHERE scope_id = %(scope)s AND document_id = %(id)s AND "end" > %(start)s AND start < %(end)s
ORDER BY chunk_index

-- name: from
-- A page of a document's chunks, from an index on.
SELECT chunk_index, text, start, "end", page, page_end, headings, lead, tokens, breaks
FROM chunk
WHERE scope_id = %(scope)s AND document_id = %(id)s AND chunk_index >= %(from)s
ORDER BY chunk_index
LIMIT %(limit)s

-- name: unembedded
SELECT c.chunk_index, c.text, c.start, c."end", c.page, c.page_end, c.headings, c.lead, c.tokens, c.breaks
FROM chunk c
WHERE c.scope_id = %(scope)s AND c.document_id = %(id)s
  AND NOT EXISTS (
      SELECT FROM chunk_vector v
      WHERE v.scope_id = %(scope)s AND v.model_id = %(model)s AND v.document_id = %(id)s
        AND v.chunk_index = c.chunk_index)
ORDER BY c.chunk_index
LIMIT %(limit)s

-- name: delete_document
DELETE FROM chunk WHERE scope_id = %(scope)s AND document_id = %(id)s

-- name: delete_all
DELETE FROM chunk WHERE scope_id = %(scope)s
