-- The whole schema as the migrations leave it, for readers. Nothing runs this file: a test compares it with the
-- migrations, and `RECOLLECT_WRITE_SCHEMA=1 pytest tests/store/test_migrate.py` writes it.

CREATE SCHEMA recollect;

CREATE TYPE recollect.shown_key AS (
	id uuid,
	prefix text,
	name text,
	role text,
	project text,
	user_id text,
	created_at timestamp with time zone,
	created_by text,
	expires_at timestamp with time zone,
	revoked_at timestamp with time zone,
	revoked_by text,
	last_used_at timestamp with time zone
);

CREATE FUNCTION recollect.add_key(id uuid, hash bytea, prefix text, name text, role text, project text, user_id text, moment timestamp with time zone, by text, expires timestamp with time zone) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $_$
    UPDATE installation i SET key_made = true WHERE NOT i.key_made;
    INSERT INTO api_key (id, digest, prefix, name, role, project, user_id, created_at, created_by, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
$_$;

CREATE FUNCTION recollect.add_key_under(id uuid, hash bytea, prefix text, parent uuid, moment timestamp with time zone, expires timestamp with time zone) RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $_$
    DELETE FROM api_key k WHERE k.under = parent AND (k.expires_at <= moment OR k.revoked_at IS NOT NULL);
    INSERT INTO api_key (id, digest, prefix, name, role, project, user_id, created_at, created_by, expires_at, under)
    SELECT $1, $2, $3, p.name, p.role, p.project, p.user_id, moment, p.name, expires, p.id
    FROM api_key p WHERE p.id = parent AND p.under IS NULL
    RETURNING true
$_$;

CREATE FUNCTION recollect.add_model(of_name text, size integer) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    INSERT INTO embedding_model (name, dimension) VALUES (of_name, size) ON CONFLICT (name, dimension) DO NOTHING
$$;

CREATE FUNCTION recollect.any_key() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT coalesce((SELECT i.key_made FROM installation i), true)
$$;

CREATE FUNCTION recollect.append_turns(of_scope uuid, new_id uuid, of_project text, of_user text, session text, called text, added integer, exchanges integer, moment timestamp with time zone, until timestamp with time zone, covered_by smallint, said json, of_model smallint, vectors public.halfvec[]) RETURNS TABLE(id uuid, session_id text, name text, turn_count integer, interaction_count integer, created_at timestamp with time zone, updated_at timestamp with time zone, expires_at timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
#variable_conflict use_column
DECLARE
    k recollect.conversation;
BEGIN
    PERFORM recollect.open_scope(of_scope);
    INSERT INTO recollect.conversation AS c
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

    INSERT INTO recollect.turn
        (scope_id, conversation_id, turn_index, role, speaker, text, said_at, recorded_at, data, high_value)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.role, x.speaker, x.text, x.at, moment, x.data, x.hv
    FROM recollect.conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, role text, speaker text, text text, at timestamptz, data jsonb, hv boolean)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    INSERT INTO recollect.sketch
        (scope_id, conversation_id, turn_index, said_at, speaker_key, flags, tokens, length, terms)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.at, x.speaker_key, x.flags, x.tokens, x.length, x.terms
    FROM recollect.conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, at timestamptz, speaker_key int, flags smallint, tokens int, length int, terms tsvector)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    IF vectors IS NOT NULL THEN
        INSERT INTO recollect.embedding (scope_id, model_id, conversation_id, turn_index, vector)
        SELECT c.scope_id, of_model, c.id, c.turn_count - added + x.i, vectors[x.v]
        FROM recollect.conversation c CROSS JOIN json_to_recordset(said) AS x(i int, v int)
        WHERE c.scope_id = of_scope AND c.id = k.id AND x.v IS NOT NULL;
    END IF;
    RETURN QUERY SELECT k.id, k.session_id, k.name, k.turn_count, k.interaction_count, k.created_at, k.updated_at,
                        k.expires_at;
END $$;

