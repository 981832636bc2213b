-- Upkeep: finding what has expired, is old or idle in every scope, and whose turn it is to look.
--
-- Nothing is indexed by age: such an index would have to be kept by every message and every use of a memory, for a
-- question that is asked once a day. Instead each function reads one page of a table in the order of its key. It gives
-- away the ids of the scopes where something may be due, and always the last one of the page: the next page begins
-- after it, and the part of it that was cut off is not lost, because whoever asks looks into it. An empty answer is the
-- end. What is really due is decided in each scope's own transaction.

CREATE POLICY owner_finds_idle ON holder FOR SELECT TO CURRENT_USER USING (true);

CREATE FUNCTION find_expired(moment timestamptz, after uuid, most int) RETURNS TABLE (scope_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH page AS (
        SELECT c.scope_id AS scope, c.expires_at <= moment AS due
        FROM conversation c WHERE c.scope_id > after ORDER BY c.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION find_old_requests(before timestamptz, after uuid, most int) RETURNS TABLE (scope_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH page AS (
        SELECT r.scope_id AS scope, r.created_at < before AS due
        FROM request r WHERE r.scope_id > after ORDER BY r.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

CREATE FUNCTION find_old_keys(before timestamptz, after uuid, most int) RETURNS TABLE (scope_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH page AS (
        SELECT i.scope_id AS scope, i.created_at < before AS due
        FROM idempotency i WHERE i.scope_id > after ORDER BY i.scope_id LIMIT most)
    SELECT DISTINCT p.scope FROM page p
    WHERE p.due OR p.scope = (SELECT l.scope FROM page l ORDER BY l.scope DESC LIMIT 1)
    ORDER BY 1
$$;

-- Holders with memories that are idle, almost forgotten, long ended, or too many.
CREATE FUNCTION find_upkeep(
    user_idle timestamptz, project_idle timestamptz, forgotten timestamptz, below float8, ended timestamptz,
    minor float8, minor_most int, after uuid, most int)
RETURNS TABLE (scope_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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

-- What is done now and then by whichever worker comes first. Nobody's secret, but the wall stands on every table.
CREATE TABLE errand (
    name   text        PRIMARY KEY,
    due_at timestamptz NOT NULL
);
ALTER TABLE errand ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY everybody ON errand USING (true);
GRANT SELECT, INSERT, UPDATE ON errand TO recollect_app;

DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['find_expired', 'find_old_requests', 'find_old_keys', 'find_upkeep'] LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %I FROM PUBLIC', name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %I TO recollect_app', name);
    END LOOP;
END $$;
