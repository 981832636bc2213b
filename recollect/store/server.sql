-- Questions about the server, the schema and ourselves. Nothing here touches a user's rows.

-- name: begin
BEGIN

-- name: commit
COMMIT

-- name: start_pooled
-- Behind a pooler a session is not ours to set up: each transaction says for itself who it is and where it looks.
SELECT set_config('role', 'recollect_app', true), set_config('search_path', 'recollect, public', true),
       set_config('timezone', 'UTC', true), set_config('statement_timeout', %(timeout)s, true),
       set_config('idle_in_transaction_session_timeout', %(timeout)s, true),
       set_config('citus.propagate_set_commands', 'local', true)

-- name: open_scope
-- Every transaction begins with this; without it row-level security shows nothing. A read is planned anew each time: a
-- plan made for one user's sizes must not serve another's.
SELECT open_scope(%(scope)s), set_config('plan_cache_mode', 'force_custom_plan', true)

-- name: open_scope_to_write
-- Inserts gain nothing from planning anew.
SELECT open_scope(%(scope)s)

-- name: become_operator
-- For one call of a function that looks over all scopes or manages keys. It ends with the transaction.
SELECT set_config('role', 'recollect_operator', true)

-- name: written
-- How far the log of this server is on disk: everything that was acknowledged is before this.
SELECT pg_current_wal_flush_lsn()::text AS position

-- name: replayed
-- Whether this is a standby that has replayed the log up to a position.
SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %(position)s::pg_lsn AS replayed

-- name: facts
-- What this server is and has.
SELECT current_setting('server_version_num')::int AS version,
       current_setting('server_version') AS version_text,
       (SELECT array_agg(extname::text) FROM pg_extension) AS installed,
       (SELECT array_agg(name::text) FROM pg_available_extensions WHERE name IN ('vector', 'pg_trgm')) AS available,
       EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'recollect' AND c.relname = 'schema_migration') AS has_schema

-- name: role
-- Whether row-level security binds the role we are, and whether the server is one of several.
SELECT current_user AS name, rolsuper OR rolbypassrls AS bypasses,
       EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
               WHERE n.nspname = 'recollect' AND c.relname = 'turn' AND c.relowner = r.oid) AS owns,
       EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS is_cluster
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
-- Our tables and their owners.
SELECT c.relname AS name, pg_get_userbyid(c.relowner)::text AS owner
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p')
ORDER BY c.relname

-- name: identity
-- Which server and database this is, whatever it is called and however it is reached. A standby has the same.
SELECT (SELECT system_identifier FROM pg_control_system()) AS system,
       (SELECT oid::bigint FROM pg_database WHERE datname = current_database()) AS database

-- name: vacuuming
-- Our tables, those that this login may not vacuum, and whether it may write a checkpoint.
SELECT current_user::text AS name,
       array_agg(c.relname::text ORDER BY c.relname) AS tables,
       array_agg(c.relname::text ORDER BY c.relname) FILTER (WHERE NOT pg_has_role(c.relowner, 'USAGE')) AS denied,
       pg_has_role('pg_checkpoint', 'USAGE') AS can_checkpoint
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p')

-- name: dead_rows
-- What the last vacuum had to leave, in our tables and in the files beside them that have their long values.
SELECT coalesce(sum(s.n_dead_tup), 0)::int AS dead
FROM pg_stat_all_tables s
WHERE s.schemaname = 'recollect'
   OR s.relid IN (SELECT c.reltoastrelid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                  WHERE n.nspname = 'recollect')
