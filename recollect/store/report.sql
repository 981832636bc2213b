-- Reports: aggregates over all scopes of a project, by functions that give away nothing else (migration 0005).

-- name: requests
SELECT requests, users, sessions, contexts, few_words, fallback, only_vectors, hit, hits_found, hits_used, truncated,
       summaries_only, tokens, budget, retrieval_p50, retrieval_p95, llm_timed, llm_p50, llm_p95, whole_p95
FROM report_requests(%(project)s, %(since)s, %(until)s)

-- name: signals
SELECT messages, reply_ms, summary_ms, summaries, corrections, thumbs_down, reproaches
FROM report_signals(%(project)s, %(since)s, %(until)s)

-- name: follow_ups
SELECT asked, succeeded FROM report_follow_ups(%(project)s, %(since)s, %(until)s)

-- name: conversations
SELECT conversations, questions, due, failing, parked FROM report_conversations(%(project)s, %(since)s, %(until)s)

-- name: days
SELECT day, requests, users, hit, few_words, fallback, contexts, truncated, retrieval_p50, retrieval_p95
FROM report_days(%(project)s, %(since)s, %(until)s)

-- name: counts
SELECT what, name, count FROM report_counts(%(project)s, %(since)s, %(until)s, %(steps)s)

-- name: asking
SELECT week, asked, asked_back, chosen, corrected, repeated, repeated_answered
FROM report_asking(%(project)s, %(since)s, %(until)s)

-- name: storage
SELECT scope_id, user_id, turns, memories, documents, bytes FROM storage_by_user(%(project)s, %(shared)s, %(most)s)

-- name: stats
SELECT user_id, conversations, turns, memories, documents, vectors, bytes, due, oldest
FROM stats_by_user(%(project)s, %(shared)s, %(most)s)

-- name: usage_of_scope
-- What counts against a user's quota.
SELECT (SELECT coalesce(sum(turn_count), 0)::bigint FROM conversation WHERE scope_id = %(scope)s) AS turns,
       (SELECT coalesce(sum(size), 0)::bigint FROM document WHERE scope_id = %(scope)s) AS document_bytes

-- name: usage_of_project
SELECT turns, document_bytes FROM project_usage(%(project)s, %(shared)s)
