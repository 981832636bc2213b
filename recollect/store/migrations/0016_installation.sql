-- Whether a key was ever made is a fact of its own. It was read from the rows of `api_key`, and rows that row-level
-- security hides look like no rows: a restored database whose policies were lost was open to everybody.

CREATE TABLE installation (
    id       boolean PRIMARY KEY DEFAULT true CHECK (id),  -- there is one row
    key_made boolean NOT NULL                              -- false: nobody ever made a key, and callers need none
);

-- The keys are counted as they are: where the owner's policy on them was lost, it would see none. Without FORCE the owner
-- sees every row, and with row_security off anybody else gets an error instead of fewer rows.
ALTER TABLE api_key NO FORCE ROW LEVEL SECURITY;
SET LOCAL row_security = off;
INSERT INTO installation (key_made) SELECT EXISTS (SELECT FROM api_key);
SET LOCAL row_security = on;
ALTER TABLE api_key FORCE ROW LEVEL SECURITY;
ALTER TABLE installation ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY owner_keeps_keys ON installation TO CURRENT_USER USING (true);

-- Whether callers must show a key. If the row cannot be seen, for whatever reason, they must.
CREATE OR REPLACE FUNCTION any_key() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT coalesce((SELECT i.key_made FROM installation i), true)
$$;

CREATE OR REPLACE FUNCTION add_key(
    id uuid, hash bytea, prefix text, name text, role text, project text, user_id text, moment timestamptz, by text,
    expires timestamptz)
RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    UPDATE installation i SET key_made = true WHERE NOT i.key_made;
    INSERT INTO api_key (id, digest, prefix, name, role, project, user_id, created_at, created_by, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
$$;
