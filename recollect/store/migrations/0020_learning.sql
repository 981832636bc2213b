-- Whether learning helps, per week: questions to databases, clarifications that they needed, replies to those
-- (a choice, or a meaning in the user's own words), corrections, and questions that a user asked again, with how many
-- of these were answered without asking. Counts only, over all scopes of a project, like the other reports.

DROP FUNCTION report_asking(text, timestamptz, timestamptz);
CREATE FUNCTION report_asking(which text, since timestamptz, until timestamptz)
RETURNS TABLE (week date, asked bigint, asked_back bigint, chosen bigint, corrected bigint, repeated bigint,
               repeated_answered bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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
REVOKE ALL ON FUNCTION report_asking FROM PUBLIC;
GRANT EXECUTE ON FUNCTION report_asking TO recollect_app;
