-- What each user of a project has, and how far behind the work on it is: `recollect stats`. For operators only.

CREATE POLICY owner_counts ON embedding FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY owner_counts ON chunk_vector FOR SELECT TO CURRENT_USER USING (true);

-- Each table is read once, grouped by its scope, which a cluster does on every node by itself.
CREATE FUNCTION stats_by_user(which text, shared uuid, most int)
RETURNS TABLE (scope_id uuid, user_id text, conversations bigint, turns bigint, memories bigint, documents bigint,
               vectors bigint, bytes bigint, due bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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
-- The operator may run it: access.sql grants that, once the role exists.
REVOKE ALL ON FUNCTION stats_by_user FROM PUBLIC;
