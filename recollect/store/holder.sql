-- Holders: whose memory a scope is, and the version of what is known there.

-- name: version
SELECT version FROM holder WHERE scope_id = %(scope)s

-- name: advance
-- Nobody has changed what is known since it was read at `version` (0: nothing was known); otherwise nothing is written.
WITH raised AS (
    INSERT INTO holder AS h (scope_id, project, user_id, version, created_at)
    SELECT %(scope)s, %(project)s, %(user)s, 1, %(now)s
    WHERE %(version)s = 0 OR EXISTS (SELECT FROM holder k WHERE k.scope_id = %(scope)s)
    ON CONFLICT (scope_id) DO UPDATE SET version = h.version + 1 WHERE h.version = %(version)s
    RETURNING 1)
SELECT insist(EXISTS (SELECT FROM raised))

-- name: lock
-- Locks out learners during an erasure, and makes those that read before fail.
UPDATE holder SET version = version + 1 WHERE scope_id = %(scope)s

-- name: delete_all
DELETE FROM holder WHERE scope_id = %(scope)s
