-- The whole schema as the migrations leave it, for readers. Nothing runs this file: a test compares it with the
-- migrations, and `RECOLLECT_WRITE_SCHEMA=1 pytest tests/store/test_migrate.py` writes it.

CREATE SCHEMA recollect;

CREATE FUNCTION recollect.find_unembedded(current_model smallint, most integer) RETURNS TABLE(scope_id uuid, conversation_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT c.scope_id, c.id
    FROM conversation c
    WHERE (c.embedded_model < current_model OR c.embedded_model > current_model)
      AND (c.lease_until IS NULL OR c.lease_until < now())
    LIMIT most
$$;

CREATE FUNCTION recollect.open_scope(scope uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    EXECUTE format('SET LOCAL app.scope = %L', scope);
END $$;

CREATE AGGREGATE recollect.tsvector_sum(tsvector) (
    SFUNC = tsvector_concat,
    STYPE = tsvector,
    INITCOND = ''
);

CREATE TABLE recollect.chapter (
    scope_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    first_turn integer NOT NULL,
    last_turn integer NOT NULL,
    length integer NOT NULL,
    terms tsvector NOT NULL,
    vector public.halfvec,
    model_id smallint NOT NULL
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY recollect.chapter ALTER COLUMN terms SET STORAGE EXTERNAL;

ALTER TABLE ONLY recollect.chapter FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.conversation (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    project text NOT NULL,
    user_id text NOT NULL,
    session_id text NOT NULL,
    name text NOT NULL,
    turn_count integer NOT NULL,
    interaction_count integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    embedded_model smallint NOT NULL,
    chaptered_turns integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    attempts smallint DEFAULT 0 NOT NULL,
    last_error text
);

ALTER TABLE ONLY recollect.conversation FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.embedding (
    scope_id uuid NOT NULL,
    model_id smallint CONSTRAINT embedding_model_id_not_null1 NOT NULL,
    conversation_id uuid NOT NULL,
    turn_index integer NOT NULL,
    vector public.halfvec NOT NULL
);
ALTER TABLE ONLY recollect.embedding ALTER COLUMN vector SET STORAGE PLAIN;

ALTER TABLE ONLY recollect.embedding FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.embedding_model (
    id smallint NOT NULL,
    name text NOT NULL,
    dimension integer NOT NULL
);

ALTER TABLE ONLY recollect.embedding_model FORCE ROW LEVEL SECURITY;

ALTER TABLE recollect.embedding_model ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME recollect.embedding_model_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE recollect.idempotency (
    scope_id uuid NOT NULL,
    key text NOT NULL,
    body bytea NOT NULL,
    answer jsonb,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.request (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    project text NOT NULL,
    user_id text NOT NULL,
    session_id text,
    created_at timestamp with time zone NOT NULL,
    verb text NOT NULL,
    query text NOT NULL,
    scope_used text NOT NULL,
    fts_hits integer NOT NULL,
    trgm_hits integer NOT NULL,
    vector_hits integer NOT NULL,
    hits_found integer NOT NULL,
    hits_used integer NOT NULL,
    used_fallback boolean NOT NULL,
    retrieval_path text NOT NULL,
    context_items integer NOT NULL,
    estimated_tokens integer NOT NULL,
    budget_tokens integer NOT NULL,
    truncated boolean NOT NULL,
    latency_retrieval_ms integer NOT NULL,
    latency_llm_ms integer,
    model text,
    error_stage text,
    trace jsonb NOT NULL
);

ALTER TABLE ONLY recollect.request FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.schema_migration (
    version integer NOT NULL,
    name text NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY recollect.schema_migration FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.sketch (
    scope_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    turn_index integer NOT NULL,
    said_at timestamp with time zone NOT NULL,
    speaker_key integer NOT NULL,
    flags smallint NOT NULL,
    tokens integer NOT NULL,
    length integer NOT NULL,
    terms tsvector NOT NULL
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY recollect.sketch ALTER COLUMN terms SET STORAGE EXTERNAL;

ALTER TABLE ONLY recollect.sketch FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.turn (
    scope_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    turn_index integer NOT NULL,
    role text NOT NULL,
    speaker text,
    text text NOT NULL,
    said_at timestamp with time zone NOT NULL,
    recorded_at timestamp with time zone NOT NULL,
    data jsonb,
    high_value boolean NOT NULL
);

ALTER TABLE ONLY recollect.turn FORCE ROW LEVEL SECURITY;

ALTER TABLE ONLY recollect.chapter
    ADD CONSTRAINT chapter_pkey PRIMARY KEY (scope_id, conversation_id, first_turn);

ALTER TABLE ONLY recollect.conversation
    ADD CONSTRAINT conversation_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.conversation
    ADD CONSTRAINT conversation_scope_id_session_id_key UNIQUE (scope_id, session_id);

ALTER TABLE ONLY recollect.embedding_model
    ADD CONSTRAINT embedding_model_name_dimension_key UNIQUE (name, dimension);

ALTER TABLE ONLY recollect.embedding_model
    ADD CONSTRAINT embedding_model_pkey PRIMARY KEY (id);

ALTER TABLE ONLY recollect.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (scope_id, model_id, conversation_id, turn_index);

ALTER TABLE ONLY recollect.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (scope_id, key);

ALTER TABLE ONLY recollect.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY recollect.sketch
    ADD CONSTRAINT sketch_pkey PRIMARY KEY (scope_id, conversation_id, turn_index);

ALTER TABLE ONLY recollect.turn
    ADD CONSTRAINT turn_pkey PRIMARY KEY (scope_id, conversation_id, turn_index);

CREATE INDEX conversation_work ON recollect.conversation USING btree (embedded_model);

CREATE INDEX request_by_time ON recollect.request USING btree (scope_id, created_at);

ALTER TABLE ONLY recollect.turn
    ADD CONSTRAINT turn_scope_id_conversation_id_fkey FOREIGN KEY (scope_id, conversation_id) REFERENCES recollect.conversation(scope_id, id);

ALTER TABLE recollect.chapter ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.conversation ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.embedding_model ENABLE ROW LEVEL SECURITY;

CREATE POLICY everybody ON recollect.embedding_model USING (true);

CREATE POLICY everybody ON recollect.schema_migration USING (true);

ALTER TABLE recollect.idempotency ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_finds_work ON recollect.conversation FOR SELECT TO CURRENT_USER USING (true);

ALTER TABLE recollect.request ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.schema_migration ENABLE ROW LEVEL SECURITY;

CREATE POLICY scope ON recollect.chapter USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.conversation USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.embedding USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.idempotency USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.request USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.sketch USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

CREATE POLICY scope ON recollect.turn USING ((scope_id = (NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid));

ALTER TABLE recollect.sketch ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.turn ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA recollect TO recollect_app;

REVOKE ALL ON FUNCTION recollect.find_unembedded(current_model smallint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_unembedded(current_model smallint, most integer) TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.chapter TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.conversation TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.embedding TO recollect_app;

GRANT SELECT,INSERT ON TABLE recollect.embedding_model TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.idempotency TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.request TO recollect_app;

GRANT SELECT ON TABLE recollect.schema_migration TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.sketch TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.turn TO recollect_app;
