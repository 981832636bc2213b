-- What is known: memories, each resting on evidence; episodes; the ontology; and the trail of every change.
--
-- Evidence is one row per time something was said or decided by a person. A memory is what a fold over the evidence of
-- its key makes of it (model/reconcile.py), so it can always be made anew from what is left after an erasure.

-- Whose memory a scope is. Its version is raised by every change of what is known, so that whoever decided on an older
-- reading finds out and decides again: two workers may learn from two conversations of one user at once.
CREATE TABLE holder (
    scope_id   uuid        NOT NULL,
    project    text        NOT NULL,
    user_id    text,                  -- none: what the project knows
    version    int         NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (scope_id)
);

CREATE TABLE evidence (
    scope_id        uuid        NOT NULL,
    id              uuid        NOT NULL,
    memory_id       uuid,              -- none: less sure than what is known, or overtaken
    act             text        NOT NULL,  -- says, proposes, refuses, retracts, completes, promotes
    kind            text        NOT NULL,
    key             text        NOT NULL,
    value           text        NOT NULL,
    data            jsonb,
    confidence      float8      NOT NULL,
    importance      float8      NOT NULL,
    source          text        NOT NULL,
    learned_by      text        NOT NULL,  -- rules, model, person
    corrects        boolean     NOT NULL,
    old             text,              -- the value it takes the place of, in the words of the user
    said_at         timestamptz NOT NULL,
    conversation_id uuid,              -- the turn it was said in; none: a person told us outright
    session_id      text,
    turn_index      int,
    author          text,              -- who told us
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (scope_id, id)
);
-- Learned twice is learned once, whatever happens between a worker and its lease.
CREATE UNIQUE INDEX evidence_once ON evidence (scope_id, conversation_id, turn_index, act, kind, key, md5(value));
CREATE INDEX evidence_key ON evidence (scope_id, key);

CREATE TABLE memory (
    scope_id        uuid        NOT NULL,
    id              uuid        NOT NULL,
    kind            text        NOT NULL,
    key             text        NOT NULL,
    value           text        NOT NULL,
    data            jsonb,
    terms           text[]      NOT NULL,  -- what `resolve` finds it by; empty for what defines no term
    words           tsvector    NOT NULL,  -- lexemes of key and value
    confidence      float8      NOT NULL,  -- as the evidence has it; `decayed` is taken off when it is read
    decayed         float8      NOT NULL DEFAULT 0,
    importance      float8      NOT NULL,
    source          text        NOT NULL,
    learned_by      text        NOT NULL,
    status          text        NOT NULL,  -- active, pending, superseded, retracted
    valid_from      timestamptz NOT NULL,
    valid_to        timestamptz,
    reason          text,                  -- why it ended
    replaced_by     uuid,
    refs            text[]      NOT NULL,  -- turns it rests on, newest first, a few
    usage_count     int         NOT NULL DEFAULT 0,
    last_used_at    timestamptz,
    last_decayed_at timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    PRIMARY KEY (scope_id, id)
);
CREATE INDEX memory_key ON memory (scope_id, key);

-- What was turned away while learning, counted by reason and day.
CREATE TABLE tally (
    scope_id   uuid NOT NULL,
    day        date NOT NULL,
    reason     text NOT NULL,
    count      int  NOT NULL,
    PRIMARY KEY (scope_id, day, reason)
);

CREATE TABLE episode (
    scope_id        uuid        NOT NULL,
    conversation_id uuid        NOT NULL,
    first_turn      int         NOT NULL,
    last_turn       int         NOT NULL,
    id              uuid        NOT NULL,
    session_id      text        NOT NULL,
    summary         text        NOT NULL,
    structure       jsonb       NOT NULL,  -- facts, preferences, decisions, todos, entities
    learned_by      text        NOT NULL,
    model           text,
    tokens          int         NOT NULL,
    said_from       timestamptz NOT NULL,
    said_to         timestamptz NOT NULL,
    terms           tsvector    NOT NULL,
    vector          halfvec,
    model_id        smallint    NOT NULL,  -- of the vector; 0: none
    created_at      timestamptz NOT NULL,
    PRIMARY KEY (scope_id, conversation_id, first_turn)
);
ALTER TABLE episode ALTER terms SET STORAGE EXTERNAL;

-- What the ontology of a project says about its tables, columns, values, relationships and words.
CREATE TABLE term (
    scope_id    uuid        NOT NULL,
    name        text        NOT NULL,      -- "orders", "orders.total", "orders.status=paid", or a word of the glossary
    kind        text        NOT NULL,      -- table, column, value, relationship, glossary
    terms       text[]      NOT NULL,      -- what `resolve` finds it by: its name and synonyms, stemmed
    description text        NOT NULL,
    synonyms    text[]      NOT NULL,
    sql         text,
    data        jsonb       NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (scope_id, kind, name)  -- a table and a word of the glossary may share a name
);

