-- The log (conversation, turn), what is derived from it (sketch, embedding, chapter), and the diary of requests.
--
-- Rules that every table keeps (docs/why/scope_id.md):
--   scope_id comes first: in the table, in every key, in every query. It is the shard and the wall.
--   Row-level security is forced, compares scope_id with the transaction's `app.scope`, and lets nothing through
--   when that is missing. The application's role owns nothing and cannot bypass it.

-- Roles are shared by all databases of a server: it may be there, or be made at this moment by another migration.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'recollect_app') THEN
        CREATE ROLE recollect_app LOGIN;
    END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
-- The application may log in as the owner and step down to the role.
DO $$ BEGIN
    IF NOT pg_has_role(current_user, 'recollect_app', 'SET') THEN
        GRANT recollect_app TO CURRENT_USER;
    END IF;
END $$;

GRANT USAGE ON SCHEMA recollect TO recollect_app;

-- SET LOCAL, not set_config(): it reaches the workers of a cluster, and it ends with the transaction, so that a
-- pooled connection can never carry one user's scope into another's request.
CREATE FUNCTION open_scope(scope uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL app.scope = %L', scope);
END $$;


-- What was said ------------------------------------------------------------------------------------------------------

CREATE TABLE conversation (
    scope_id          uuid        NOT NULL,
    id                uuid        NOT NULL,
    project           text        NOT NULL,
    user_id           text        NOT NULL,
    session_id        text        NOT NULL,
    name              text        NOT NULL,
    turn_count        int         NOT NULL,
    interaction_count int         NOT NULL,
    created_at        timestamptz NOT NULL,
    updated_at        timestamptz NOT NULL,
    expires_at        timestamptz,
    -- The model whose vectors cover every turn that should have one; 0 while some are missing. Work for the
    -- worker is whatever does not carry the current model. The value rarely changes, so appends stay cheap (HOT).
    embedded_model    smallint    NOT NULL,
    chaptered_turns   int         NOT NULL DEFAULT 0,  -- how far its chapters reach
    lease_until       timestamptz,
    attempts          smallint    NOT NULL DEFAULT 0,
    last_error        text,
    PRIMARY KEY (scope_id, id),
    UNIQUE (scope_id, session_id)
);
CREATE INDEX conversation_work ON conversation (embedded_model);

CREATE TABLE turn (
    scope_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    turn_index      int         NOT NULL,
    role            text        NOT NULL,
    speaker         text,
    text            text        NOT NULL,
    said_at         timestamptz NOT NULL,
    recorded_at     timestamptz NOT NULL,
    data            jsonb,
    high_value      boolean     NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, turn_index),
    FOREIGN KEY (scope_id, conversation_id) REFERENCES conversation (scope_id, id)
);


-- What is derived ----------------------------------------------------------------------------------------------------

-- A turn as recall sees it. No foreign key: `forget` removes it beside its turn and counts it, and
-- `recollect db check` looks for strays.
CREATE TABLE sketch (
    scope_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    turn_index      int         NOT NULL,
    said_at         timestamptz NOT NULL,
    speaker_key     int         NOT NULL,  -- a number for the name; 0: nobody in particular
    flags           smallint    NOT NULL,  -- model/sketch.py names the bits
    tokens          int         NOT NULL,
    length          int         NOT NULL,  -- in lexemes, for BM25
    terms           tsvector    NOT NULL,  -- lexemes made by model/text.py; the number of positions is the frequency
    PRIMARY KEY (scope_id, conversation_id, turn_index)
);
-- Recall reads every row of a user's scope: keep the lexemes in the row, uncompressed.
ALTER TABLE sketch ALTER terms SET STORAGE EXTERNAL;
ALTER TABLE sketch SET (toast_tuple_target = 8160);

CREATE TABLE embedding_model (
    id        smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name      text     NOT NULL,
    dimension int      NOT NULL,
    UNIQUE (name, dimension)
);

-- Vectors are kept per model: changing it is a job, and going back costs nothing.
CREATE TABLE embedding (
    scope_id        uuid     NOT NULL,
    model_id        smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    turn_index      int      NOT NULL,
    vector          halfvec  NOT NULL,
    PRIMARY KEY (scope_id, model_id, conversation_id, turn_index)
);
ALTER TABLE embedding ALTER vector SET STORAGE PLAIN;

