-- Distribution over a cluster of Citus: what there is, for the plan that distribute.py makes of it.

-- name: facts
-- Whether the server is a coordinator of Citus, and what it allows. Where a server limits the plugins that may decode its
-- log, Citus' own must be among them.
SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS has_citus,
       EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citus') AS can_have_citus,
       current_setting('server_version_num')::int AS version,
       current_setting('wal_level') = 'logical' AS has_logical_log,
       coalesce(current_setting('output_plugin_libraries', true), '') AS plugins

-- name: placed
-- The tables and functions that the cluster has already, with the shards of these tables, which a node may show; a
-- function that runs on the node of its scope, once Citus knows by which argument. Only Citus has these catalogs.
SELECT c.relname::text AS name FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
WHERE c.relnamespace = to_regnamespace('recollect')
UNION ALL
SELECT c.relname || '_' || s.shardid FROM pg_dist_shard s JOIN pg_class c ON c.oid = s.logicalrelid
WHERE c.relnamespace = to_regnamespace('recollect')
UNION ALL
SELECT p.oid::regprocedure::text FROM pg_dist_object d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND p.pronamespace = to_regnamespace('recollect')
  AND (p.proname <> 'append_turns' OR d.distribution_argument_index IS NOT NULL)

-- name: schema
-- Our tables: which belong to scopes, which have a key by which a row can be found again, and which have no row.
SELECT c.relname::text AS name,
       EXISTS (SELECT FROM pg_attribute a
               WHERE a.attrelid = c.oid AND a.attname = 'scope_id' AND NOT a.attisdropped) AS is_scoped,
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary) AS has_key,
       pg_relation_size(c.oid) = 0 AS is_empty
FROM pg_class c
WHERE c.relnamespace = to_regnamespace('recollect') AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_migration'
ORDER BY c.relname

-- name: references
-- The references between tables of scopes, which stand in the way while these are being moved.
SELECT t.relname::text AS table_name, c.conname::text AS name
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid
WHERE c.connamespace = to_regnamespace('recollect') AND c.contype = 'f' AND c.conrelid <> c.confrelid
ORDER BY 1, 2

-- name: functions
-- What runs on other nodes: row-level security and the functions that named queries call in the middle of a statement.
SELECT p.oid::regprocedure::text AS name
FROM pg_proc p
WHERE p.pronamespace = to_regnamespace('recollect')
  AND p.proname IN ('open_scope', 'missing_scope', 'insist', 'tsvector_sum', 'append_turns')
ORDER BY 1

-- name: column_rights
-- What the application's role may do with single columns.
SELECT c.relname::text AS table_name, x.privilege_type AS name,
       string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid CROSS JOIN aclexplode(a.attacl) x
WHERE c.relnamespace = to_regnamespace('recollect') AND c.relkind IN ('r', 'p')
  AND x.grantee = to_regrole('recollect_app')
GROUP BY 1, 2
ORDER BY 1, 2