-- A row for every change of what is known and for every erasure. It names things by id and counts them; it never says
-- what they were, so it may stay when they are gone.
CREATE TABLE audit (
    scope_id   uuid        NOT NULL,
    id         uuid        NOT NULL,
    at         timestamptz NOT NULL,
    actor      text        NOT NULL,
    action     text        NOT NULL,
    subject    text        NOT NULL,
    detail     jsonb       NOT NULL,
    PRIMARY KEY (scope_id, id)
);


-- Work -----------------------------------------------------------------------------------------------------------------

ALTER TABLE conversation
    ADD COLUMN due            boolean NOT NULL DEFAULT true,  -- the log is ahead of something derived from it
    ADD COLUMN learned_turns  int     NOT NULL DEFAULT 0,     -- how far the rules have read
    ADD COLUMN reasoned_turns int     NOT NULL DEFAULT 0,     -- how far a model has
    ADD COLUMN episode_turns  int     NOT NULL DEFAULT 0,     -- how far its episodes reach
    ADD COLUMN parked         text[]  NOT NULL DEFAULT '{}',  -- stages that failed too often, and wait
    ADD COLUMN retry_at       timestamptz,                    -- until then
    ADD COLUMN failed_at      timestamptz;
CREATE INDEX conversation_due ON conversation (id) WHERE due;
CREATE INDEX conversation_parked ON conversation (id) WHERE parked <> '{}';

-- Raised inside a pipelined transaction, it undoes all of it.
CREATE FUNCTION insist(holds boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'what was read has changed since' USING ERRCODE = 'RM001';
    END IF;
END $$;


-- Isolation ------------------------------------------------------------------------------------------------------------

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['holder', 'evidence', 'memory', 'tally', 'episode', 'term', 'audit'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY scope ON %I USING (scope_id = nullif(current_setting(''app.scope'', true), '''')::uuid)', name);
        EXECUTE format('GRANT SELECT, INSERT ON %I TO recollect_app', name);
    END LOOP;
END $$;
-- The trail is written once, like the log.
GRANT UPDATE, DELETE ON holder, evidence, memory, tally, episode, term TO recollect_app;

-- The worker finds work in every scope without reading any: functions that run as the owner give away ids and counts.
CREATE POLICY owner_wakes_work ON conversation FOR UPDATE TO CURRENT_USER USING (true);
CREATE POLICY owner_finds_idle ON memory FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_finds_old ON request FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_finds_old ON idempotency FOR SELECT TO CURRENT_USER USING (true);

DROP FUNCTION find_unembedded;
CREATE FUNCTION find_work(current_model smallint, most int)
RETURNS TABLE (scope_id uuid, conversation_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    (SELECT c.scope_id, c.id FROM conversation c
     WHERE c.due AND (c.lease_until IS NULL OR c.lease_until < now()) LIMIT most)
    UNION ALL
    (SELECT c.scope_id, c.id FROM conversation c
     WHERE (c.embedded_model < current_model OR c.embedded_model > current_model)
       AND NOT c.due AND (c.lease_until IS NULL OR c.lease_until < now()) LIMIT most)
    UNION ALL
    (SELECT c.scope_id, c.id FROM conversation c
     WHERE c.parked <> '{}' AND c.retry_at < now()
       AND NOT c.due AND (c.lease_until IS NULL OR c.lease_until < now()) LIMIT most)
$$;

-- What was parked is tried once more: the server it waited for answers again, or a person said so.
CREATE FUNCTION wake_parked(stage text) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH woken AS (
        UPDATE conversation SET retry_at = NULL, due = true
        WHERE parked <> '{}' AND (stage = ANY(parked) OR stage = '') RETURNING 1)
    SELECT count(*) FROM woken
$$;

CREATE FUNCTION work_status()
RETURNS TABLE (due bigint, leased bigint, failing bigint, parked bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT count(*) FILTER (WHERE c.due),
           count(*) FILTER (WHERE c.due AND c.attempts > 0 AND c.last_error IS NULL AND c.lease_until > now()),
           count(*) FILTER (WHERE c.last_error IS NOT NULL AND c.parked = '{}'),
           count(*) FILTER (WHERE c.parked <> '{}'),
           min(c.updated_at) FILTER (WHERE c.due)
    FROM conversation c
    WHERE c.due OR c.parked <> '{}' OR c.last_error IS NOT NULL
$$;

CREATE FUNCTION work_troubles(most int)
RETURNS TABLE (scope_id uuid, conversation_id uuid, attempts smallint, parked text[], failed_at timestamptz,
               next_try timestamptz, error text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT c.scope_id, c.id, c.attempts, c.parked, c.failed_at, coalesce(c.retry_at, c.lease_until), c.last_error
    FROM conversation c
    WHERE (c.due OR c.parked <> '{}') AND c.last_error IS NOT NULL
    ORDER BY c.failed_at DESC
    LIMIT most
$$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['find_work', 'wake_parked', 'work_status', 'work_troubles'] LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %I FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO recollect_app', name);
    END LOOP;
END $$;
