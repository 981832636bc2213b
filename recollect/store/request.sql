-- Requests: one row each, for metrics and for explain().

-- name: add
INSERT INTO request
    (scope_id, id, project, user_id, session_id, created_at, verb, query, scope_used, fts_hits, trgm_hits,
     vector_hits, hits_found, hits_used, used_fallback, retrieval_path, context_items, estimated_tokens,
     budget_tokens, truncated, latency_retrieval_ms, latency_llm_ms, model, error_stage, trace)
VALUES
    (%(scope)s, %(id)s, %(project)s, %(user)s, %(session)s, %(created_at)s, %(verb)s, %(query)s, %(scope_used)s,
     %(fts_hits)s, %(trgm_hits)s, %(vector_hits)s, %(hits_found)s, %(hits_used)s, %(used_fallback)s,
     %(retrieval_path)s, %(context_items)s, %(estimated_tokens)s, %(budget_tokens)s, %(truncated)s,
     %(latency_retrieval_ms)s, %(latency_llm_ms)s, %(model)s, %(error_stage)s, %(trace)s::jsonb)
ON CONFLICT DO NOTHING

-- name: answered
-- What came of a request: which model replied, how long it took, what failed, and how much of what was found it used.
UPDATE request SET
    model = %(model)s, latency_llm_ms = %(latency_llm_ms)s, error_stage = coalesce(%(error_stage)s, error_stage),
    hits_used = coalesce(%(hits_used)s, hits_used)
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: find
SELECT id, session_id, created_at, verb, query, scope_used, fts_hits, trgm_hits, vector_hits, hits_found, hits_used,
       used_fallback, retrieval_path, context_items, estimated_tokens, budget_tokens, truncated,
       latency_retrieval_ms, latency_llm_ms, model, error_stage, trace
FROM request
WHERE scope_id = %(scope)s AND id = %(id)s

-- name: all
SELECT id, session_id, created_at, verb, query, scope_used, fts_hits, trgm_hits, vector_hits, hits_found, hits_used,
       used_fallback, retrieval_path, context_items, estimated_tokens, budget_tokens, truncated,
       latency_retrieval_ms, latency_llm_ms, model, error_stage, trace
FROM request
WHERE scope_id = %(scope)s
ORDER BY created_at, id

-- name: delete_one
-- A conversation's requests go with it: they quote what was asked. One that named no session is the conversation's if
-- one of its turns has the words: memory may be asked before the first turn has begun the session.
DELETE FROM request r
USING conversation c
WHERE r.scope_id = %(scope)s AND c.scope_id = %(scope)s AND c.id = %(conversation)s
  AND (r.session_id = c.session_id
       OR r.session_id IS NULL
          AND EXISTS (SELECT FROM turn t
                      WHERE t.scope_id = %(scope)s AND t.conversation_id = %(conversation)s
                        AND (strpos(t.text, btrim(r.query)) > 0 OR t.data ->> 'standalone' = r.query)))

-- name: delete_all
DELETE FROM request WHERE scope_id = %(scope)s
