-- Documents: their rows, the work on them, and their files until they are read.

-- name: add
-- Nothing where these bytes are already a document of the scope.
INSERT INTO document (scope_id, id, title, source, added_by, size, digest, status, created_at, updated_at)
VALUES (%(scope)s, %(id)s, %(title)s, %(source)s, %(by)s, %(size)s, %(digest)s, 'pending', %(now)s, %(now)s)
ON CONFLICT (scope_id, digest) DO NOTHING
RETURNING id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
          progress, created_at, updated_at

-- name: same_bytes
SELECT id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
       progress, created_at, updated_at
FROM document
WHERE scope_id = %(scope)s AND digest = %(digest)s
FOR UPDATE

-- name: start_again
-- What failed is uploaded once more.
UPDATE document
SET status = 'pending', failure = NULL, progress = 0, tries = 0, lease = lease + 1, lease_until = NULL,
    title = %(title)s, source = %(source)s, updated_at = %(now)s
WHERE scope_id = %(scope)s AND id = %(id)s
RETURNING id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
          progress, created_at, updated_at

-- name: find
SELECT id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
       progress, created_at, updated_at
FROM document
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: list
-- The newest first; ids sort by time.
SELECT id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
       progress, created_at, updated_at
FROM document
WHERE scope_id = %(scope)s
  AND (%(status)s::text[] IS NULL OR status = ANY(%(status)s))
  AND (%(after)s::uuid IS NULL OR id < %(after)s)
  AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s))
ORDER BY id DESC
LIMIT %(limit)s

-- name: named
-- Some documents, for the hits of a search; only what may be found.
SELECT id, title, source, added_by, size, digest, status, format, failure, pages, chunks, tokens, characters,
       progress, created_at, updated_at
FROM document
WHERE scope_id = %(scope)s AND id = ANY(%(ids)s) AND status = 'processed'

-- name: searchable
-- What may be found: id, number, chunks and lexemes of each document, packed into one value (`DOCUMENT` in
-- store/documents.py).
SELECT string_agg(uuid_send(id) || int8send(number) || int4send(chunks) || int8send(words), ''::bytea)
FROM document
WHERE scope_id = %(scope)s AND status = 'processed'
  AND (%(documents)s::uuid[] IS NULL OR id = ANY(%(documents)s))

-- name: work
-- Of any scope; ids only. Unlocked: another worker may see the same.
SELECT scope_id, document_id FROM find_documents(%(model)s, %(most)s)

-- name: work_status
SELECT waiting, failed, oldest FROM document_work()

-- name: forget_adder
-- Removes the name of who added a document.
UPDATE document SET added_by = '' WHERE scope_id = %(scope)s AND added_by = %(user)s

-- name: work_of_scope
SELECT id
FROM document
WHERE scope_id = %(scope)s
  AND (status IN ('pending', 'processing')
       OR (status = 'processed' AND embedded_model <> coalesce(%(model)s::smallint, embedded_model)))
ORDER BY id

-- name: claim
-- Compare and set, as for conversations. The lease gets a number: whoever held an earlier one can write nothing more.
UPDATE document
SET status = CASE WHEN status = 'processed' THEN status ELSE 'processing' END,
    lease = lease + 1, lease_until = %(until)s, tries = tries + 1
WHERE scope_id = %(scope)s AND id = %(id)s AND (lease_until IS NULL OR lease_until < %(now)s)
  AND (status IN ('pending', 'processing')
       OR (status = 'processed' AND embedded_model <> coalesce(%(model)s::smallint, embedded_model)))
RETURNING id, number, title, source, size, status, lease, tries

-- name: hold
-- The lease is still ours, and is renewed; otherwise all of the transaction is undone.
WITH held AS (
    UPDATE document
    SET lease_until = %(until)s, progress = greatest(progress, %(progress)s::real), updated_at = %(now)s
    WHERE scope_id = %(scope)s AND id = %(id)s AND lease = %(lease)s AND lease_until IS NOT NULL
    RETURNING 1)
SELECT insist(EXISTS (SELECT FROM held))

-- name: finish
-- Makes the document visible to search.
UPDATE document
SET status = 'processed', format = %(format)s, pages = %(pages)s, chunks = %(chunks)s, tokens = %(tokens)s,
    words = %(words)s, characters = %(characters)s, progress = 1, embedded_model = %(model)s, lease_until = NULL,
    tries = 0, updated_at = %(now)s
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: embedded
UPDATE document
SET embedded_model = %(model)s, lease_until = NULL, tries = 0
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: fail
UPDATE document
SET status = 'failed', failure = %(failure)s, lease_until = NULL, updated_at = %(now)s
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: put_off
-- The lease is given back, or nobody tries before `until`. A try that was cut short did not count.
UPDATE document
SET status = CASE WHEN status = 'processing' THEN 'pending' ELSE status END, lease_until = %(until)s,
    tries = tries - CASE WHEN %(counts)s THEN 0 ELSE 1 END
WHERE scope_id = %(scope)s AND id = %(id)s AND lease = %(lease)s

-- name: lock_all
-- Before they are erased: no worker writes to them any more.
SELECT id FROM document WHERE scope_id = %(scope)s ORDER BY id FOR UPDATE

-- name: lock_one
SELECT id FROM document WHERE scope_id = %(scope)s AND id = %(id)s FOR UPDATE

-- name: delete_document
DELETE FROM document WHERE scope_id = %(scope)s AND id = %(id)s

-- name: delete_all
DELETE FROM document WHERE scope_id = %(scope)s
