-- Access: who may do what in our schema, said once. The migrations made most of it; this file is what `recollect db check`
-- compares with and what `recollect db migrate` puts back where it was lost, for example by a restore under another
-- owner. A new table or function gets its line here, beside its migration. A right is taken away a release after the code
-- stopped using it: during a rolling upgrade the previous release works on this schema.

-- name: differences
-- One row for each thing that is not as it must be: what kind of thing, what is wrong, and the statement that mends it
-- (none: a person must decide). It reads catalogs only, so any role may ask. Rows come in the order in which they can be
-- mended.
--
-- Roles: `recollect_app` is what the application works as. `recollect_operator` may run the functions that look over all
-- scopes or manage keys; the application becomes it for such a call and for nothing else. Functions that run as the owner
-- see rows through the owner's policies, so these must name whoever owns the tables now.
WITH owner AS (
    SELECT c.relowner AS oid, pg_get_userbyid(c.relowner)::text AS name
    FROM pg_class c WHERE c.relnamespace = to_regnamespace('recollect') AND c.relname = 'schema_migration'
), wanted_role(name, options) AS (VALUES
    ('recollect_app', 'LOGIN'),
    ('recollect_operator', 'NOLOGIN')
), wanted_right(table_name, rights) AS (VALUES
    ('api_key', '{}'::text[]),
    ('audit', '{SELECT,INSERT,UPDATE(actor)}'),
    ('chapter', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('chunk', '{SELECT,INSERT,DELETE}'),
    ('chunk_vector', '{SELECT,INSERT,DELETE}'),
    ('conversation', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('data_source', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('document', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('document_part', '{SELECT,INSERT,DELETE}'),
    ('embedding', '{SELECT,INSERT,DELETE}'),
    ('embedding_model', '{SELECT}'),
    ('episode', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('errand', '{SELECT,INSERT,UPDATE}'),
    ('evidence', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('holder', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('idempotency', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('installation', '{}'),
    ('memory', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('posting', '{SELECT,INSERT,DELETE}'),
    ('request', '{SELECT,INSERT,DELETE,UPDATE(model),UPDATE(latency_llm_ms),UPDATE(error_stage),UPDATE(hits_used)}'),
    ('schema_migration', '{SELECT}'),
    ('shape', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('sketch', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('tally', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('term', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('turn', '{SELECT,INSERT,DELETE}')
), wanted_function(name, role) AS (VALUES
    ('open_scope', 'recollect_app'), ('missing_scope', 'recollect_app'), ('insist', 'recollect_app'),
    ('tsvector_sum', 'recollect_app'), ('append_turns', 'recollect_app'), ('add_model', 'recollect_app'),
    ('find_key', 'recollect_app'), ('any_key', 'recollect_app'), ('note_key_use', 'recollect_app'),
    ('work_status', 'recollect_app'), ('document_work', 'recollect_app'),
    ('report_requests', 'recollect_app'), ('report_follow_ups', 'recollect_app'),
    ('report_conversations', 'recollect_app'), ('report_days', 'recollect_app'), ('report_counts', 'recollect_app'),
    ('report_asking', 'recollect_app'), ('report_signals', 'recollect_app'),
    -- These give away ids of scopes or names of users, or change what is not the caller's.
    ('find_work', 'recollect_operator'), ('wake_parked', 'recollect_operator'), ('work_troubles', 'recollect_operator'),
    ('find_documents', 'recollect_operator'), ('find_expired', 'recollect_operator'),
    ('find_old_requests', 'recollect_operator'), ('find_old_keys', 'recollect_operator'),
    ('find_upkeep', 'recollect_operator'), ('storage_by_user', 'recollect_operator'),
    ('stats_by_user', 'recollect_operator'), ('project_usage', 'recollect_operator'),
    ('list_keys', 'recollect_operator'), ('add_key', 'recollect_operator'), ('add_key_under', 'recollect_operator'),
    ('revoke_key', 'recollect_operator')
), our_table AS (
    SELECT c.oid, c.relname::text AS name, c.relowner, c.relrowsecurity AND c.relforcerowsecurity AS is_forced,
           coalesce(c.relacl, acldefault('r', c.relowner)) AS acl, w.rights,
           EXISTS (SELECT FROM pg_attribute a
                   WHERE a.attrelid = c.oid AND a.attname = 'scope_id' AND NOT a.attisdropped) AS is_scoped
    FROM pg_class c LEFT JOIN wanted_right w ON w.table_name = c.relname
    WHERE c.relnamespace = to_regnamespace('recollect') AND c.relkind IN ('r', 'p')
), our_function AS (
    SELECT p.oid, replace(p.oid::regprocedure::text, 'recollect.', '') AS name, p.proname::text AS short, p.proowner, p.prosecdef, w.role,
           coalesce(p.proacl, acldefault('f', p.proowner)) AS acl
    FROM pg_proc p LEFT JOIN wanted_function w ON w.name = p.proname
    WHERE p.pronamespace = to_regnamespace('recollect')
), wanted_policy AS (
    SELECT t.name AS table_name, p.name, p.command, p.is_owner, p.rule
    FROM our_table t CROSS JOIN (VALUES
        ('scope', 'ALL', false,
         '(scope_id = COALESCE((NULLIF(current_setting(''app.scope''::text, true), ''''::text))::uuid,'
         ' recollect.missing_scope()))'),
        -- The owner reads everything only in a transaction that says that it makes a backup.
        ('backup', 'SELECT', true, '(current_setting(''app.backup''::text, true) = ''on''::text)')
    ) AS p(name, command, is_owner, rule)
    WHERE t.is_scoped AND t.rights IS NOT NULL
    UNION ALL
    SELECT * FROM (VALUES
        ('embedding_model', 'everybody', 'ALL', false, 'true'),
        ('errand', 'everybody', 'ALL', false, 'true'),
        ('schema_migration', 'everybody', 'ALL', false, 'true'),
        ('api_key', 'owner_keeps_keys', 'ALL', true, 'true'),
        ('installation', 'owner_keeps_keys', 'ALL', true, 'true'),
        ('chunk_vector', 'owner_counts', 'SELECT', true, 'true'),
        ('conversation', 'owner_finds_work', 'SELECT', true, 'true'),
        ('conversation', 'owner_wakes_work', 'UPDATE', true, 'true'),
        ('document', 'owner_finds_work', 'SELECT', true, 'true'),
        ('embedding', 'owner_counts', 'SELECT', true, 'true'),
        ('episode', 'owner_counts', 'SELECT', true, 'true'),
        ('holder', 'owner_finds_idle', 'SELECT', true, 'true'),
        ('idempotency', 'owner_finds_old', 'SELECT', true, 'true'),
        ('memory', 'owner_finds_idle', 'SELECT', true, 'true'),
        ('request', 'owner_finds_old', 'SELECT', true, 'true'),
        ('tally', 'owner_counts', 'SELECT', true, 'true'),
        ('turn', 'owner_counts', 'SELECT', true, 'true')) AS listed(table_name, name, command, is_owner, rule)
    WHERE EXISTS (SELECT FROM our_table t WHERE t.name = listed.table_name)
), policy AS (
    SELECT t.name AS table_name, p.polname::text AS name, p.polpermissive AND p.polwithcheck IS NULL AS is_plain,
           CASE p.polcmd WHEN '*' THEN 'ALL' WHEN 'r' THEN 'SELECT' WHEN 'w' THEN 'UPDATE' ELSE p.polcmd::text END
               AS command,
           -- With or without the schema's name, which depends on the search path.
           p.polroles, replace(pg_get_expr(p.polqual, p.polrelid), 'recollect.', '') AS rule
    FROM our_table t JOIN pg_policy p ON p.polrelid = t.oid
), held_right AS (
    -- What the application, the operator and everybody hold, beside what the owner has anyway.
    SELECT t.name AS table_name, x.grantee, x.privilege_type AS name
    FROM our_table t CROSS JOIN aclexplode(t.acl) x
    UNION ALL
    SELECT t.name, x.grantee, format('%s(%s)', x.privilege_type, a.attname)
    FROM our_table t JOIN pg_attribute a ON a.attrelid = t.oid CROSS JOIN aclexplode(a.attacl) x
), difference(step, kind, problem, remedy) AS (
    SELECT 1, 'roles', format('the role %s is missing', w.name), format('CREATE ROLE %I %s', w.name, w.options)
    FROM wanted_role w WHERE to_regrole(w.name) IS NULL
    UNION ALL
    SELECT 2, 'roles', 'recollect_app may not act as recollect_operator',
           'GRANT recollect_operator TO recollect_app WITH INHERIT FALSE, SET TRUE'
    FROM owner
    WHERE NOT EXISTS (
        SELECT FROM pg_auth_members m
        WHERE m.member = to_regrole('recollect_app') AND m.roleid = to_regrole('recollect_operator')
          AND m.set_option AND NOT m.inherit_option)
    UNION ALL
    SELECT 3, 'roles', format('%s may not act as recollect_app', o.name), format('GRANT recollect_app TO %I', o.name)
    FROM owner o
    WHERE to_regrole('recollect_app') IS NULL OR NOT pg_has_role(o.oid, to_regrole('recollect_app'), 'SET')
    UNION ALL
    SELECT 4, 'grants', format('%s owns %s, and %s the other tables', pg_get_userbyid(t.relowner), t.name, o.name),
           format('ALTER TABLE recollect.%I OWNER TO %I', t.name, o.name)
    FROM owner o CROSS JOIN our_table t WHERE t.relowner <> o.oid AND t.rights IS NOT NULL
    UNION ALL
    SELECT 5, 'grants', format('%s owns %s, and %s the tables', pg_get_userbyid(f.proowner), f.name, o.name),
           format('ALTER ROUTINE recollect.%s OWNER TO %I', f.name, o.name)
    FROM owner o CROSS JOIN our_function f WHERE f.proowner <> o.oid
    UNION ALL
    SELECT 6, 'row-level security', format('%s is not one of our tables', t.name), NULL
    FROM our_table t WHERE t.rights IS NULL
    UNION ALL
    SELECT 7, 'row-level security', format('not forced on %s', t.name),
           format('ALTER TABLE recollect.%I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', t.name)
    FROM our_table t WHERE NOT t.is_forced AND t.rights IS NOT NULL
    UNION ALL
    SELECT 8, 'policies',
           format('%s on %s %s', w.name, w.table_name, CASE WHEN p.name IS NULL THEN 'is missing' ELSE 'differs' END),
           format('DROP POLICY IF EXISTS %1$I ON recollect.%2$I; CREATE POLICY %1$I ON recollect.%2$I FOR %3$s TO %4$s'
                  ' USING (%5$s)',
                  w.name, w.table_name, w.command, CASE WHEN w.is_owner THEN quote_ident(o.name) ELSE 'PUBLIC' END,
                  w.rule)
    FROM owner o CROSS JOIN wanted_policy w
    LEFT JOIN policy p ON p.table_name = w.table_name AND p.name = w.name
    WHERE p.name IS NULL OR NOT p.is_plain OR p.command <> w.command OR p.rule IS DISTINCT FROM replace(w.rule, 'recollect.', '')
       OR p.polroles <> ARRAY[CASE WHEN w.is_owner THEN o.oid ELSE 0 END]::oid[]
    UNION ALL
    SELECT 9, 'policies', format('%s on %s is not one of ours', p.name, p.table_name), NULL
    FROM policy p
    WHERE NOT EXISTS (SELECT FROM wanted_policy w WHERE w.table_name = p.table_name AND w.name = p.name)
    UNION ALL
    SELECT 10, 'grants', format('%s lacks USAGE on the schema', w.name),
           format('GRANT USAGE ON SCHEMA recollect TO %I', w.name)
    FROM owner CROSS JOIN wanted_role w
    WHERE to_regrole(w.name) IS NULL OR NOT EXISTS (
        SELECT FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) x
        WHERE n.nspname = 'recollect' AND x.grantee = to_regrole(w.name) AND x.privilege_type = 'USAGE')
    UNION ALL
    SELECT 11, 'grants', format('others than the owner may create things in the schema'),
           'REVOKE CREATE ON SCHEMA recollect FROM PUBLIC, recollect_app, recollect_operator'
    FROM pg_namespace n
    WHERE n.nspname = 'recollect' AND EXISTS (
        SELECT FROM aclexplode(n.nspacl) x
        WHERE x.privilege_type = 'CREATE'
          AND x.grantee IN (0, to_regrole('recollect_app'), to_regrole('recollect_operator')))
    UNION ALL
    SELECT 12, 'grants', format('recollect_app lacks %s on %s', r.name, t.name),
           format('GRANT %s ON recollect.%I TO recollect_app', r.name, t.name)
    FROM our_table t CROSS JOIN unnest(t.rights) AS r(name)
    WHERE to_regrole('recollect_app') IS NULL OR NOT EXISTS (
        SELECT FROM held_right h
        WHERE h.table_name = t.name AND h.grantee = to_regrole('recollect_app') AND h.name = r.name)
    UNION ALL
    SELECT 13, 'grants', format('%s has %s on %s', CASE h.grantee WHEN 0 THEN 'everybody' ELSE g.name END, h.name,
                                h.table_name),
           format('REVOKE %s ON recollect.%I FROM %s', h.name, h.table_name, g.name)
    FROM held_right h JOIN our_table t ON t.name = h.table_name
    JOIN LATERAL (SELECT CASE h.grantee WHEN 0 THEN 'PUBLIC' ELSE pg_get_userbyid(h.grantee)::text END) g(name)
      ON h.grantee IN (0, to_regrole('recollect_app'), to_regrole('recollect_operator'))
    WHERE t.rights IS NOT NULL AND h.grantee <> t.relowner
      AND (h.grantee IS DISTINCT FROM to_regrole('recollect_app') OR h.name <> ALL (t.rights))
    UNION ALL
    SELECT 14, 'grants', format('everybody may run %s', f.name), format('REVOKE ALL ON ROUTINE recollect.%s FROM PUBLIC', f.name)
    FROM our_function f WHERE EXISTS (SELECT FROM aclexplode(f.acl) x WHERE x.grantee = 0)
    UNION ALL
    SELECT 15, 'grants', format('%s may not run %s', f.role, f.name),
           format('GRANT EXECUTE ON ROUTINE recollect.%s TO %I', f.name, f.role)
    FROM our_function f
    WHERE f.role IS NOT NULL AND (to_regrole(f.role) IS NULL OR NOT EXISTS (
        SELECT FROM aclexplode(f.acl) x WHERE x.grantee = to_regrole(f.role)))
    UNION ALL
    SELECT 16, 'grants', format('recollect_app may run %s', f.name),
           format('REVOKE ALL ON ROUTINE recollect.%s FROM recollect_app', f.name)
    FROM our_function f
    WHERE f.role = 'recollect_operator'
      AND EXISTS (SELECT FROM aclexplode(f.acl) x WHERE x.grantee = to_regrole('recollect_app'))
)
SELECT kind, problem, remedy FROM difference ORDER BY step, problem

-- name: limits
-- What the application's role can do without, as statements that take it away: temporary tables and large objects. Both
-- are everybody's by default, so they are taken from everybody, and only in a database that nobody shares with us, where
-- the owner of our tables may do so.
WITH owner AS (
    SELECT r.oid, r.rolsuper FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner
    WHERE c.relnamespace = to_regnamespace('recollect') AND c.relname = 'schema_migration'
      AND NOT EXISTS (
          SELECT FROM pg_class o JOIN pg_namespace n ON n.oid = o.relnamespace
          WHERE o.relkind IN ('r', 'p') AND n.nspname NOT IN ('recollect', 'pg_catalog', 'information_schema', 'pg_toast')
            AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = o.oid AND d.deptype = 'e'))
)
SELECT format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', d.datname) AS remedy
FROM owner o JOIN pg_database d ON d.datname = current_database()
WHERE pg_has_role(o.oid, d.datdba, 'USAGE')
  AND EXISTS (SELECT FROM aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) x
              WHERE x.grantee = 0 AND x.privilege_type = 'TEMPORARY')
UNION ALL
SELECT format('REVOKE EXECUTE ON FUNCTION pg_catalog.%s FROM PUBLIC', p.oid::regprocedure)
FROM owner o JOIN pg_proc p ON p.pronamespace = 'pg_catalog'::regnamespace
WHERE o.rolsuper
  AND p.proname IN ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_open', 'lo_close', 'lo_put', 'lo_get', 'lo_unlink',
                    'lo_lseek', 'lo_lseek64', 'lo_tell', 'lo_tell64', 'lo_truncate', 'lo_truncate64', 'loread',
                    'lowrite')
  AND EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x WHERE x.grantee = 0)
