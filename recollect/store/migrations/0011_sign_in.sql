-- Signing in: a key in a browser is a key of its own, made under the one that was shown, and not good beyond it.
--
-- It is found like any key; it ends with the one it was made under, and is not listed beside it.

ALTER TABLE api_key ADD COLUMN under uuid REFERENCES api_key ON DELETE CASCADE;
CREATE INDEX api_key_under ON api_key (under) WHERE under IS NOT NULL;

CREATE OR REPLACE FUNCTION find_key(hash bytea) RETURNS SETOF shown_key
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by,
           least(k.expires_at, u.expires_at), coalesce(k.revoked_at, u.revoked_at),
           coalesce(k.revoked_by, u.revoked_by), k.last_used_at
    FROM api_key k LEFT JOIN api_key u ON u.id = k.under
    WHERE k.digest = hash
$$;

CREATE OR REPLACE FUNCTION list_keys(of_project text) RETURNS SETOF shown_key
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
           k.revoked_at, k.revoked_by, k.last_used_at
    FROM api_key k WHERE k.under IS NULL AND (of_project IS NULL OR k.project = of_project)
    ORDER BY k.created_at, k.id
$$;

-- Of the same role, project and user as the key it is made under; those that are over are cleared away with it. Nothing
-- is made under a key that was itself made so: a browser could prolong it for ever.
CREATE FUNCTION add_key_under(id uuid, hash bytea, prefix text, parent uuid, moment timestamptz, expires timestamptz)
RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    DELETE FROM api_key k WHERE k.under = parent AND (k.expires_at <= moment OR k.revoked_at IS NOT NULL);
    INSERT INTO api_key (id, digest, prefix, name, role, project, user_id, created_at, created_by, expires_at, under)
    SELECT $1, $2, $3, p.name, p.role, p.project, p.user_id, moment, p.name, expires, p.id
    FROM api_key p WHERE p.id = parent AND p.under IS NULL
    RETURNING true
$$;
REVOKE ALL ON FUNCTION add_key_under FROM PUBLIC;
GRANT EXECUTE ON FUNCTION add_key_under TO recollect_app;
