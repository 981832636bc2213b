-- Backup and restore: what is in the schema, as the catalogs have it. The rows themselves go by COPY (backup.py).

-- name: columns
-- Every table of ours with the columns that a backup holds; the migrations of a restored database are applied anew.
SELECT c.relname::text AS table_name, array_agg(a.attname::text ORDER BY a.attnum) AS columns
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
WHERE c.relnamespace = to_regnamespace('recollect') AND c.relkind IN ('r', 'p') AND c.relname <> 'schema_migration'
GROUP BY 1
ORDER BY 1

-- name: references
-- Which table must be filled before which.
SELECT t.relname::text AS table_name, o.relname::text AS needs
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_class o ON o.oid = c.confrelid
WHERE c.connamespace = to_regnamespace('recollect') AND c.contype = 'f' AND t.oid <> o.oid

-- name: sequences
-- Where each sequence stands; those that gave no number yet are left out.
SELECT sequencename::text AS name, last_value
FROM pg_sequences WHERE schemaname = 'recollect' AND last_value IS NOT NULL
ORDER BY 1

-- name: set_sequence
SELECT setval(format('recollect.%%I', %(name)s::text)::regclass, %(value)s)

-- name: show_everything
-- Until the transaction ends: the owner's policies let it read every row, and values are written the same way everywhere.
SELECT count(set_config(name, value, true))
FROM (VALUES ('app.backup', 'on'), ('row_security', %(row_security)s::text), ('statement_timeout', '0'),
             ('timezone', 'UTC'), ('datestyle', 'ISO, YMD'), ('extra_float_digits', '1'), ('bytea_output', 'hex'))
     AS s(name, value)

-- name: set_limits
-- A restore may take long, but it does not wait long for others to let go of the tables.
SELECT count(set_config(name, value, true)) FROM (VALUES ('lock_timeout', '30s'), ('statement_timeout', '0')) AS s(name, value)

-- name: row_security
-- Off: a statement that would be shown fewer rows fails instead.
SELECT set_config('row_security', %(value)s, true)
