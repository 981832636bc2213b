-- What the report needs beside searches: a row for each message that needed none (`verb` is 'message'), how long models
-- worked on summaries, and how often users complained. Counts only, over all scopes of a project.

ALTER TABLE episode ADD COLUMN model_ms int;
CREATE POLICY owner_counts ON episode FOR SELECT TO CURRENT_USER USING (true);
GRANT UPDATE (hits_used) ON request TO recollect_app;

-- The pattern of a complaint is fixed here: a caller who could pass one would learn what other users wrote.
CREATE FUNCTION report_signals(which text, since timestamptz, until timestamptz)
RETURNS TABLE (messages bigint, reply_ms bigint, summary_ms bigint, summaries bigint, corrections bigint,
               thumbs_down bigint, reproaches bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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
REVOKE ALL ON FUNCTION report_signals FROM PUBLIC;
GRANT EXECUTE ON FUNCTION report_signals TO recollect_app;

-- The other figures are about searches.
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
$$;

CREATE OR REPLACE FUNCTION report_follow_ups(which text, since timestamptz, until timestamptz)
RETURNS TABLE (asked bigint, succeeded bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH asked AS (
        SELECT r.hits_used > 0 AND r.error_stage IS NULL AS succeeded,
               r.query <> lag(r.query) OVER (PARTITION BY r.scope_id, r.session_id ORDER BY r.created_at, r.id) AS follows
        FROM request r
        WHERE r.project = which AND r.verb <> 'message'
          AND r.created_at >= since AND r.created_at <= until AND r.session_id IS NOT NULL)
    SELECT count(*), count(*) FILTER (WHERE a.succeeded) FROM asked a WHERE a.follows
$$;

CREATE OR REPLACE FUNCTION report_days(which text, since timestamptz, until timestamptz)
RETURNS TABLE (
    day date, requests bigint, users bigint, hit bigint, few_words bigint, fallback bigint, contexts bigint,
    truncated bigint, retrieval_p50 int, retrieval_p95 int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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

CREATE OR REPLACE FUNCTION report_counts(which text, since timestamptz, until timestamptz, steps int[])
RETURNS TABLE (what text, name text, count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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
