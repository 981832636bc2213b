-- One text of SQL for one server and for a cluster of Citus, where each statement on a user's rows must reach one shard.

-- A statement that arrives at another node without its scope would find no rows, and nobody would notice. On one server
-- a missing scope still means no rows.
CREATE FUNCTION missing_scope() RETURNS uuid
LANGUAGE plpgsql STABLE COST 1 AS $$
BEGIN
    IF starts_with(current_setting('application_name'), 'citus_internal')
       AND current_setting('app.backup', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'the transaction has no scope on this node'
            USING ERRCODE = 'RM002', HINT = 'Set citus.propagate_set_commands to local for the login.';
    END IF;
    RETURN NULL;
END $$;

-- Nor does a transaction begin without one.
CREATE OR REPLACE FUNCTION open_scope(scope uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF scope IS NULL THEN
        RAISE EXCEPTION 'a transaction needs a scope' USING ERRCODE = 'RM002';
    END IF;
    EXECUTE format('SET LOCAL app.scope = %L', scope);
END $$;

DO $$
DECLARE
    of_table text;
BEGIN
    FOR of_table IN SELECT tablename FROM pg_policies WHERE schemaname = 'recollect' AND policyname = 'scope' LOOP
        EXECUTE format(
            'ALTER POLICY scope ON %I'
            ' USING (scope_id = coalesce(nullif(current_setting(''app.scope'', true), '''')::uuid, missing_scope()))',
            of_table);
    END LOOP;
END $$;

-- Some turns with all that is derived from them at once, in one call. The rows are joined with their conversation, which
-- leads them to its shard. JSON, because the driver writes one text several times faster than a dozen arrays.
CREATE FUNCTION append_turns(
    of_scope uuid, new_id uuid, of_project text, of_user text, session text, called text, added int, exchanges int,
    moment timestamptz, until timestamptz, covered_by smallint, said json, of_model smallint, vectors halfvec[])
RETURNS TABLE (
    id uuid, session_id text, name text, turn_count int, interaction_count int, created_at timestamptz,
    updated_at timestamptz, expires_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    k conversation;
BEGIN
    PERFORM open_scope(of_scope);
    INSERT INTO conversation AS c
        (scope_id, id, project, user_id, session_id, name, turn_count, interaction_count, created_at, updated_at,
         expires_at, embedded_model)
    VALUES (of_scope, new_id, of_project, of_user, session, called, added, exchanges, moment, moment, until, covered_by)
    ON CONFLICT (scope_id, session_id) DO UPDATE SET
        turn_count = c.turn_count + excluded.turn_count,
        interaction_count = c.interaction_count + excluded.interaction_count,
        updated_at = greatest(c.updated_at, excluded.updated_at),
        expires_at = excluded.expires_at,
        embedded_model = CASE WHEN c.embedded_model = excluded.embedded_model THEN c.embedded_model ELSE 0 END,
        due = true
    RETURNING c.* INTO k;

    INSERT INTO turn
        (scope_id, conversation_id, turn_index, role, speaker, text, said_at, recorded_at, data, high_value)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.role, x.speaker, x.text, x.at, moment, x.data, x.hv
    FROM conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, role text, speaker text, text text, at timestamptz, data jsonb, hv boolean)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    INSERT INTO sketch (scope_id, conversation_id, turn_index, said_at, speaker_key, flags, tokens, length, terms)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.at, x.speaker_key, x.flags, x.tokens, x.length, x.terms
    FROM conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, at timestamptz, speaker_key int, flags smallint, tokens int, length int, terms tsvector)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    IF vectors IS NOT NULL THEN
        INSERT INTO embedding (scope_id, model_id, conversation_id, turn_index, vector)
        SELECT c.scope_id, of_model, c.id, c.turn_count - added + x.i, vectors[x.v]
        FROM conversation c CROSS JOIN json_to_recordset(said) AS x(i int, v int)
        WHERE c.scope_id = of_scope AND c.id = k.id AND x.v IS NOT NULL;
    END IF;
    RETURN QUERY SELECT k.id, k.session_id, k.name, k.turn_count, k.interaction_count, k.created_at, k.updated_at,
                        k.expires_at;
END $$;

-- By the owner: writing to a table that every node has takes a lock that needs more rights than the row itself.
CREATE FUNCTION add_model(of_name text, size int) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    INSERT INTO embedding_model (name, dimension) VALUES (of_name, size) ON CONFLICT (name, dimension) DO NOTHING
$$;

-- One look at the table, with nothing below it: a planner of many shards takes no other.
CREATE OR REPLACE FUNCTION document_work() RETURNS TABLE (waiting bigint, failed bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT count(*) FILTER (WHERE d.status IN ('pending', 'processing')),
           count(*) FILTER (WHERE d.status = 'failed'),
           min(d.updated_at) FILTER (WHERE d.status IN ('pending', 'processing')
                                       AND (d.lease_until IS NULL OR d.lease_until < now()))
    FROM document d
    WHERE d.status IN ('pending', 'processing') OR d.status = 'failed'
$$;

CREATE OR REPLACE FUNCTION report_requests(which text, since timestamptz, until timestamptz)
RETURNS TABLE (
    requests bigint, users bigint, sessions bigint, contexts bigint, few_words bigint, fallback bigint,
    only_vectors bigint, hit bigint, hits_found bigint, hits_used bigint, truncated bigint, summaries_only bigint,
    tokens bigint, budget bigint, retrieval_p50 int, retrieval_p95 int, llm_timed bigint, llm_p50 int, llm_p95 int,
    whole_p95 int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    -- The rows come to one place first; the trace, which is long, does not.
    WITH r AS MATERIALIZED (
        SELECT q.scope_id, q.session_id, q.verb = 'context' AS is_context, q.fts_hits, q.used_fallback,
               q.retrieval_path, q.hits_found, q.hits_used, q.truncated, q.estimated_tokens, q.budget_tokens,
               q.latency_retrieval_ms, q.latency_llm_ms,
               -- What is known or was summarised went into the prompt, and no turn that was found did.
               jsonb_path_exists(q.trace, '$.packed[*] ? (@ == $.memories[*].source || @ == $.episodes[*])')
               AND NOT jsonb_path_exists(q.trace, '$.packed[*] ? (@ == $.hits[*].source)') AS is_summary
        FROM request q
        WHERE q.project = which AND q.created_at >= since AND q.created_at <= until)
    SELECT count(*), count(DISTINCT r.scope_id),
           count(DISTINCT (r.scope_id, r.session_id)) FILTER (WHERE r.session_id IS NOT NULL),
           count(*) FILTER (WHERE r.is_context),
           count(*) FILTER (WHERE r.fts_hits < 3),
           count(*) FILTER (WHERE r.used_fallback),
           count(*) FILTER (WHERE r.retrieval_path = 'vector'),
           count(*) FILTER (WHERE r.hits_used > 0),
           coalesce(sum(r.hits_found), 0), coalesce(sum(r.hits_used), 0),
           count(*) FILTER (WHERE r.is_context AND r.truncated),
           count(*) FILTER (WHERE r.is_context AND r.is_summary),
           coalesce(sum(r.estimated_tokens) FILTER (WHERE r.is_context), 0),
           coalesce(sum(r.budget_tokens) FILTER (WHERE r.is_context), 0),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY r.latency_retrieval_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_retrieval_ms),
           count(r.latency_llm_ms),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY r.latency_llm_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_llm_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_retrieval_ms + coalesce(r.latency_llm_ms, 0))
    FROM r
$$;

REVOKE ALL ON FUNCTION missing_scope, append_turns, add_model FROM PUBLIC;
GRANT EXECUTE ON FUNCTION missing_scope, append_turns, add_model TO recollect_app;
REVOKE INSERT ON embedding_model FROM recollect_app;
