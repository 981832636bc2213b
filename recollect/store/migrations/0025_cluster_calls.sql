-- Calls that Citus may carry out on another node than the one that was asked.

-- Citus computes the parts of an expression that depend on no row before it knows whether they are needed: on a node that
-- works for another, this function is called although there is a scope. Only without one it is an error.
CREATE OR REPLACE FUNCTION missing_scope() RETURNS uuid
LANGUAGE plpgsql STABLE COST 1 AS $$
BEGIN
    IF starts_with(current_setting('application_name'), 'citus_internal')
       AND coalesce(current_setting('app.scope', true), '') = ''
       AND current_setting('app.backup', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'the transaction has no scope on this node'
            USING ERRCODE = 'RM002', HINT = 'Set citus.propagate_set_commands to local for the login.';
    END IF;
    RETURN NULL;
END $$;

-- As in migration 0021, with the schema's name before each table: another node does not know our search path.
CREATE OR REPLACE FUNCTION append_turns(
    of_scope uuid, new_id uuid, of_project text, of_user text, session text, called text, added int, exchanges int,
    moment timestamptz, until timestamptz, covered_by smallint, said json, of_model smallint, vectors halfvec[])
RETURNS TABLE (
    id uuid, session_id text, name text, turn_count int, interaction_count int, created_at timestamptz,
    updated_at timestamptz, expires_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    k recollect.conversation;
BEGIN
    PERFORM recollect.open_scope(of_scope);
    INSERT INTO recollect.conversation AS c
        (scope_id, id, project, user_id, session_id, name, turn_count, interaction_count, created_at, updated_at,
         expires_at, embedded_model)
    VALUES (of_scope, new_id, of_project, of_user, session, called, added, exchanges, moment, moment, until, covered_by)
    ON CONFLICT (scope_id, session_id) DO UPDATE SET
        turn_count = c.turn_count + excluded.turn_count,
        interaction_count = c.interaction_count + excluded.interaction_count,
        updated_at = greatest(c.updated_at, excluded.updated_at),
        expires_at = excluded.expires_at,
        embedded_model = CASE WHEN c.embedded_model = excluded.embedded_model THEN c.embedded_model ELSE 0 END,
        due = true
    RETURNING c.* INTO k;

    INSERT INTO recollect.turn
        (scope_id, conversation_id, turn_index, role, speaker, text, said_at, recorded_at, data, high_value)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.role, x.speaker, x.text, x.at, moment, x.data, x.hv
    FROM recollect.conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, role text, speaker text, text text, at timestamptz, data jsonb, hv boolean)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    INSERT INTO recollect.sketch
        (scope_id, conversation_id, turn_index, said_at, speaker_key, flags, tokens, length, terms)
    SELECT c.scope_id, c.id, c.turn_count - added + x.i, x.at, x.speaker_key, x.flags, x.tokens, x.length, x.terms
    FROM recollect.conversation c
    CROSS JOIN json_to_recordset(said) AS x(
        i int, at timestamptz, speaker_key int, flags smallint, tokens int, length int, terms tsvector)
    WHERE c.scope_id = of_scope AND c.id = k.id;

    IF vectors IS NOT NULL THEN
        INSERT INTO recollect.embedding (scope_id, model_id, conversation_id, turn_index, vector)
        SELECT c.scope_id, of_model, c.id, c.turn_count - added + x.i, vectors[x.v]
        FROM recollect.conversation c CROSS JOIN json_to_recordset(said) AS x(i int, v int)
        WHERE c.scope_id = of_scope AND c.id = k.id AND x.v IS NOT NULL;
    END IF;
    RETURN QUERY SELECT k.id, k.session_id, k.name, k.turn_count, k.interaction_count, k.created_at, k.updated_at,
                        k.expires_at;
END $$;
