-- The end of what is known under a key, found without reading the rest: learning from a new turn costs the same for a user
-- with ten memories and for one with a hundred thousand (model/reconcile.py, `extend`).

-- Where the first evidence of a memory stands among evidence of the same moment: conversation, turn, id. Bytes are
-- compared, so that the order is the same everywhere; what a person told outright comes last ('~').
ALTER TABLE memory ADD COLUMN place text COLLATE "C" NOT NULL DEFAULT '';

-- The owner is behind the wall too.
ALTER TABLE memory NO FORCE ROW LEVEL SECURITY;
ALTER TABLE evidence NO FORCE ROW LEVEL SECURITY;
UPDATE memory m SET place = e.place
FROM (SELECT DISTINCT ON (scope_id, memory_id) scope_id, memory_id,
             coalesce(conversation_id::text, '~') || ':' || lpad(coalesce(turn_index, 0)::text, 10, '0') || ':' || id AS place
      FROM evidence
      WHERE memory_id IS NOT NULL
      ORDER BY scope_id, memory_id, said_at, conversation_id, turn_index, id) e
WHERE m.scope_id = e.scope_id AND m.id = e.memory_id;
ALTER TABLE evidence FORCE ROW LEVEL SECURITY;
ALTER TABLE memory FORCE ROW LEVEL SECURITY;

-- A redacted memory may count as active in the fold, so it is read too.
CREATE INDEX memory_tail ON memory (scope_id, key, valid_from DESC, place DESC)
    WHERE status = 'active' OR reason = 'redacted';
CREATE INDEX evidence_memory ON evidence (scope_id, memory_id);
CREATE INDEX evidence_tail ON evidence (scope_id, key, said_at, conversation_id, turn_index, id);
DROP INDEX evidence_key;
