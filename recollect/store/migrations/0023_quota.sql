-- What a project stores in all, for its quota. For operators only: it adds up over users.

CREATE FUNCTION project_usage(which text, shared uuid)
RETURNS TABLE (turns bigint, document_bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    WITH talk AS MATERIALIZED (
        SELECT c.scope_id AS scope, sum(c.turn_count) AS turns FROM conversation c WHERE c.project = which GROUP BY 1),
    scopes AS MATERIALIZED (
        SELECT t.scope FROM talk t
        UNION SELECT h.scope_id FROM holder h WHERE h.project = which
        UNION SELECT shared),
    files AS MATERIALIZED (SELECT sum(d.size) AS bytes FROM scopes s JOIN document d ON d.scope_id = s.scope)
    SELECT (SELECT coalesce(sum(t.turns), 0)::bigint FROM talk t), (SELECT coalesce(f.bytes, 0)::bigint FROM files f)
$$;
-- The operator may run it: access.sql grants that, once the role exists.
REVOKE ALL ON FUNCTION project_usage FROM PUBLIC;
