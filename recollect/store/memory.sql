-- Memories.

-- name: of_keys
-- All memories of some keys, ended ones too, as the evidence has them: to be reconciled.
SELECT id, kind, key, value, confidence, importance, source, learned_by, status, valid_from, valid_to, reason,
       replaced_by, refs, data, terms, usage_count, last_used_at, created_at, place
FROM memory
WHERE scope_id = %(scope)s AND key = ANY(%(keys)s)

-- name: tail
-- The last active memories of some slots (no kind: of any), each with what its evidence comes to and the last of that.
-- Redacted ones come too: the fold may count them as active.
SELECT m.id, m.kind, m.key, m.value, m.confidence, m.importance, m.source, m.learned_by, m.status, m.valid_from,
       m.valid_to, m.reason, m.replaced_by, m.refs, m.data, m.terms, m.usage_count, m.last_used_at, m.created_at,
       m.place,
       e.fullest, e.count, e.surest, e.most_important,
       e.id, e.act, e.kind, e.key, e.value, e.confidence, e.importance, e.source, e.learned_by, e.said_at, e.corrects,
       e.old, e.data, e.conversation_id, e.session_id, e.turn_index, e.author, e.memory_id
FROM unnest(%(keys)s::text[], %(kinds)s::text[]) AS slot(key, kind)
CROSS JOIN LATERAL (
    SELECT k.* FROM memory k
    WHERE k.scope_id = %(scope)s AND k.key = slot.key AND (slot.kind = '' OR k.kind = slot.kind)
      AND (k.status = 'active' OR k.reason = 'redacted')
    ORDER BY k.valid_from DESC, k.place DESC
    LIMIT %(most)s) m
CROSS JOIN LATERAL (
    SELECT s.*, count(*) OVER () AS count, max(s.confidence) OVER () AS surest,
           max(s.importance) OVER () AS most_important,
           first_value(s.value) OVER (ORDER BY length(s.value) DESC, s.said_at, s.conversation_id, s.turn_index, s.id)
               AS fullest
    FROM evidence s
    WHERE s.scope_id = %(scope)s AND s.memory_id = m.id
    ORDER BY s.said_at DESC, s.conversation_id DESC, s.turn_index DESC, s.id DESC
    LIMIT 1) e

-- name: find
SELECT id, kind, key, value, greatest(confidence - decayed, 0) AS confidence, importance, source, learned_by, status,
       valid_from, valid_to, reason, replaced_by, refs, data, terms, usage_count, last_used_at, created_at
FROM memory
WHERE scope_id = %(scope)s AND id = ANY(%(ids)s)

-- name: list
-- By any of kind, key and status; as of a time: what was believed then. Page by page, after the last of the page before.
SELECT m.id, m.kind, m.key, m.value, greatest(m.confidence - m.decayed, 0) AS confidence, m.importance, m.source,
       m.learned_by, m.status, m.valid_from, m.valid_to, m.reason, m.replaced_by, m.refs, m.data, m.terms,
       m.usage_count, m.last_used_at, m.created_at
FROM memory m
WHERE m.scope_id = %(scope)s
  AND (%(kinds)s::text[] IS NULL OR m.kind = ANY(%(kinds)s))
  AND (%(keys)s::text[] IS NULL OR m.key = ANY(%(keys)s))
  AND (%(status)s::text[] IS NULL OR m.status = ANY(%(status)s))
  AND (%(as_of)s::timestamptz IS NULL
       OR (m.valid_from <= %(as_of)s AND (m.valid_to IS NULL OR m.valid_to > %(as_of)s) AND m.status <> 'pending'))
  AND (%(after)s::uuid IS NULL OR (m.importance, m.valid_from, m.id) < (
          SELECT a.importance, a.valid_from, a.id FROM memory a WHERE a.scope_id = %(scope)s AND a.id = %(after)s))
ORDER BY m.importance DESC, m.valid_from DESC, m.id DESC
LIMIT %(limit)s

