-- How the work on documents stands, over all scopes: counts and a time, never a title.

CREATE INDEX document_failed ON document (id) WHERE status = 'failed';

-- `oldest`: since when the first of those waits that nobody is reading. A document that failed is for whoever uploaded it.
CREATE FUNCTION document_work() RETURNS TABLE (waiting bigint, failed bigint, oldest timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = recollect, pg_temp AS $$
    SELECT count(*), (SELECT count(*) FROM document f WHERE f.status = 'failed'),
           min(d.updated_at) FILTER (WHERE d.lease_until IS NULL OR d.lease_until < now())
    FROM document d
    WHERE d.status IN ('pending', 'processing')
$$;
REVOKE ALL ON FUNCTION document_work FROM PUBLIC;
GRANT EXECUTE ON FUNCTION document_work TO recollect_app;
