-- Holders: whose memory a scope is, and the version of what is known there.

-- name: version
SELECT version FROM holder WHERE scope_id = %(scope)s

-- name: start
-- Sent before `advance` where nothing was known yet: it raises version 0.
INSERT INTO holder (scope_id, project, user_id, version, created_at)
VALUES (%(scope)s, %(project)s, %(user)s, 0, %(now)s)
ON CONFLICT (scope_id) DO NOTHING

-- name: advance
-- Nobody has changed what is known since it was read at `version` (0: nothing was known); otherwise nothing is written.
WITH raised AS (
    UPDATE holder SET version = version + 1 WHERE scope_id = %(scope)s AND version = %(version)s
    RETURNING 1)
SELECT insist(EXISTS (SELECT FROM raised))

-- name: lock
-- Locks out learners during an erasure, and makes those that read before fail.
UPDATE holder SET version = version + 1 WHERE scope_id = %(scope)s

-- name: delete_all
DELETE FROM holder WHERE scope_id = %(scope)s