-- name: standing
-- Those of some kinds, and of the preferences those of some keys ("time_grain", or "aggregation:" whatever): of what
-- somebody likes most has nothing to do with a host.
SELECT m.id, m.kind, m.key, m.value, greatest(m.confidence - m.decayed, 0) AS confidence, m.importance, m.source,
       m.learned_by, m.status, m.valid_from, m.valid_to, m.reason, m.replaced_by, m.refs, m.data, m.terms,
       m.usage_count, m.last_used_at, m.created_at
FROM memory m
WHERE m.scope_id = %(scope)s AND m.status = ANY(%(status)s)
  AND (m.kind = ANY(%(kinds)s) OR m.kind = 'preference' AND split_part(m.key, ':', 1) = ANY(%(habits)s))
ORDER BY m.importance DESC, m.valid_from DESC, m.id DESC
LIMIT %(limit)s

-- name: facts
-- Of some kinds those that share words with a question, the most words first.
SELECT m.id, m.kind, m.key, m.value, greatest(m.confidence - m.decayed, 0) AS confidence, m.importance, m.source,
       m.learned_by, m.status, m.valid_from, m.valid_to, m.reason, m.replaced_by, m.refs, m.data, m.terms,
       m.usage_count, m.last_used_at, m.created_at
FROM memory m
WHERE m.scope_id = %(scope)s AND m.status = 'active' AND m.kind = ANY(%(kinds)s) AND m.words @@ %(words)s::tsquery
ORDER BY (SELECT count(*) FROM unnest(tsvector_to_array(m.words)) l WHERE l = ANY(%(lexemes)s::text[])) DESC,
         m.valid_from DESC, m.id
LIMIT %(limit)s

-- name: stories
-- Some memories, with all that was ever believed under their keys.
SELECT m.id, m.kind, m.key, m.value, greatest(m.confidence - m.decayed, 0) AS confidence, m.importance, m.source,
       m.learned_by, m.status, m.valid_from, m.valid_to, m.reason, m.replaced_by, m.refs, m.data, m.terms,
       m.usage_count, m.last_used_at, m.created_at
FROM memory m
WHERE m.scope_id = %(scope)s
  AND m.key IN (SELECT k.key FROM memory k WHERE k.scope_id = %(scope)s AND k.id = ANY(%(ids)s))
ORDER BY m.valid_from, m.id
LIMIT %(limit)s

-- name: known
-- What may matter to a question: all that is important, and what shares a key or a word with it. Ended values come only
-- for a question about the past; as of a time, what was believed then.
SELECT id, kind, key, value, greatest(confidence - decayed, 0) AS confidence, importance, source, learned_by, status,
       valid_from, valid_to, reason, replaced_by, refs, data, terms, usage_count, last_used_at, created_at,
       -- Which lexemes of the question it has.
       (SELECT array_agg(l) FROM unnest(tsvector_to_array(words)) l WHERE l = ANY(%(lexemes)s::text[])) AS shared
FROM memory
WHERE scope_id = %(scope)s
  AND CASE WHEN %(as_of)s::timestamptz IS NULL
           THEN status = 'active' OR (status = 'superseded' AND %(past)s)
           ELSE status IN ('active', 'superseded') AND valid_from <= %(as_of)s
                AND (valid_to IS NULL OR valid_to > %(as_of)s) END
  AND (importance >= %(always)s OR key = ANY(%(keys)s) OR terms && %(terms)s::text[]
       OR words @@ %(words)s::tsquery)
ORDER BY importance DESC, valid_from DESC, id
LIMIT %(limit)s

-- name: resolve
-- The meanings of some terms. One that was learned as a term wins over one that merely mentions it.
SELECT id, kind, key, value, greatest(confidence - decayed, 0) AS confidence, importance, source, learned_by, status,
       valid_from, valid_to, reason, replaced_by, refs, data, terms, usage_count, last_used_at, created_at
FROM memory
WHERE scope_id = %(scope)s AND status = 'active' AND terms && %(terms)s::text[]
ORDER BY valid_from DESC
LIMIT %(limit)s

