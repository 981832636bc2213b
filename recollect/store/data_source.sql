-- Data sources of a project.

-- name: list
-- All of them, without what is large.
SELECT name, dsn, dialect, fingerprint, '{}'::jsonb, '{}'::jsonb, access, created_at, updated_at, is_local
FROM data_source
WHERE scope_id = %(scope)s
ORDER BY name

-- name: find
SELECT name, dsn, dialect, fingerprint, catalog, model, access, created_at, updated_at, is_local
FROM data_source
WHERE scope_id = %(scope)s AND name = %(name)s

-- name: put
INSERT INTO data_source
    (scope_id, name, dsn, dialect, fingerprint, catalog, model, access, created_at, updated_at, is_local)
VALUES (%(scope)s, %(name)s, %(dsn)s, %(dialect)s, %(fingerprint)s, %(catalog)s::jsonb, %(model)s::jsonb,
        %(access)s::jsonb, %(now)s, %(now)s, %(is_local)s)
ON CONFLICT (scope_id, name) DO UPDATE SET
    dsn = excluded.dsn, dialect = excluded.dialect, fingerprint = excluded.fingerprint, catalog = excluded.catalog,
    model = excluded.model, access = excluded.access, updated_at = excluded.updated_at,
    is_local = excluded.is_local
RETURNING name, dsn, dialect, fingerprint, catalog, model, access, created_at, updated_at, is_local

-- name: drop
DELETE FROM data_source
WHERE scope_id = %(scope)s AND name = %(name)s
RETURNING name
