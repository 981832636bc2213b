-- Evidence: what was said about a key, once each.

-- name: of_keys
-- All evidence of some keys: what a memory is made of.
SELECT id, act, kind, key, value, confidence, importance, source, learned_by, said_at, corrects, old, data,
       conversation_id, session_id, turn_index, author, memory_id
FROM evidence
WHERE scope_id = %(scope)s AND key = ANY(%(keys)s)

-- name: last_of_keys
-- Where the last evidence of each key stands in the log.
SELECT wanted.key, e.said_at, e.conversation_id, e.turn_index, e.id
FROM unnest(%(keys)s::text[]) AS wanted(key)
CROSS JOIN LATERAL (
    SELECT l.said_at, l.conversation_id, l.turn_index, l.id FROM evidence l
    WHERE l.scope_id = %(scope)s AND l.key = wanted.key
    ORDER BY l.said_at DESC, l.conversation_id DESC, l.turn_index DESC, l.id DESC
    LIMIT 1) e

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
SELECT h.scope_id, x.id, x.memory, x.act, x.kind, x.key, x.value, x.data, x.confidence, x.importance, x.source,
       x.learned_by, x.corrects, x.old, x.said_at, x.conversation, x.session, x.turn, x.author, %(now)s
FROM holder h
CROSS JOIN json_to_recordset(%(evidence)s::json) AS x(
    id uuid, memory uuid, act text, kind text, key text, value text, data jsonb, confidence float8, importance float8,
    source text, learned_by text, corrects boolean, old text, said_at timestamptz, conversation uuid, session text,
    turn int, author text)
WHERE h.scope_id = %(scope)s
ON CONFLICT DO NOTHING

-- name: link
UPDATE evidence e SET memory_id = x.memory
FROM json_to_recordset(%(links)s::json) AS x(id uuid, memory uuid)
WHERE e.scope_id = %(scope)s AND e.id = x.id

-- name: settle_proposal
-- Approves or refuses a proposal.
UPDATE evidence SET act = %(act)s, said_at = %(now)s, author = coalesce(%(actor)s, author)
WHERE scope_id = %(scope)s AND memory_id = %(memory)s AND act = 'proposes'

-- name: proposals_of
-- What somebody proposed to the project and nobody has approved: it is not the project's yet.
SELECT id, key FROM evidence WHERE scope_id = %(scope)s AND author = %(user)s AND act = 'proposes'

-- name: forget_author
-- What somebody taught the project stays; who it was does not.
UPDATE evidence SET author = NULL WHERE scope_id = %(scope)s AND author = %(user)s

-- name: asked_in
-- What was taught outright about a question of a conversation: by its text, because teaching names no session. If
-- another conversation has the same question, it stays.
SELECT e.id, e.kind, e.key
FROM evidence e
WHERE e.scope_id = %(scope)s AND e.conversation_id IS NULL AND e.data ? 'question'
  AND EXISTS (SELECT FROM turn t
              WHERE t.scope_id = %(scope)s AND t.conversation_id = %(conversation)s AND t.role = 'user'
                AND btrim(e.data ->> 'question') IN (btrim(t.text), btrim(t.data ->> 'standalone')))
  AND NOT EXISTS (SELECT FROM turn o
                  WHERE o.scope_id = %(scope)s AND o.conversation_id <> %(conversation)s AND o.role = 'user'
                    AND btrim(e.data ->> 'question') IN (btrim(o.text), btrim(o.data ->> 'standalone')))

-- name: forget_question
UPDATE evidence SET data = nullif(data - 'question', '{}') WHERE scope_id = %(scope)s AND id = ANY(%(evidence)s)

-- name: keys_of_conversation
SELECT DISTINCT key FROM evidence WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: drop
-- The evidence of memories that are erased.
DELETE FROM evidence WHERE scope_id = %(scope)s AND memory_id = ANY(%(memories)s)

-- name: delete_one
DELETE FROM evidence WHERE scope_id = %(scope)s AND conversation_id = %(conversation)s

-- name: delete_all
DELETE FROM evidence WHERE scope_id = %(scope)s
