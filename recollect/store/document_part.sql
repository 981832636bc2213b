-- The files of documents that are not read yet, in pieces.

-- name: add
INSERT INTO document_part (scope_id, document_id, part, bytes)
VALUES (%(scope)s, %(id)s, %(part)s, %(bytes)s)

-- name: read
SELECT bytes FROM document_part WHERE scope_id = %(scope)s AND document_id = %(id)s AND part = %(part)s

-- name: delete_document
DELETE FROM document_part WHERE scope_id = %(scope)s AND document_id = %(id)s

-- name: delete_all
DELETE FROM document_part WHERE scope_id = %(scope)s
