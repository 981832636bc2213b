-- Data sources: databases that a project asks. The DSN may hold a password: it is read by nothing but the host that opens
-- the source, and is in no export, listing or log.

CREATE TABLE data_source (
    scope_id    uuid        NOT NULL,      -- the project's
    name        text        NOT NULL,
    dsn         text        NOT NULL,
    dialect     text        NOT NULL,
    fingerprint text        NOT NULL,      -- of its shape, when it was last read
    catalog     jsonb       NOT NULL,      -- tables, columns, keys, some values
    model       jsonb       NOT NULL,      -- what they are about, in people's words
    access      jsonb       NOT NULL,      -- what each role may see; a role that is not named sees everything
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (scope_id, name)
);
ALTER TABLE data_source ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON data_source USING (scope_id = nullif(current_setting('app.scope', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON data_source TO recollect_app;

-- Question shapes: how many users asked the same thing, literals removed. Digests only: of the shape, and of who asked.
CREATE TABLE shape (
    scope_id   uuid        NOT NULL,       -- the project's
    digest     bytea       NOT NULL,
    askers     uuid[]      NOT NULL,       -- their scopes, the first few
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (scope_id, digest)
);
ALTER TABLE shape ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY scope ON shape USING (scope_id = nullif(current_setting('app.scope', true), '')::uuid);
GRANT SELECT, INSERT, UPDATE, DELETE ON shape TO recollect_app;