-- A giant scope is first searched by chapter: a run of turns of one conversation, as one document. Made only there.
CREATE TABLE chapter (
    scope_id        uuid     NOT NULL,
    conversation_id uuid     NOT NULL,
    first_turn      int      NOT NULL,
    last_turn       int      NOT NULL,
    length          int      NOT NULL,
    terms           tsvector NOT NULL,
    vector          halfvec,  -- mean of its turns' vectors, of the model below
    model_id        smallint NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, first_turn)
);
ALTER TABLE chapter ALTER terms SET STORAGE EXTERNAL;
ALTER TABLE chapter SET (toast_tuple_target = 8160);

CREATE AGGREGATE tsvector_sum(tsvector) (SFUNC = tsvector_concat, STYPE = tsvector, INITCOND = '');


-- What was asked of us -----------------------------------------------------------------------------------------------

CREATE TABLE idempotency (
    scope_id   uuid        NOT NULL,
    key        text        NOT NULL,
    body       bytea       NOT NULL,  -- digest of the request
    answer     jsonb,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (scope_id, key)
);

CREATE TABLE request (
    scope_id             uuid        NOT NULL,
    id                   uuid        NOT NULL,
    project              text        NOT NULL,
    user_id              text        NOT NULL,
    session_id           text,
    created_at           timestamptz NOT NULL,
    verb                 text        NOT NULL,
    query                text        NOT NULL,
    scope_used           text        NOT NULL,
    fts_hits             int         NOT NULL,
    trgm_hits            int         NOT NULL,
    vector_hits          int         NOT NULL,
    hits_found           int         NOT NULL,
    hits_used            int         NOT NULL,
    used_fallback        boolean     NOT NULL,
    retrieval_path       text        NOT NULL,
    context_items        int         NOT NULL,
    estimated_tokens     int         NOT NULL,
    budget_tokens        int         NOT NULL,
    truncated            boolean     NOT NULL,
    latency_retrieval_ms int         NOT NULL,
    latency_llm_ms       int,
    model                text,
    error_stage          text,
    trace                jsonb       NOT NULL,  -- what explain() shows
    PRIMARY KEY (scope_id, id)
);
CREATE INDEX request_by_time ON request (scope_id, created_at);


-- Isolation ----------------------------------------------------------------------------------------------------------

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['conversation', 'turn', 'sketch', 'embedding', 'chapter', 'idempotency', 'request'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY scope ON %I USING (scope_id = nullif(current_setting(''app.scope'', true), '''')::uuid)', name);
        EXECUTE format('GRANT SELECT, INSERT, DELETE ON %I TO recollect_app', name);
    END LOOP;
END $$;
-- The log is written once: nobody but the owner may update a turn, and the owner has no reason to.
GRANT UPDATE ON conversation, sketch, chapter, idempotency TO recollect_app;

-- Names of models are nobody's secret, but the wall stands on every table.
ALTER TABLE embedding_model ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY everybody ON embedding_model USING (true);
GRANT SELECT, INSERT ON embedding_model TO recollect_app;
ALTER TABLE schema_migration ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY everybody ON schema_migration USING (true);
GRANT SELECT ON schema_migration TO recollect_app;

-- The worker must find work in every scope without reading any. The owner may see conversations, and this function,
-- which runs as the owner, gives away ids only.
CREATE POLICY owner_finds_work ON conversation FOR SELECT TO CURRENT_USER USING (true);
CREATE FUNCTION find_unembedded(current_model smallint, most int)
RETURNS TABLE (scope_id uuid, conversation_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT c.scope_id, c.id
    FROM conversation c
    WHERE (c.embedded_model < current_model OR c.embedded_model > current_model)
      AND (c.lease_until IS NULL OR c.lease_until < now())
    LIMIT most
$$;
REVOKE ALL ON FUNCTION find_unembedded FROM PUBLIC;
GRANT EXECUTE ON FUNCTION find_unembedded TO recollect_app;
