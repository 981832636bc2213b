-- API keys: who may come in. Of the installation, not of a scope.
--
-- The application's role has no right on the table at all. It asks through functions that run as the owner, each for one
-- thing: by the digest of a secret it can find one key, and nothing tells it a digest.

CREATE TABLE api_key (
    id           uuid        PRIMARY KEY,
    digest       bytea       NOT NULL UNIQUE CHECK (octet_length(digest) = 32),  -- SHA-256 of the secret part
    prefix       text        NOT NULL,  -- shown, so that people can tell keys apart
    name         text        NOT NULL,
    role         text        NOT NULL CHECK (role IN ('admin', 'data', 'service', 'user')),
    project      text,                  -- none: every project
    user_id      text,
    created_at   timestamptz NOT NULL,
    created_by   text        NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    revoked_by   text,
    last_used_at timestamptz,           -- to the minute or so
    CHECK (project IS NOT NULL OR role IN ('admin', 'service')),
    CHECK ((role = 'user') = (user_id IS NOT NULL))
);
ALTER TABLE api_key ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps_keys ON api_key TO CURRENT_USER USING (true);

-- What the functions give away of a key: all but its digest.
CREATE TYPE shown_key AS (
    id uuid, prefix text, name text, role text, project text, user_id text, created_at timestamptz, created_by text,
    expires_at timestamptz, revoked_at timestamptz, revoked_by text, last_used_at timestamptz);

CREATE FUNCTION find_key(hash bytea) RETURNS SETOF shown_key
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
           k.revoked_at, k.revoked_by, k.last_used_at
    FROM api_key k WHERE k.digest = hash
$$;

-- Whether a key was ever made. A revoked one counts: taking back the last key must not open the door to everybody.
CREATE FUNCTION any_key() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT EXISTS (SELECT FROM api_key)
$$;

CREATE FUNCTION add_key(
    id uuid, hash bytea, prefix text, name text, role text, project text, user_id text, moment timestamptz, by text,
    expires timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    INSERT INTO api_key (id, digest, prefix, name, role, project, user_id, created_at, created_by, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
$$;

-- Without a project: any key; with one: only a key of that project. The first revocation is the one that is kept.
CREATE FUNCTION revoke_key(wanted uuid, of_project text, moment timestamptz, by text) RETURNS SETOF shown_key
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    UPDATE api_key k
    SET revoked_by = CASE WHEN k.revoked_at IS NULL THEN by ELSE k.revoked_by END,
        revoked_at = coalesce(k.revoked_at, moment)
    WHERE k.id = wanted AND (of_project IS NULL OR k.project = of_project)
    RETURNING k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
              k.revoked_at, k.revoked_by, k.last_used_at
$$;

CREATE FUNCTION list_keys(of_project text) RETURNS SETOF shown_key
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
           k.revoked_at, k.revoked_by, k.last_used_at
    FROM api_key k WHERE of_project IS NULL OR k.project = of_project
    ORDER BY k.created_at, k.id
$$;

CREATE FUNCTION note_key_use(wanted uuid, moment timestamptz) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    UPDATE api_key k SET last_used_at = moment
    WHERE k.id = wanted AND (k.last_used_at IS NULL OR k.last_used_at <= moment - interval '1 minute')
$$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['find_key', 'any_key', 'add_key', 'revoke_key', 'list_keys', 'note_key_use'] LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %I FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO recollect_app', name);
    END LOOP;
END $$;
