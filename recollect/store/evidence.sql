-- Evidence: what was said about a key, once each.

-- name: of_keys
-- All evidence of some keys: what a memory is made of.
SELECT id, act, kind, key, value, confidence, importance, source, learned_by, said_at, corrects, old, data,
       conversation_id, session_id, turn_index, author, memory_id
FROM evidence
WHERE scope_id = %(scope)s AND key = ANY(%(keys)s)

-- name: all
SELECT id, act, kind, key, value, confidence, importance, source, learned_by, said_at, corrects, old, data,
       conversation_id, session_id, turn_index, author, memory_id
FROM evidence
WHERE scope_id = %(scope)s
ORDER BY said_at, id

-- name: add
INSERT INTO evidence
    (scope_id, id, memory_id, act, kind, key, value, data, confidence, importance, source, learned_by, corrects, old,
     said_at, conversation_id, session_id, turn_index, author, created_at)
SELECT %(scope)s, x.id, x.memory, x.act, x.kind, x.key, x.value, x.data, x.confidence, x.importance, x.source,
       x.learned_by, x.corrects, x.old, x.said_at, x.conversation, x.session, x.turn, x.author, %(now)s
FROM json_to_recordset(%(evidence)s::json) AS x(
    id uuid, memory uuid, act text, kind text, key text, value text, data jsonb, confidence float8, importance float8,
    source text, learned_by text, corrects boolean, old text, said_at timestamptz, conversation uuid, session text,
    turn int, author text)
ON CONFLICT DO NOTHING

-- name: link
UPDATE evidence e SET memory_id = x.memory
FROM json_to_recordset(%(links)s::json) AS x(id uuid, memory uuid)
WHERE e.scope_id = %(scope)s AND e.id = x.id

-- name: settle_proposal
-- What was proposed is said, or refused.
UPDATE evidence SET act = %(act)s, said_at = %(now)s, author = coalesce(%(actor)s, author)
WHERE scope_id = %(scope)s AND memory_id = %(memory)s AND act = 'proposes'

-- name: keys_of_conversation
SELECT DISTINCT key FROM evidence WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: drop
-- The evidence of memories that are erased.
DELETE FROM evidence WHERE scope_id = %(scope)s AND memory_id = ANY(%(memories)s)

-- name: delete_one
DELETE FROM evidence WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM evidence WHERE scope_id = %(scope)s