-- name: overtaken
-- Turns that said what is no longer so, each with a later turn that says what is: recall puts the second first. A turn
-- whose words the user asked to forget has none.
WITH said AS MATERIALIZED (
    SELECT memory_id, conversation_id, turn_index, said_at
    FROM evidence
    WHERE scope_id = %(scope)s AND act = 'says' AND conversation_id IS NOT NULL),
ended AS MATERIALIZED (
    SELECT id, replaced_by, status = 'retracted' AND reason = 'asked to forget it' AS is_forgotten,
           key = ANY(%(keys)s) OR terms && %(terms)s::text[] OR words @@ %(words)s::tsquery AS is_asked
    FROM memory
    WHERE scope_id = %(scope)s AND status IN ('superseded', 'retracted')),
-- Without statistics the planner would join by nested loops, which is quadratic. A full join can only be hashed, and
-- OFFSET keeps it one.
paired AS MATERIALIZED (
    SELECT e.conversation_id, e.turn_index, e.said_at, m.is_forgotten, m.is_asked,
           n.conversation_id AS new_conversation_id, n.turn_index AS new_turn_index, n.said_at AS new_said_at
    FROM ended m
    FULL JOIN said e ON e.memory_id = m.id
    FULL JOIN said n ON n.memory_id = m.replaced_by
    OFFSET 0)
SELECT DISTINCT conversation_id, turn_index, new_conversation_id, new_turn_index
FROM paired
WHERE conversation_id IS NOT NULL
  -- An update says nothing about questions that do not speak of it.
  AND (is_forgotten OR is_asked AND (new_said_at, new_turn_index) > (said_at, turn_index))

-- name: put
INSERT INTO memory AS m
    (scope_id, id, kind, key, value, data, terms, words, confidence, importance, source, learned_by, status,
     valid_from, valid_to, reason, replaced_by, refs, place, created_at, updated_at)
SELECT h.scope_id, x.id, x.kind, x.key, x.value, x.data, x.terms, x.words, x.confidence, x.importance, x.source,
       x.learned_by, x.status, x.valid_from, x.valid_to, x.reason, x.replaced_by, x.refs, x.place, %(now)s, %(now)s
FROM holder h
CROSS JOIN json_to_recordset(%(memories)s::json) AS x(
    id uuid, kind text, key text, value text, data jsonb, terms text[], words tsvector, confidence float8,
    importance float8, source text, learned_by text, status text, valid_from timestamptz, valid_to timestamptz,
    reason text, replaced_by uuid, refs text[], place text)
WHERE h.scope_id = %(scope)s
ON CONFLICT (scope_id, id) DO UPDATE SET
    kind = excluded.kind, key = excluded.key, value = excluded.value, data = excluded.data, terms = excluded.terms,
    words = excluded.words, confidence = excluded.confidence, decayed = 0, last_decayed_at = NULL,
    importance = excluded.importance, source = excluded.source, learned_by = excluded.learned_by,
    status = excluded.status, valid_from = excluded.valid_from, valid_to = excluded.valid_to,
    reason = excluded.reason, replaced_by = excluded.replaced_by, refs = excluded.refs,
    place = excluded.place, updated_at = excluded.updated_at

-- name: drop
DELETE FROM memory WHERE scope_id = %(scope)s AND id = ANY(%(memories)s)

-- name: forget_author
-- The same for what the evidence comes to. Two authors without a name are one.
UPDATE memory
SET refs = ARRAY(SELECT r.ref FROM unnest(array_replace(refs, %(ref)s, %(pseudonym)s)) WITH ORDINALITY r(ref, place)
                 GROUP BY r.ref ORDER BY min(r.place))
WHERE scope_id = %(scope)s AND %(ref)s = ANY(refs)

-- name: use
-- Usage, counted in batches.
UPDATE memory m SET usage_count = m.usage_count + x.count, last_used_at = greatest(m.last_used_at, x.at)
FROM json_to_recordset(%(used)s::json) AS x(id uuid, count int, at timestamptz)
WHERE m.scope_id = %(scope)s AND m.id = x.id

-- name: delete_all
DELETE FROM memory WHERE scope_id = %(scope)s
