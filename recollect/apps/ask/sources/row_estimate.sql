-- The number of rows of a table as of its last ANALYZE.
select c.reltuples::bigint
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname = coalesce(:schema, current_schema()) and c.relname = :name and c.relkind in ('r', 'm')
