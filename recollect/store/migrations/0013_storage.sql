-- What is kept for each user of a project, counted: for whoever pays for the disk. The only report that names users; doors
-- show the names to admins. A user who has only uploaded documents is not among them: nothing ties his scope to a project
-- until he says something or something is known about him.

-- `shared` is the scope of what the project's users share: it may have documents and nothing else. Bytes are those of the
-- texts and files as they lie on the disk; vectors and indexes come on top.
CREATE FUNCTION storage_by_user(which text, shared uuid, most int)
RETURNS TABLE (scope_id uuid, user_id text, turns bigint, memories bigint, documents bigint, bytes bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
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
REVOKE ALL ON FUNCTION storage_by_user FROM PUBLIC;
GRANT EXECUTE ON FUNCTION storage_by_user TO recollect_app;
