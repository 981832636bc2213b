-- Questions to databases, per week: how many were asked, asked back, and corrected. Whether learning helps shows here:
-- the share of those asked back should fall. Counts only, over all scopes of a project, like the other reports.

CREATE POLICY owner_counts ON turn FOR SELECT TO CURRENT_USER USING (true);

CREATE FUNCTION report_asking(which text, since timestamptz, until timestamptz)
RETURNS TABLE (week date, asked bigint, asked_back bigint, corrected bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH answers AS (
        SELECT date_trunc('week', t.recorded_at AT TIME ZONE 'UTC')::date AS week,
               -- The host says so of each answer (hosts/sql/keeping.py).
               jsonb_array_length(coalesce(t.data -> 'clarifications', '[]')) > 0 AND t.data ->> 'sql' = '' AS asked_back
        FROM conversation c
        JOIN turn t ON t.scope_id = c.scope_id AND t.conversation_id = c.id
        WHERE c.project = which AND c.updated_at >= since
          AND t.role = 'assistant' AND t.data ->> 'host' = 'sql'
          AND t.recorded_at >= since AND t.recorded_at <= until),
    corrections AS (
        SELECT date_trunc('week', m.created_at AT TIME ZONE 'UTC')::date AS week
        FROM holder h JOIN memory m ON m.scope_id = h.scope_id
        WHERE h.project = which AND m.kind = 'correction' AND m.created_at >= since AND m.created_at <= until)
    SELECT coalesce(a.week, k.week), coalesce(a.asked, 0), coalesce(a.asked_back, 0), coalesce(k.corrected, 0)
    FROM (SELECT a.week, count(*) AS asked, count(*) FILTER (WHERE a.asked_back) AS asked_back
          FROM answers a GROUP BY 1) a
    FULL JOIN (SELECT k.week, count(*) AS corrected FROM corrections k GROUP BY 1) k USING (week)
    ORDER BY 1
$$;
REVOKE ALL ON FUNCTION report_asking FROM PUBLIC;
GRANT EXECUTE ON FUNCTION report_asking TO recollect_app;
