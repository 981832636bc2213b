-- Reports: how memory did in a project over some days. These functions read the rows of all its scopes as the owner, and
-- give away counts and percentiles, never a text or an id.
--
-- Nothing is indexed for them: such an index would have to be kept by every request, for a question that is asked once
-- a week. They read the diary from one end to the other; upkeep keeps it short (RECOLLECT_REQUEST_DAYS).

CREATE POLICY owner_counts ON tally FOR SELECT TO CURRENT_USER USING (true);

CREATE FUNCTION report_requests(which text, since timestamptz, until timestamptz)
RETURNS TABLE (
    requests bigint, users bigint, sessions bigint, contexts bigint, few_words bigint, fallback bigint,
    only_vectors bigint, hit bigint, hits_found bigint, hits_used bigint, truncated bigint, summaries_only bigint,
    tokens bigint, budget bigint, retrieval_p50 int, retrieval_p95 int, llm_timed bigint, llm_p50 int, llm_p95 int,
    whole_p95 int)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT count(*), count(DISTINCT r.scope_id),
           count(DISTINCT (r.scope_id, r.session_id)) FILTER (WHERE r.session_id IS NOT NULL),
           count(*) FILTER (WHERE r.verb = 'context'),
           count(*) FILTER (WHERE r.fts_hits < 3),
           count(*) FILTER (WHERE r.used_fallback),
           count(*) FILTER (WHERE r.retrieval_path = 'vector'),
           count(*) FILTER (WHERE r.hits_used > 0),
           coalesce(sum(r.hits_found), 0), coalesce(sum(r.hits_used), 0),
           count(*) FILTER (WHERE r.verb = 'context' AND r.truncated),
           -- What is known or was summarised went into the prompt, and no turn that was found did.
           count(*) FILTER (WHERE r.verb = 'context'
               AND traced.packed ?| ARRAY(
                   SELECT m ->> 'source' FROM jsonb_array_elements(traced.memories) m
                   UNION ALL SELECT e #>> '{}' FROM jsonb_array_elements(traced.episodes) e)
               AND NOT traced.packed ?| ARRAY(SELECT h ->> 'source' FROM jsonb_array_elements(traced.hits) h)),
           coalesce(sum(r.estimated_tokens) FILTER (WHERE r.verb = 'context'), 0),
           coalesce(sum(r.budget_tokens) FILTER (WHERE r.verb = 'context'), 0),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY r.latency_retrieval_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_retrieval_ms),
           count(r.latency_llm_ms),
           percentile_disc(0.5) WITHIN GROUP (ORDER BY r.latency_llm_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_llm_ms),
           percentile_disc(0.95) WITHIN GROUP (ORDER BY r.latency_retrieval_ms + coalesce(r.latency_llm_ms, 0))
    FROM request r
    -- All at once: each `->` would unpack the whole trace again.
    CROSS JOIN LATERAL jsonb_to_record(r.trace) AS traced(packed jsonb, memories jsonb, episodes jsonb, hits jsonb)
    WHERE r.project = which AND r.created_at >= since AND r.created_at <= until
$$;

-- A follow-up is a request of a session that asks something else than the one before it.
CREATE FUNCTION report_follow_ups(which text, since timestamptz, until timestamptz)
RETURNS TABLE (asked bigint, succeeded bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH asked AS (
        SELECT r.hits_used > 0 AND r.error_stage IS NULL AS succeeded,
               r.query <> lag(r.query) OVER (PARTITION BY r.scope_id, r.session_id ORDER BY r.created_at, r.id) AS follows
        FROM request r
        WHERE r.project = which AND r.created_at >= since AND r.created_at <= until AND r.session_id IS NOT NULL)
    SELECT count(*), count(*) FILTER (WHERE a.succeeded) FROM asked a WHERE a.follows
$$;

CREATE FUNCTION report_conversations(which text, since timestamptz, until timestamptz)
RETURNS TABLE (conversations bigint, questions bigint, due bigint, failing bigint, parked bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT count(*) FILTER (WHERE c.updated_at >= since AND c.updated_at <= until),
           coalesce(sum(c.interaction_count) FILTER (WHERE c.updated_at >= since AND c.updated_at <= until), 0),
           count(*) FILTER (WHERE c.due),
           count(*) FILTER (WHERE c.last_error IS NOT NULL AND c.parked = '{}'),
           count(*) FILTER (WHERE c.parked <> '{}')
    FROM conversation c
    WHERE c.project = which
$$;

CREATE FUNCTION report_days(which text, since timestamptz, until timestamptz)
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
    WHERE r.project = which AND r.created_at >= since AND r.created_at <= until
    GROUP BY 1
    ORDER BY 1
$$;

-- How often each name of ours occurs: ways, stages, reasons. A latency is named by the step it does not reach.
CREATE FUNCTION report_counts(which text, since timestamptz, until timestamptz, steps int[])
RETURNS TABLE (what text, name text, count bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH asked AS (
        SELECT r.retrieval_path, r.error_stage, width_bucket(r.latency_retrieval_ms, steps) AS step
        FROM request r WHERE r.project = which AND r.created_at >= since AND r.created_at <= until),
    -- What was only turned away has no holder.
    held AS (
        SELECT h.scope_id FROM holder h WHERE h.project = which
        UNION SELECT c.scope_id FROM conversation c WHERE c.project = which)
    SELECT 'path', a.retrieval_path, count(*) FROM asked a GROUP BY 2
    UNION ALL
    SELECT 'error', a.error_stage, count(*) FROM asked a WHERE a.error_stage IS NOT NULL GROUP BY 2
    UNION ALL
    SELECT 'latency', a.step::text, count(*) FROM asked a GROUP BY 2
    UNION ALL
    SELECT 'learned', m.learned_by, count(*) FROM held h JOIN memory m ON m.scope_id = h.scope_id
    WHERE m.created_at >= since AND m.created_at <= until GROUP BY 2
    UNION ALL
    SELECT 'rejected', t.reason, sum(t.count) FROM held h JOIN tally t ON t.scope_id = h.scope_id
    WHERE t.day >= (since AT TIME ZONE 'UTC')::date AND t.day <= (until AT TIME ZONE 'UTC')::date GROUP BY 2
    ORDER BY 1, 3 DESC, 2
$$;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['report_requests', 'report_follow_ups', 'report_conversations', 'report_days',
                                'report_counts'] LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %I FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO recollect_app', name);
    END LOOP;
END $$;
