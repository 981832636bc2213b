-- Forgetting a person reaches what the project keeps: the audit log loses their name, project knowledge the question
-- they asked when they taught it.

-- The audit log stays append-only but for the name of who acted; access.sql grants that.

-- Rows of every scope are changed below, so the owner is not bound by the policies meanwhile; all in one transaction.
ALTER TABLE holder NO FORCE ROW LEVEL SECURITY;
ALTER TABLE evidence NO FORCE ROW LEVEL SECURITY;
ALTER TABLE memory NO FORCE ROW LEVEL SECURITY;
ALTER TABLE idempotency NO FORCE ROW LEVEL SECURITY;

-- From now on project knowledge is stored without the question. Of an approved query the question is the knowledge.
UPDATE evidence e SET data = nullif(e.data - 'question', '{}')
FROM holder h
WHERE h.scope_id = e.scope_id AND h.user_id IS NULL AND e.kind NOT IN ('question', 'correction') AND e.data ? 'question';
UPDATE memory m SET data = nullif(m.data - 'question', '{}')
FROM holder h
WHERE h.scope_id = m.scope_id AND h.user_id IS NULL AND m.kind NOT IN ('question', 'correction') AND m.data ? 'question';

-- Callers choose idempotency keys, and may put anything into one: only a digest is stored.
UPDATE idempotency SET key = encode(sha256(convert_to(key, 'UTF8')), 'hex');

ALTER TABLE holder FORCE ROW LEVEL SECURITY;
ALTER TABLE evidence FORCE ROW LEVEL SECURITY;
ALTER TABLE memory FORCE ROW LEVEL SECURITY;
ALTER TABLE idempotency FORCE ROW LEVEL SECURITY;
