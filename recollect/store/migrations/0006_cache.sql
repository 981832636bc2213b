-- What a cache needs to know: a turn changes only when a value in it is blanked, and then its conversation's count does.

ALTER TABLE conversation ADD COLUMN redactions int NOT NULL DEFAULT 0;  -- turns that were blanked, ever
