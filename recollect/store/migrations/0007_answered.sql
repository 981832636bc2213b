-- A host adds to a request what came of it: which model replied, how long it took, what failed. Nothing else of it
-- ever changes.

GRANT UPDATE (model, latency_llm_ms, error_stage) ON request TO recollect_app;
