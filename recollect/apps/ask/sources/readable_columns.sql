-- The columns that the account may read. Partitions are read through the table that they are parts of.
select c.relname, a.attname
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
 where n.nspname = coalesce(:schema, current_schema()) and not c.relispartition
   and c.relkind in ('r', 'p', 'v', 'm', 'f')
   and has_schema_privilege(n.oid, 'USAGE') and has_column_privilege(c.oid, a.attnum, 'SELECT')