CREATE FUNCTION recollect.document_work() RETURNS TABLE(waiting bigint, failed bigint, oldest timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT count(*) FILTER (WHERE d.status IN ('pending', 'processing')),
           count(*) FILTER (WHERE d.status = 'failed'),
           min(d.updated_at) FILTER (WHERE d.status IN ('pending', 'processing')
                                       AND (d.lease_until IS NULL OR d.lease_until < now()))
    FROM document d
    WHERE d.status IN ('pending', 'processing') OR d.status = 'failed'
$$;

CREATE FUNCTION recollect.find_documents(current_model smallint, most integer) RETURNS TABLE(scope_id uuid, document_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    (SELECT d.scope_id, d.id FROM document d
     WHERE d.status IN ('pending', 'processing') AND (d.lease_until IS NULL OR d.lease_until < now())
     ORDER BY d.id LIMIT most)
    UNION ALL
    (SELECT d.scope_id, d.id FROM document d
     WHERE d.status = 'processed' AND (d.embedded_model < current_model OR d.embedded_model > current_model)
       AND (d.lease_until IS NULL OR d.lease_until < now())
     LIMIT most)
$$;

CREATE FUNCTION recollect.find_expired(moment timestamp with time zone, after uuid, most integer) RETURNS TABLE(scope_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH page AS (
        SELECT c.scope_id AS scope, c.expires_at <= moment AS due
        FROM conversation c WHERE c.scope_id > after ORDER BY c.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION recollect.find_key(hash bytea) RETURNS SETOF recollect.shown_key
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by,
           least(k.expires_at, u.expires_at), coalesce(k.revoked_at, u.revoked_at),
           coalesce(k.revoked_by, u.revoked_by), k.last_used_at
    FROM api_key k LEFT JOIN api_key u ON u.id = k.under
    WHERE k.digest = hash
$$;

CREATE FUNCTION recollect.find_old_keys(before timestamp with time zone, after uuid, most integer) RETURNS TABLE(scope_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH page AS (
        SELECT i.scope_id AS scope, i.created_at < before AS due
        FROM idempotency i WHERE i.scope_id > after ORDER BY i.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION recollect.find_old_requests(before timestamp with time zone, after uuid, most integer) RETURNS TABLE(scope_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH page AS (
        SELECT r.scope_id AS scope, r.created_at < before AS due
        FROM request r WHERE r.scope_id > after ORDER BY r.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION recollect.find_upkeep(user_idle timestamp with time zone, project_idle timestamp with time zone, forgotten timestamp with time zone, below double precision, ended timestamp with time zone, minor double precision, minor_most integer, after uuid, most integer) RETURNS TABLE(scope_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH page AS (
        SELECT h.scope_id AS scope, CASE WHEN h.user_id IS NULL THEN project_idle ELSE user_idle END AS idle
        FROM holder h WHERE h.scope_id > after ORDER BY h.scope_id LIMIT most)
    SELECT p.scope FROM page p JOIN memory m ON m.scope_id = p.scope
    GROUP BY p.scope
    HAVING bool_or(m.status = 'active' AND m.decayed < m.confidence
                   AND greatest(m.last_used_at, m.last_decayed_at, m.updated_at) <= p.idle)
        OR bool_or(m.status = 'active' AND m.confidence - m.decayed < below
                   AND greatest(m.last_used_at, m.updated_at) <= forgotten)
        OR bool_or(m.status IN ('superseded', 'retracted') AND coalesce(m.valid_to, m.updated_at) <= ended)
        OR count(*) FILTER (WHERE m.status = 'active' AND m.importance < minor) > minor_most
    UNION
    (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION recollect.find_work(current_model smallint, most integer) RETURNS TABLE(scope_id uuid, conversation_id uuid)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
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

CREATE FUNCTION recollect.insist(holds boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'what was read has changed since' USING ERRCODE = 'RM001';
    END IF;
END $$;

CREATE FUNCTION recollect.list_keys(of_project text) RETURNS SETOF recollect.shown_key
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
           k.revoked_at, k.revoked_by, k.last_used_at
    FROM api_key k WHERE k.under IS NULL AND (of_project IS NULL OR k.project = of_project)
    ORDER BY k.created_at, k.id
$$;

CREATE FUNCTION recollect.missing_scope() RETURNS uuid
    LANGUAGE plpgsql STABLE COST 1
    AS $$
BEGIN
    IF starts_with(current_setting('application_name'), 'citus_internal')
       AND coalesce(current_setting('app.scope', true), '') = ''
       AND current_setting('app.backup', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'the transaction has no scope on this node'
            USING ERRCODE = 'RM002', HINT = 'Set citus.propagate_set_commands to local for the login.';
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION recollect.note_key_use(wanted uuid, moment timestamp with time zone) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    UPDATE api_key k SET last_used_at = moment
    WHERE k.id = wanted AND (k.last_used_at IS NULL OR k.last_used_at <= moment - interval '1 minute')
$$;

CREATE FUNCTION recollect.open_scope(scope uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF scope IS NULL THEN
        RAISE EXCEPTION 'a transaction needs a scope' USING ERRCODE = 'RM002';
    END IF;
    EXECUTE format('SET LOCAL app.scope = %L', scope);
END $$;

CREATE FUNCTION recollect.project_usage(which text, shared uuid) RETURNS TABLE(turns bigint, document_bytes bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH talk AS MATERIALIZED (
        SELECT c.scope_id AS scope, sum(c.turn_count) AS turns FROM conversation c WHERE c.project = which GROUP BY 1),
    scopes AS MATERIALIZED (
        SELECT t.scope FROM talk t
        UNION SELECT h.scope_id FROM holder h WHERE h.project = which
        UNION SELECT shared),
    files AS MATERIALIZED (SELECT sum(d.size) AS bytes FROM scopes s JOIN document d ON d.scope_id = s.scope)
    SELECT (SELECT coalesce(sum(t.turns), 0)::bigint FROM talk t), (SELECT coalesce(f.bytes, 0)::bigint FROM files f)
$$;

CREATE FUNCTION recollect.report_asking(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(week date, asked bigint, asked_back bigint, chosen bigint, corrected bigint, repeated bigint, repeated_answered bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH answers AS (
        -- What the application stores with each answer is in apps/ask/turn_data.py.
        SELECT t.scope_id, t.conversation_id, t.turn_index, t.recorded_at,
               date_trunc('week', t.recorded_at AT TIME ZONE 'UTC')::date AS week,
               t.data ->> 'choice' IS NOT NULL OR jsonb_array_length(coalesce(t.data -> 'learned', '[]')) > 0 AS is_reply,
               t.data ->> 'sql' = '' AND jsonb_array_length(coalesce(t.data -> 'clarifications', '[]')) > 0
                   AS is_asked_back,
               t.data ->> 'sql' <> '' AND t.data ->> 'error' IS NULL AS is_answered,
               -- The same question: at the same source, but for case, spaces and punctuation at the end of a sentence.
               t.data ->> 'source' AS source,
               md5(lower(btrim(regexp_replace(coalesce(q.data ->> 'standalone', q.text), '[[:space:]?!.？！。]+', ' ', 'g'))))
                   AS question
        FROM conversation c
        JOIN turn t ON t.scope_id = c.scope_id AND t.conversation_id = c.id
        LEFT JOIN turn q ON q.scope_id = t.scope_id AND q.conversation_id = t.conversation_id
            AND q.turn_index = t.turn_index - 1 AND q.role = 'user'
        WHERE c.project = which AND c.updated_at >= since
          AND t.role = 'assistant' AND t.data ->> 'host' = 'sql'
          AND t.recorded_at >= since AND t.recorded_at <= until),
    questions AS (
        SELECT a.week, a.is_asked_back, a.is_answered,
               a.question IS NOT NULL AND row_number() OVER (
                   PARTITION BY a.scope_id, a.source, a.question
                   ORDER BY a.recorded_at, a.conversation_id, a.turn_index) > 1 AS is_repeated
        FROM answers a WHERE NOT a.is_reply),
    counts AS (
        SELECT q.week, count(*) AS asked, count(*) FILTER (WHERE q.is_asked_back) AS asked_back, 0 AS chosen,
               0 AS corrected, count(*) FILTER (WHERE q.is_repeated) AS repeated,
               count(*) FILTER (WHERE q.is_repeated AND q.is_answered) AS repeated_answered
        FROM questions q GROUP BY 1
        UNION ALL
        SELECT a.week, 0, 0, count(*), 0, 0, 0 FROM answers a WHERE a.is_reply GROUP BY 1
        UNION ALL
        SELECT date_trunc('week', m.created_at AT TIME ZONE 'UTC')::date, 0, 0, 0, count(*), 0, 0
        FROM holder h JOIN memory m ON m.scope_id = h.scope_id
        WHERE h.project = which AND m.kind = 'correction' AND m.created_at >= since AND m.created_at <= until
        GROUP BY 1)
    SELECT k.week, sum(k.asked)::bigint, sum(k.asked_back)::bigint, sum(k.chosen)::bigint, sum(k.corrected)::bigint,
           sum(k.repeated)::bigint, sum(k.repeated_answered)::bigint
    FROM counts k GROUP BY 1 ORDER BY 1
$$;

CREATE FUNCTION recollect.report_conversations(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(conversations bigint, questions bigint, due bigint, failing bigint, parked bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT count(*) FILTER (WHERE c.updated_at >= since AND c.updated_at <= until),
           coalesce(sum(c.interaction_count) FILTER (WHERE c.updated_at >= since AND c.updated_at <= until), 0),
           count(*) FILTER (WHERE c.due),
           count(*) FILTER (WHERE c.last_error IS NOT NULL AND c.parked = '{}'),
           count(*) FILTER (WHERE c.parked <> '{}')
    FROM conversation c
    WHERE c.project = which
$$;

CREATE FUNCTION recollect.report_counts(which text, since timestamp with time zone, until timestamp with time zone, steps integer[]) RETURNS TABLE(what text, name text, count bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH asked AS (
        SELECT r.retrieval_path, r.error_stage, width_bucket(r.latency_retrieval_ms, steps) AS step,
               r.verb <> 'message' AS is_search
        FROM request r WHERE r.project = which AND r.created_at >= since AND r.created_at <= until),
    -- What was only turned away has no holder.
    held AS (
        SELECT h.scope_id FROM holder h WHERE h.project = which
        UNION SELECT c.scope_id FROM conversation c WHERE c.project = which)
    SELECT 'path', a.retrieval_path, count(*) FROM asked a WHERE a.is_search GROUP BY 2
    UNION ALL
    SELECT 'error', a.error_stage, count(*) FROM asked a WHERE a.error_stage IS NOT NULL GROUP BY 2
    UNION ALL
    SELECT 'latency', a.step::text, count(*) FROM asked a WHERE a.is_search GROUP BY 2
    UNION ALL
    SELECT 'learned', m.learned_by, count(*) FROM held h JOIN memory m ON m.scope_id = h.scope_id
    WHERE m.created_at >= since AND m.created_at <= until GROUP BY 2
    UNION ALL
    SELECT 'rejected', t.reason, sum(t.count) FROM held h JOIN tally t ON t.scope_id = h.scope_id
    WHERE t.day >= (since AT TIME ZONE 'UTC')::date AND t.day <= (until AT TIME ZONE 'UTC')::date GROUP BY 2
    ORDER BY 1, 3 DESC, 2
$$;

CREATE FUNCTION recollect.report_days(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(day date, requests bigint, users bigint, hit bigint, few_words bigint, fallback bigint, contexts bigint, truncated bigint, retrieval_p50 integer, retrieval_p95 integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT (r.created_at AT TIME ZONE 'UTC')::date, count(*), count(DISTINCT r.scope_id),
           count(*) FILTER (WHERE r.hits_used > 0), count(*) FILTER (WHERE r.fts_hits < 3),
           count(*) FILTER (WHERE r.used_fallback), count(*) FILTER (WHERE r.verb = 'context'),
           count(*) FILTER (WHERE r.verb = 'context' AND r.truncated),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY r.latency_retrieval_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_retrieval_ms)
    FROM request r
    WHERE r.project = which AND r.verb <> 'message'
          AND r.created_at >= since AND r.created_at <= until
    GROUP BY 1
    ORDER BY 1
$$;

CREATE FUNCTION recollect.report_follow_ups(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(asked bigint, succeeded bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH asked AS (
        SELECT r.hits_used > 0 AND r.error_stage IS NULL AS succeeded,
               r.query <> lag(r.query) OVER (PARTITION BY r.scope_id, r.session_id ORDER BY r.created_at, r.id) AS follows
        FROM request r
        WHERE r.project = which AND r.verb <> 'message'
          AND r.created_at >= since AND r.created_at <= until AND r.session_id IS NOT NULL)
    SELECT count(*), count(*) FILTER (WHERE a.succeeded) FROM asked a WHERE a.follows
$$;

CREATE FUNCTION recollect.report_requests(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(requests bigint, users bigint, sessions bigint, contexts bigint, few_words bigint, fallback bigint, only_vectors bigint, hit bigint, hits_found bigint, hits_used bigint, truncated bigint, summaries_only bigint, tokens bigint, budget bigint, retrieval_p50 integer, retrieval_p95 integer, llm_timed bigint, llm_p50 integer, llm_p95 integer, whole_p95 integer)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $_$
    -- The rows come to one place first; the trace, which is long, does not.
    WITH r AS MATERIALIZED (
        SELECT q.scope_id, q.session_id, q.verb = 'context' AS is_context, q.fts_hits, q.used_fallback,
               q.retrieval_path, q.hits_found, q.hits_used, q.truncated, q.estimated_tokens, q.budget_tokens,
               q.latency_retrieval_ms, q.latency_llm_ms,
               -- What is known or was summarised went into the prompt, and no turn that was found did.
               jsonb_path_exists(q.trace, '$.packed[*] ? (@ == $.memories[*].source || @ == $.episodes[*])')
               AND NOT jsonb_path_exists(q.trace, '$.packed[*] ? (@ == $.hits[*].source)') AS is_summary
        FROM request q
        WHERE q.project = which AND q.verb <> 'message'
          AND q.created_at >= since AND q.created_at <= until)
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
$_$;

CREATE FUNCTION recollect.report_signals(which text, since timestamp with time zone, until timestamp with time zone) RETURNS TABLE(messages bigint, reply_ms bigint, summary_ms bigint, summaries bigint, corrections bigint, thumbs_down bigint, reproaches bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH talk AS MATERIALIZED (
        SELECT c.scope_id AS scope, c.id FROM conversation c WHERE c.project = which),
    held AS MATERIALIZED (
        SELECT h.scope_id AS scope FROM holder h WHERE h.project = which UNION SELECT t.scope FROM talk t),
    rows AS MATERIALIZED (
        SELECT r.verb, r.latency_llm_ms FROM request r
        WHERE r.project = which AND r.created_at >= since AND r.created_at <= until),
    written AS MATERIALIZED (
        SELECT e.model_ms FROM talk t JOIN episode e ON e.scope_id = t.scope AND e.conversation_id = t.id
        WHERE e.model_ms IS NOT NULL AND e.created_at >= since AND e.created_at <= until),
    judged AS MATERIALIZED (
        SELECT m.scope_id AS scope, m.created_at, m.source = 'correction' AS is_correction,
               m.kind = 'question' AND m.data ->> 'rating' = 'down' AS is_down
        FROM held h JOIN memory m ON m.scope_id = h.scope
        WHERE m.created_at >= since AND m.created_at <= until),
    said AS MATERIALIZED (
        SELECT 1 FROM talk t JOIN turn u ON u.scope_id = t.scope AND u.conversation_id = t.id
        WHERE u.role = 'user' AND u.recorded_at >= since AND u.recorded_at <= until
          AND u.text ~* ('\myou (have |already |just )?(forgot|forgotten)\M|\mdo(n''t|n’t| not) you remember\M'
              '|\malready told you\M|\mtold you (that |this |it )?(already|before|twice)\M'
              '|你(怎么)?(又|已经)?忘(了|记)|你(怎么)?不记得|我(不是|已经|早就?)(跟你)?(说过|告诉过?你)'))
    SELECT (SELECT count(*) FROM rows r WHERE r.verb = 'message'),
           (SELECT coalesce(sum(r.latency_llm_ms), 0)::bigint FROM rows r),
           (SELECT coalesce(sum(w.model_ms), 0)::bigint FROM written w), (SELECT count(*) FROM written),
           -- One correction may teach several things, one right after the other.
           (SELECT count(DISTINCT (j.scope, date_trunc('second', j.created_at))) FROM judged j WHERE j.is_correction),
           (SELECT count(*) FROM judged j WHERE j.is_down), (SELECT count(*) FROM said)
$$;

CREATE FUNCTION recollect.revoke_key(wanted uuid, of_project text, moment timestamp with time zone, by text) RETURNS SETOF recollect.shown_key
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    UPDATE api_key k
    SET revoked_by = CASE WHEN k.revoked_at IS NULL THEN by ELSE k.revoked_by END,
        revoked_at = coalesce(k.revoked_at, moment)
    WHERE k.id = wanted AND (of_project IS NULL OR k.project = of_project)
    RETURNING k.id, k.prefix, k.name, k.role, k.project, k.user_id, k.created_at, k.created_by, k.expires_at,
              k.revoked_at, k.revoked_by, k.last_used_at
$$;

CREATE FUNCTION recollect.stats_by_user(which text, shared uuid, most integer) RETURNS TABLE(scope_id uuid, user_id text, conversations bigint, turns bigint, memories bigint, documents bigint, vectors bigint, bytes bigint, due bigint, oldest timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH talk AS MATERIALIZED (
        SELECT c.scope_id AS scope, min(c.user_id) AS who, count(*) AS conversations,
               count(*) FILTER (WHERE c.due) AS due, min(c.updated_at) FILTER (WHERE c.due) AS oldest
        FROM conversation c WHERE c.project = which GROUP BY 1),
    held AS MATERIALIZED (SELECT h.scope_id AS scope, h.user_id AS who FROM holder h WHERE h.project = which),
    scopes AS MATERIALIZED (
        SELECT s.scope, max(s.who) AS who
        FROM (SELECT t.scope, t.who FROM talk t UNION ALL SELECT h.scope, h.who FROM held h UNION ALL SELECT shared, NULL)
             AS s
        GROUP BY 1),
    kept AS MATERIALIZED (
        SELECT s.scope, 'turn' AS what, count(*) AS n,
               sum(pg_column_size(t.text) + coalesce(pg_column_size(t.data), 0)) AS bytes
        FROM scopes s JOIN turn t ON t.scope_id = s.scope GROUP BY 1
        UNION ALL
        SELECT s.scope, 'memory', count(*), sum(pg_column_size(m.value) + coalesce(pg_column_size(m.data), 0))
        FROM scopes s JOIN memory m ON m.scope_id = s.scope GROUP BY 1
        UNION ALL
        SELECT s.scope, 'document', count(*), sum(d.size) FROM scopes s JOIN document d ON d.scope_id = s.scope GROUP BY 1
        UNION ALL
        SELECT s.scope, 'vector', count(*), sum(pg_column_size(e.vector))
        FROM scopes s JOIN embedding e ON e.scope_id = s.scope GROUP BY 1
        UNION ALL
        SELECT s.scope, 'vector', count(*), sum(pg_column_size(v.vector))
        FROM scopes s JOIN chunk_vector v ON v.scope_id = s.scope GROUP BY 1)
    SELECT s.scope, s.who, coalesce(max(t.conversations), 0),
           coalesce(sum(k.n) FILTER (WHERE k.what = 'turn'), 0)::bigint,
           coalesce(sum(k.n) FILTER (WHERE k.what = 'memory'), 0)::bigint,
           coalesce(sum(k.n) FILTER (WHERE k.what = 'document'), 0)::bigint,
           coalesce(sum(k.n) FILTER (WHERE k.what = 'vector'), 0)::bigint,
           coalesce(sum(k.bytes), 0)::bigint, coalesce(max(t.due), 0), max(t.oldest)
    FROM scopes s LEFT JOIN kept k ON k.scope = s.scope LEFT JOIN talk t ON t.scope = s.scope
    GROUP BY 1, 2
    ORDER BY 8 DESC, 2
    LIMIT most
$$;

CREATE FUNCTION recollect.storage_by_user(which text, shared uuid, most integer) RETURNS TABLE(scope_id uuid, user_id text, turns bigint, memories bigint, documents bigint, bytes bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH held AS (
        SELECT h.scope_id, h.user_id FROM holder h WHERE h.project = which
        UNION SELECT c.scope_id, c.user_id FROM conversation c WHERE c.project = which
        UNION SELECT shared, NULL),
    kept AS (
        SELECT t.scope_id, 'turn' AS what, pg_column_size(t.text) + coalesce(pg_column_size(t.data), 0) AS bytes
        FROM held h JOIN turn t ON t.scope_id = h.scope_id
        UNION ALL
        SELECT m.scope_id, 'memory', pg_column_size(m.value) + coalesce(pg_column_size(m.data), 0)
        FROM held h JOIN memory m ON m.scope_id = h.scope_id
        UNION ALL
        SELECT d.scope_id, 'document', d.size FROM held h JOIN document d ON d.scope_id = h.scope_id)
    SELECT h.scope_id, h.user_id, count(*) FILTER (WHERE k.what = 'turn'), count(*) FILTER (WHERE k.what = 'memory'),
           count(*) FILTER (WHERE k.what = 'document'), sum(k.bytes)::bigint
    FROM held h JOIN kept k ON k.scope_id = h.scope_id
    GROUP BY 1, 2
    ORDER BY 6 DESC, 2
    LIMIT most
$$;

CREATE FUNCTION recollect.wake_parked(stage text) RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    WITH woken AS (
        UPDATE conversation SET retry_at = NULL, due = true
        WHERE parked <> '{}' AND (stage = ANY(parked) OR stage = '') RETURNING 1)
    SELECT count(*) FROM woken
$$;

CREATE FUNCTION recollect.work_status() RETURNS TABLE(due bigint, leased bigint, failing bigint, parked bigint, oldest timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT count(*) FILTER (WHERE c.due),
           count(*) FILTER (WHERE c.due AND c.attempts > 0 AND c.last_error IS NULL AND c.lease_until > now()),
           count(*) FILTER (WHERE c.last_error IS NOT NULL AND c.parked = '{}'),
           count(*) FILTER (WHERE c.parked <> '{}'),
           min(c.updated_at) FILTER (WHERE c.due)
    FROM conversation c
    WHERE c.due OR c.parked <> '{}' OR c.last_error IS NOT NULL
$$;

CREATE FUNCTION recollect.work_troubles(most integer) RETURNS TABLE(scope_id uuid, conversation_id uuid, attempts smallint, parked text[], failed_at timestamp with time zone, next_try timestamp with time zone, error text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'recollect', 'pg_temp'
    AS $$
    SELECT c.scope_id, c.id, c.attempts, c.parked, c.failed_at, coalesce(c.retry_at, c.lease_until), c.last_error
    FROM conversation c
    WHERE (c.due OR c.parked <> '{}') AND c.last_error IS NOT NULL
    ORDER BY c.failed_at DESC
    LIMIT most
$$;

CREATE AGGREGATE recollect.tsvector_sum(tsvector) (
    SFUNC = tsvector_concat,
    STYPE = tsvector,
    INITCOND = ''
);

CREATE TABLE recollect.api_key (
    id uuid NOT NULL,
    digest bytea NOT NULL,
    prefix text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    project text,
    user_id text,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by text,
    last_used_at timestamp with time zone,
    under uuid,
    CONSTRAINT api_key_check CHECK (((project IS NOT NULL) OR (role = ANY (ARRAY['admin'::text, 'service'::text])))),
    CONSTRAINT api_key_check1 CHECK (((role = 'user'::text) = (user_id IS NOT NULL))),
    CONSTRAINT api_key_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT api_key_role_check CHECK ((role = ANY (ARRAY['admin'::text, 'data'::text, 'service'::text, 'user'::text])))
);

ALTER TABLE ONLY recollect.api_key FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.audit (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    subject text NOT NULL,
    detail jsonb NOT NULL
);

ALTER TABLE ONLY recollect.audit FORCE ROW LEVEL SECURITY;

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

CREATE TABLE recollect.chunk (
    scope_id uuid NOT NULL,
    document_id uuid NOT NULL,
    chunk_index integer NOT NULL,
    text text NOT NULL,
    start integer NOT NULL,
    "end" integer NOT NULL,
    page integer,
    page_end integer,
    headings text[] NOT NULL,
    lead text NOT NULL,
    tokens integer NOT NULL,
    breaks integer[] DEFAULT '{}'::integer[] NOT NULL
);

ALTER TABLE ONLY recollect.chunk FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.chunk_vector (
    scope_id uuid NOT NULL,
    model_id smallint NOT NULL,
    document_id uuid NOT NULL,
    chunk_index integer NOT NULL,
    vector public.halfvec NOT NULL
);
ALTER TABLE ONLY recollect.chunk_vector ALTER COLUMN vector SET STORAGE PLAIN;

ALTER TABLE ONLY recollect.chunk_vector FORCE ROW LEVEL SECURITY;

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
    last_error text,
    due boolean DEFAULT true NOT NULL,
    learned_turns integer DEFAULT 0 NOT NULL,
    reasoned_turns integer DEFAULT 0 NOT NULL,
    episode_turns integer DEFAULT 0 NOT NULL,
    parked text[] DEFAULT '{}'::text[] NOT NULL,
    retry_at timestamp with time zone,
    failed_at timestamp with time zone,
    redactions integer DEFAULT 0 NOT NULL
);

ALTER TABLE ONLY recollect.conversation FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.data_source (
    scope_id uuid NOT NULL,
    name text NOT NULL,
    dsn text NOT NULL,
    dialect text NOT NULL,
    fingerprint text NOT NULL,
    catalog jsonb NOT NULL,
    model jsonb NOT NULL,
    access jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    is_local boolean DEFAULT false NOT NULL
);

ALTER TABLE ONLY recollect.data_source FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.document (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    number bigint NOT NULL,
    title text NOT NULL,
    source text NOT NULL,
    added_by text NOT NULL,
    format text,
    size bigint NOT NULL,
    digest bytea NOT NULL,
    status text NOT NULL,
    failure text,
    pages integer DEFAULT 0 NOT NULL,
    chunks integer DEFAULT 0 NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    words bigint DEFAULT 0 NOT NULL,
    characters bigint DEFAULT 0 NOT NULL,
    progress real DEFAULT 0 NOT NULL,
    embedded_model smallint DEFAULT 0 NOT NULL,
    lease integer DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT document_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'processed'::text, 'failed'::text])))
);

ALTER TABLE ONLY recollect.document FORCE ROW LEVEL SECURITY;

ALTER TABLE recollect.document ALTER COLUMN number ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME recollect.document_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE recollect.document_part (
    scope_id uuid NOT NULL,
    document_id uuid NOT NULL,
    part integer NOT NULL,
    bytes bytea NOT NULL
);
ALTER TABLE ONLY recollect.document_part ALTER COLUMN bytes SET STORAGE EXTERNAL;

ALTER TABLE ONLY recollect.document_part FORCE ROW LEVEL SECURITY;

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

CREATE TABLE recollect.episode (
    scope_id uuid NOT NULL,
    conversation_id uuid NOT NULL,
    first_turn integer NOT NULL,
    last_turn integer NOT NULL,
    id uuid NOT NULL,
    session_id text NOT NULL,
    summary text NOT NULL,
    structure jsonb NOT NULL,
    learned_by text NOT NULL,
    model text,
    tokens integer NOT NULL,
    said_from timestamp with time zone NOT NULL,
    said_to timestamp with time zone NOT NULL,
    terms tsvector NOT NULL,
    vector public.halfvec,
    model_id smallint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    model_ms integer
);
ALTER TABLE ONLY recollect.episode ALTER COLUMN terms SET STORAGE EXTERNAL;

ALTER TABLE ONLY recollect.episode FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.errand (
    name text NOT NULL,
    due_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.errand FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.evidence (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    memory_id uuid,
    act text NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    data jsonb,
    confidence double precision NOT NULL,
    importance double precision NOT NULL,
    source text NOT NULL,
    learned_by text NOT NULL,
    corrects boolean NOT NULL,
    old text,
    said_at timestamp with time zone NOT NULL,
    conversation_id uuid,
    session_id text,
    turn_index integer,
    author text,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.evidence FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.holder (
    scope_id uuid NOT NULL,
    project text NOT NULL,
    user_id text,
    version integer NOT NULL,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.holder FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.idempotency (
    scope_id uuid NOT NULL,
    key text NOT NULL,
    body bytea NOT NULL,
    answer jsonb,
    created_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.idempotency FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.installation (
    id boolean DEFAULT true NOT NULL,
    key_made boolean NOT NULL,
    CONSTRAINT installation_id_check CHECK (id)
);

ALTER TABLE ONLY recollect.installation FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.memory (
    scope_id uuid NOT NULL,
    id uuid NOT NULL,
    kind text NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    data jsonb,
    terms text[] NOT NULL,
    words tsvector NOT NULL,
    confidence double precision NOT NULL,
    decayed double precision DEFAULT 0 NOT NULL,
    importance double precision NOT NULL,
    source text NOT NULL,
    learned_by text NOT NULL,
    status text NOT NULL,
    valid_from timestamp with time zone NOT NULL,
    valid_to timestamp with time zone,
    reason text,
    replaced_by uuid,
    refs text[] NOT NULL,
    usage_count integer DEFAULT 0 NOT NULL,
    last_used_at timestamp with time zone,
    last_decayed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    place text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C"
);

ALTER TABLE ONLY recollect.memory FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.posting (
    scope_id uuid NOT NULL,
    lexeme text NOT NULL COLLATE pg_catalog."C",
    document bigint NOT NULL,
    first integer NOT NULL,
    found bytea NOT NULL
);
ALTER TABLE ONLY recollect.posting ALTER COLUMN found SET STORAGE MAIN;

ALTER TABLE ONLY recollect.posting FORCE ROW LEVEL SECURITY;

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

CREATE TABLE recollect.shape (
    scope_id uuid NOT NULL,
    digest bytea NOT NULL,
    askers uuid[] NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.shape FORCE ROW LEVEL SECURITY;

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

CREATE TABLE recollect.tally (
    scope_id uuid NOT NULL,
    day date NOT NULL,
    reason text NOT NULL,
    count integer NOT NULL
);

ALTER TABLE ONLY recollect.tally FORCE ROW LEVEL SECURITY;

CREATE TABLE recollect.term (
    scope_id uuid NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    terms text[] NOT NULL,
    description text NOT NULL,
    synonyms text[] NOT NULL,
    sql text,
    data jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);

ALTER TABLE ONLY recollect.term FORCE ROW LEVEL SECURITY;

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

ALTER TABLE ONLY recollect.api_key
    ADD CONSTRAINT api_key_digest_key UNIQUE (digest);

ALTER TABLE ONLY recollect.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY recollect.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.chapter
    ADD CONSTRAINT chapter_pkey PRIMARY KEY (scope_id, conversation_id, first_turn);

ALTER TABLE ONLY recollect.chunk
    ADD CONSTRAINT chunk_pkey PRIMARY KEY (scope_id, document_id, chunk_index);

ALTER TABLE ONLY recollect.chunk_vector
    ADD CONSTRAINT chunk_vector_pkey PRIMARY KEY (scope_id, model_id, document_id, chunk_index);

ALTER TABLE ONLY recollect.conversation
    ADD CONSTRAINT conversation_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.conversation
    ADD CONSTRAINT conversation_scope_id_session_id_key UNIQUE (scope_id, session_id);

ALTER TABLE ONLY recollect.data_source
    ADD CONSTRAINT data_source_pkey PRIMARY KEY (scope_id, name);

ALTER TABLE ONLY recollect.document_part
    ADD CONSTRAINT document_part_pkey PRIMARY KEY (scope_id, document_id, part);

ALTER TABLE ONLY recollect.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.document
    ADD CONSTRAINT document_scope_id_digest_key UNIQUE (scope_id, digest);

ALTER TABLE ONLY recollect.embedding_model
    ADD CONSTRAINT embedding_model_name_dimension_key UNIQUE (name, dimension);

ALTER TABLE ONLY recollect.embedding_model
    ADD CONSTRAINT embedding_model_pkey PRIMARY KEY (id);

ALTER TABLE ONLY recollect.embedding
    ADD CONSTRAINT embedding_pkey PRIMARY KEY (scope_id, model_id, conversation_id, turn_index);

ALTER TABLE ONLY recollect.episode
    ADD CONSTRAINT episode_pkey PRIMARY KEY (scope_id, conversation_id, first_turn);

ALTER TABLE ONLY recollect.errand
    ADD CONSTRAINT errand_pkey PRIMARY KEY (name);

ALTER TABLE ONLY recollect.evidence
    ADD CONSTRAINT evidence_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.holder
    ADD CONSTRAINT holder_pkey PRIMARY KEY (scope_id);

ALTER TABLE ONLY recollect.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (scope_id, key);

ALTER TABLE ONLY recollect.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY recollect.memory
    ADD CONSTRAINT memory_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (scope_id, id);

ALTER TABLE ONLY recollect.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (version);

ALTER TABLE ONLY recollect.shape
    ADD CONSTRAINT shape_pkey PRIMARY KEY (scope_id, digest);

ALTER TABLE ONLY recollect.sketch
    ADD CONSTRAINT sketch_pkey PRIMARY KEY (scope_id, conversation_id, turn_index);

ALTER TABLE ONLY recollect.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (scope_id, day, reason);

ALTER TABLE ONLY recollect.term
    ADD CONSTRAINT term_pkey PRIMARY KEY (scope_id, kind, name);

ALTER TABLE ONLY recollect.turn
    ADD CONSTRAINT turn_pkey PRIMARY KEY (scope_id, conversation_id, turn_index);

CREATE INDEX api_key_under ON recollect.api_key USING btree (under) WHERE (under IS NOT NULL);

CREATE INDEX chunk_place ON recollect.chunk USING btree (scope_id, document_id, "end");

CREATE INDEX conversation_due ON recollect.conversation USING btree (id) WHERE due;

CREATE INDEX conversation_parked ON recollect.conversation USING btree (id) WHERE (parked <> '{}'::text[]);

CREATE INDEX conversation_work ON recollect.conversation USING btree (embedded_model);

CREATE INDEX document_failed ON recollect.document USING btree (id) WHERE (status = 'failed'::text);

CREATE INDEX document_model ON recollect.document USING btree (embedded_model) WHERE (status = 'processed'::text);

CREATE INDEX document_unread ON recollect.document USING btree (id) WHERE (status = ANY (ARRAY['pending'::text, 'processing'::text]));

CREATE INDEX evidence_memory ON recollect.evidence USING btree (scope_id, memory_id);

CREATE UNIQUE INDEX evidence_once ON recollect.evidence USING btree (scope_id, conversation_id, turn_index, act, kind, key, md5(value));

CREATE INDEX evidence_tail ON recollect.evidence USING btree (scope_id, key, said_at, conversation_id, turn_index, id);

CREATE INDEX memory_key ON recollect.memory USING btree (scope_id, key);

CREATE INDEX memory_tail ON recollect.memory USING btree (scope_id, key, valid_from DESC, place DESC) WHERE ((status = 'active'::text) OR (reason = 'redacted'::text));

CREATE INDEX posting_document ON recollect.posting USING btree (scope_id, document);

CREATE INDEX posting_lexeme ON recollect.posting USING btree (scope_id, lexeme);

CREATE INDEX request_by_time ON recollect.request USING btree (scope_id, created_at);

ALTER TABLE ONLY recollect.api_key
    ADD CONSTRAINT api_key_under_fkey FOREIGN KEY (under) REFERENCES recollect.api_key(id) ON DELETE CASCADE;

ALTER TABLE ONLY recollect.chunk
    ADD CONSTRAINT chunk_scope_id_document_id_fkey FOREIGN KEY (scope_id, document_id) REFERENCES recollect.document(scope_id, id);

ALTER TABLE ONLY recollect.document_part
    ADD CONSTRAINT document_part_scope_id_document_id_fkey FOREIGN KEY (scope_id, document_id) REFERENCES recollect.document(scope_id, id);

ALTER TABLE ONLY recollect.turn
    ADD CONSTRAINT turn_scope_id_conversation_id_fkey FOREIGN KEY (scope_id, conversation_id) REFERENCES recollect.conversation(scope_id, id);

ALTER TABLE recollect.api_key ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.audit ENABLE ROW LEVEL SECURITY;

CREATE POLICY backup ON recollect.audit FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.chapter FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.chunk FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.chunk_vector FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.conversation FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.data_source FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.document FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.document_part FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.embedding FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.episode FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.evidence FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.holder FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.idempotency FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.memory FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.posting FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.request FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.shape FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.sketch FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.tally FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.term FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

CREATE POLICY backup ON recollect.turn FOR SELECT TO CURRENT_USER USING ((current_setting('app.backup'::text, true) = 'on'::text));

ALTER TABLE recollect.chapter ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.chunk ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.chunk_vector ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.conversation ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.data_source ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.document ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.document_part ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.embedding ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.embedding_model ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.episode ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.errand ENABLE ROW LEVEL SECURITY;

CREATE POLICY everybody ON recollect.embedding_model USING (true);

CREATE POLICY everybody ON recollect.errand USING (true);

CREATE POLICY everybody ON recollect.schema_migration USING (true);

ALTER TABLE recollect.evidence ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.holder ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.idempotency ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.installation ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.memory ENABLE ROW LEVEL SECURITY;

CREATE POLICY owner_counts ON recollect.chunk_vector FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_counts ON recollect.embedding FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_counts ON recollect.episode FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_counts ON recollect.tally FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_counts ON recollect.turn FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_idle ON recollect.holder FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_idle ON recollect.memory FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_old ON recollect.idempotency FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_old ON recollect.request FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_work ON recollect.conversation FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_finds_work ON recollect.document FOR SELECT TO CURRENT_USER USING (true);

CREATE POLICY owner_keeps_keys ON recollect.api_key TO CURRENT_USER USING (true);

CREATE POLICY owner_keeps_keys ON recollect.installation TO CURRENT_USER USING (true);

CREATE POLICY owner_wakes_work ON recollect.conversation FOR UPDATE TO CURRENT_USER USING (true);

ALTER TABLE recollect.posting ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.request ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.schema_migration ENABLE ROW LEVEL SECURITY;

CREATE POLICY scope ON recollect.audit USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.chapter USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.chunk USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.chunk_vector USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.conversation USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.data_source USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.document USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.document_part USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.embedding USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.episode USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.evidence USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.holder USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.idempotency USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.memory USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.posting USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.request USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.shape USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.sketch USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.tally USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.term USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

CREATE POLICY scope ON recollect.turn USING ((scope_id = COALESCE((NULLIF(current_setting('app.scope'::text, true), ''::text))::uuid, recollect.missing_scope())));

ALTER TABLE recollect.shape ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.sketch ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.tally ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.term ENABLE ROW LEVEL SECURITY;

ALTER TABLE recollect.turn ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA recollect TO recollect_app;
GRANT USAGE ON SCHEMA recollect TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.add_key(id uuid, hash bytea, prefix text, name text, role text, project text, user_id text, moment timestamp with time zone, by text, expires timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.add_key(id uuid, hash bytea, prefix text, name text, role text, project text, user_id text, moment timestamp with time zone, by text, expires timestamp with time zone) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.add_key_under(id uuid, hash bytea, prefix text, parent uuid, moment timestamp with time zone, expires timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.add_key_under(id uuid, hash bytea, prefix text, parent uuid, moment timestamp with time zone, expires timestamp with time zone) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.add_model(of_name text, size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.add_model(of_name text, size integer) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.any_key() FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.any_key() TO recollect_app;

REVOKE ALL ON FUNCTION recollect.append_turns(of_scope uuid, new_id uuid, of_project text, of_user text, session text, called text, added integer, exchanges integer, moment timestamp with time zone, until timestamp with time zone, covered_by smallint, said json, of_model smallint, vectors public.halfvec[]) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.append_turns(of_scope uuid, new_id uuid, of_project text, of_user text, session text, called text, added integer, exchanges integer, moment timestamp with time zone, until timestamp with time zone, covered_by smallint, said json, of_model smallint, vectors public.halfvec[]) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.document_work() FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.document_work() TO recollect_app;

REVOKE ALL ON FUNCTION recollect.find_documents(current_model smallint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_documents(current_model smallint, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.find_expired(moment timestamp with time zone, after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_expired(moment timestamp with time zone, after uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.find_key(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_key(hash bytea) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.find_old_keys(before timestamp with time zone, after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_old_keys(before timestamp with time zone, after uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.find_old_requests(before timestamp with time zone, after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_old_requests(before timestamp with time zone, after uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.find_upkeep(user_idle timestamp with time zone, project_idle timestamp with time zone, forgotten timestamp with time zone, below double precision, ended timestamp with time zone, minor double precision, minor_most integer, after uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_upkeep(user_idle timestamp with time zone, project_idle timestamp with time zone, forgotten timestamp with time zone, below double precision, ended timestamp with time zone, minor double precision, minor_most integer, after uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.find_work(current_model smallint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.find_work(current_model smallint, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.insist(holds boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.insist(holds boolean) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.list_keys(of_project text) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.list_keys(of_project text) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.missing_scope() FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.missing_scope() TO recollect_app;

REVOKE ALL ON FUNCTION recollect.note_key_use(wanted uuid, moment timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.note_key_use(wanted uuid, moment timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.open_scope(scope uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.open_scope(scope uuid) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.project_usage(which text, shared uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.project_usage(which text, shared uuid) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.report_asking(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_asking(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_conversations(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_conversations(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_counts(which text, since timestamp with time zone, until timestamp with time zone, steps integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_counts(which text, since timestamp with time zone, until timestamp with time zone, steps integer[]) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_days(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_days(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_follow_ups(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_follow_ups(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_requests(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_requests(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.report_signals(which text, since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.report_signals(which text, since timestamp with time zone, until timestamp with time zone) TO recollect_app;

REVOKE ALL ON FUNCTION recollect.revoke_key(wanted uuid, of_project text, moment timestamp with time zone, by text) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.revoke_key(wanted uuid, of_project text, moment timestamp with time zone, by text) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.stats_by_user(which text, shared uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.stats_by_user(which text, shared uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.storage_by_user(which text, shared uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.storage_by_user(which text, shared uuid, most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.wake_parked(stage text) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.wake_parked(stage text) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.work_status() FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.work_status() TO recollect_app;

REVOKE ALL ON FUNCTION recollect.work_troubles(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.work_troubles(most integer) TO recollect_operator;

REVOKE ALL ON FUNCTION recollect.tsvector_sum(tsvector) FROM PUBLIC;
GRANT ALL ON FUNCTION recollect.tsvector_sum(tsvector) TO recollect_app;

GRANT SELECT,INSERT ON TABLE recollect.audit TO recollect_app;

GRANT UPDATE(actor) ON TABLE recollect.audit TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.chapter TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.chunk TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.chunk_vector TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.conversation TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.data_source TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.document TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.document_part TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.embedding TO recollect_app;

GRANT SELECT ON TABLE recollect.embedding_model TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.episode TO recollect_app;

GRANT SELECT,INSERT,UPDATE ON TABLE recollect.errand TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.evidence TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.holder TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.idempotency TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.memory TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.posting TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.request TO recollect_app;

GRANT UPDATE(hits_used) ON TABLE recollect.request TO recollect_app;

GRANT UPDATE(latency_llm_ms) ON TABLE recollect.request TO recollect_app;

GRANT UPDATE(model) ON TABLE recollect.request TO recollect_app;

GRANT UPDATE(error_stage) ON TABLE recollect.request TO recollect_app;

GRANT SELECT ON TABLE recollect.schema_migration TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.shape TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.sketch TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.tally TO recollect_app;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE recollect.term TO recollect_app;

GRANT SELECT,INSERT,DELETE ON TABLE recollect.turn TO recollect_app;
