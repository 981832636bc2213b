-- Questions about the server, the schema and ourselves. Nothing here touches a user's rows.

-- name: open_scope
-- Every transaction begins with this; without it row-level security shows nothing. A read is planned anew each time: a
-- plan made for one user's sizes must not serve another's.
SELECT open_scope(%(scope)s), set_config('plan_cache_mode', 'force_custom_plan', true)

-- name: open_scope_to_write
-- Inserts gain nothing from planning anew.
SELECT open_scope(%(scope)s)

-- name: facts
-- What this server is and has.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_text,
       (SELECT array_agg(extname::text) FROM pg_extension) AS installed,
       (SELECT array_agg(name::text) FROM pg_available_extensions WHERE name IN ('vector', 'pg_trgm')) AS available,
       to_regclass('recollect.schema_migration') IS NOT NULL AS has_schema

-- name: role
-- Whether row-level security binds the role we are.
SELECT current_user AS name, rolsuper OR rolbypassrls AS bypasses,
       EXISTS (SELECT FROM pg_class WHERE oid = to_regclass('recollect.turn') AND relowner = r.oid) AS owns
FROM pg_roles r WHERE rolname = current_user

-- name: applied
SELECT version, name, digest, applied_at FROM schema_migration ORDER BY version

-- name: strays
-- Derived rows of a scope whose turn is gone: there should be none.
SELECT count(*) AS strays
FROM sketch s
WHERE s.scope_id = %(scope)s
  AND NOT EXISTS (SELECT FROM turn t WHERE t.scope_id = %(scope)s AND t.conversation_id = s.conversation_id
                                       AND t.turn_index = s.turn_index)

-- name: extensions
-- The extensions we need, as they are installed here.
SELECT extname AS name, extversion AS version FROM pg_extension WHERE extname IN ('vector', 'pg_trgm') ORDER BY extname

-- name: tables
-- Our tables and the wall around each.
SELECT c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
       (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies,
       pg_get_userbyid(c.relowner)::text AS owner
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p')
ORDER BY c.relname
