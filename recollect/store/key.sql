-- API keys, through functions that run as the owner: our role cannot see the table.

-- name: find
SELECT id, prefix, name, role, project, user_id, created_at, created_by, expires_at, revoked_at, revoked_by,
       last_used_at
FROM find_key(%(digest)s)

-- name: any
SELECT any_key()

-- name: add
SELECT add_key(%(id)s, %(digest)s, %(prefix)s, %(name)s, %(role)s, %(project)s, %(user)s, %(now)s, %(by)s, %(expires)s)

-- name: add_under
SELECT add_key_under(%(id)s, %(digest)s, %(prefix)s, %(under)s, %(now)s, %(expires)s)

-- name: revoke
SELECT id, prefix, name, role, project, user_id, created_at, created_by, expires_at, revoked_at, revoked_by,
       last_used_at
FROM revoke_key(%(id)s, %(project)s, %(now)s, %(by)s)

-- name: all
SELECT id, prefix, name, role, project, user_id, created_at, created_by, expires_at, revoked_at, revoked_by,
       last_used_at
FROM list_keys(%(project)s)

-- name: note_use
SELECT note_key_use(%(id)s, %(now)s)
