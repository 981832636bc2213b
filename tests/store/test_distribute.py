"""`recollect db distribute`: the plan, its order, what is left of it after an interruption, and the refusal."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.rows import namedtuple_row

from recollect import SchemaMismatch, admin
from recollect.settings import Settings
from recollect.store.connection import add_session_options, make_database
from recollect.store.distribute import (
    ANCHOR,
    REFERENCES,
    Schema,
    build_plan,
    plan_distribution,
    read_schema,
    refuse_unsuitable,
)
from tests.conftest import RUN
from tests.store.test_queries import SCOPED


@pytest.fixture
async def schema(database: str) -> Schema:
    """Of a server whose tables have rows."""
    async with await AsyncConnection.connect(database, row_factory=namedtuple_row) as owner:
        await owner.execute("SET search_path = recollect, public")
        found = await read_schema(owner, set(), has_logical_log=True)
    return replace(found, tables=[replace(table, is_empty=False) for table in found.tables])


def whats(schema: Schema, *, starting: str) -> list[str]:
    return [step.what.removeprefix(starting) for step in build_plan(schema) if step.what.startswith(starting)]


async def test_every_table_is_distributed_or_on_every_node(schema: Schema) -> None:
    assert sorted(whats(schema, starting="distribute ")) == sorted(SCOPED)
    assert whats(schema, starting="reference table ") == ["api_key", "embedding_model", "errand", "installation"]


async def test_steps_come_in_an_order_that_works(schema: Schema) -> None:
    kinds = [step.what.split()[0] for step in build_plan(schema)]
    order = ["function", "reference", "drop", "distribute", "grant", "delegate", "add"]
    listed = [order.index(kind) for kind in kinds if kind in order]

    assert listed == sorted(listed)
    assert whats(schema, starting="distribute ")[0] == ANCHOR
    assert {"function missing_scope()", "function open_scope(uuid)"} <= {step.what for step in build_plan(schema)}


async def test_every_table_follows_the_first_one_to_its_node(schema: Schema) -> None:
    calls = [step.sql for step in build_plan(schema, shards=32) if "create_distributed_table" in step.sql]

    assert "shard_count => 32, colocate_with => 'none'" in calls[0]
    assert all("'scope_id', colocate_with => 'recollect.holder'" in call for call in calls[1:])
    assert all("_concurrently(" in call for call in calls)


async def test_appending_runs_on_the_node_of_its_scope(schema: Schema, database: str) -> None:
    [call] = [step.sql for step in build_plan(schema) if "append_turns" in step.sql]
    with psycopg.connect(database) as owner:
        named = owner.execute("SELECT proargnames[1] FROM pg_proc WHERE proname = 'append_turns'").fetchone()

    assert call.endswith("', 'of_scope', colocate_with => 'recollect.holder')")
    assert named == ("of_scope",)


async def test_a_table_without_a_key_can_be_moved_while_in_use(schema: Schema) -> None:
    steps = [step.what for step in build_plan(schema)]
    place = steps.index("distribute posting")

    assert steps[place - 1 : place + 2] == ["identify rows of posting", "distribute posting", "reset posting"]
    blocking = build_plan(replace(schema, has_logical_log=False))
    assert not [step for step in blocking if "concurrently" in step.sql or "REPLICA" in step.sql]


async def test_an_empty_table_is_moved_at_once(database: str) -> None:
    """Nobody waits for long, and no log has to be decoded."""
    async with await AsyncConnection.connect(database, row_factory=namedtuple_row) as owner:
        await owner.execute("SET search_path = recollect, public")
        await owner.execute("INSERT INTO holder VALUES (gen_random_uuid(), 'shop', 'alex', 0, now())")
        steps = build_plan(await read_schema(owner, set(), has_logical_log=True))

    [holder, *others] = [step.sql for step in steps if step.what.startswith("distribute ")]
    assert "create_distributed_table_concurrently('recollect.holder'" in holder
    assert [call for call in others if "_concurrently" in call] == []


async def test_rights_on_columns_are_granted_again(schema: Schema) -> None:
    assert [step.sql for step in build_plan(schema) if step.what.startswith("grant ")] == [
        "GRANT UPDATE (actor) ON recollect.audit TO recollect_app",
        "GRANT UPDATE (hits_used, latency_llm_ms, model, error_stage) ON recollect.request TO recollect_app",
    ]


async def test_an_interrupted_plan_continues_and_a_finished_one_is_empty(schema: Schema) -> None:
    names = {table.name for table in schema.tables} | set(schema.functions)
    moved = names - {"turn", "term"}
    halfway = build_plan(replace(schema, placed=moved, references=set()))

    assert [step.what for step in halfway] == [
        "distribute term",
        "distribute turn",
        *(f"grant {right.name} on columns of {right.table}" for right in schema.column_rights),
        *(f"add {name}" for name in REFERENCES),
    ]
    assert build_plan(replace(schema, placed=names)) == []


async def test_the_references_that_are_added_again_are_those_of_the_schema(schema: Schema, database: str) -> None:
    with psycopg.connect(database) as owner:
        found = owner.execute(
            "SELECT conname, conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
            " WHERE connamespace = 'recollect'::regnamespace AND contype = 'f' AND conrelid <> confrelid"
        ).fetchall()

    added = {
        name: (f"recollect.{table}", f"FOREIGN KEY {columns} REFERENCES recollect.{to}")
        for name, (table, columns, to) in REFERENCES.items()
    }
    assert {name: (table, definition) for name, table, definition in found} == added
    assert whats(schema, starting="drop ") == whats(schema, starting="add ") == list(REFERENCES)


async def test_dropped_and_added_references_are_statements_that_run(schema: Schema, database: str) -> None:
    steps = [step.sql for step in build_plan(schema) if re.match("ALTER TABLE", step.sql)]

    with psycopg.connect(database) as owner:
        for sql in steps:
            owner.execute(sql.encode())
        again = owner.execute(
            "SELECT count(*) FROM pg_constraint WHERE conname = ANY(%s)", [list(REFERENCES)]
        ).fetchone()
    assert again == (len(REFERENCES),)


async def test_a_server_without_citus_is_refused_in_one_sentence(database: str) -> None:
    async with await AsyncConnection.connect(database, row_factory=namedtuple_row) as owner:
        with pytest.raises(SchemaMismatch, match="the server has no extension citus: install Citus") as refused:
            await plan_distribution(owner)
    assert "\n" not in str(refused.value)


# The interface of Citus as far as the plan uses it: it writes down what it was asked, and moves nothing.
STAND_IN = """
    CREATE TABLE public.pg_dist_partition (logicalrelid regclass, colocated text);
    CREATE TABLE public.pg_dist_shard (logicalrelid regclass, shardid bigint);
    CREATE TABLE public.pg_dist_object (classid oid, objid oid, distribution_argument_index int);
    CREATE SEQUENCE public.shards START 102008;
    CREATE FUNCTION public.create_reference_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.pg_dist_partition VALUES (t, 'everywhere');
        INSERT INTO public.pg_dist_shard VALUES (t, nextval('public.shards'));
        EXECUTE format('CREATE TABLE recollect.%s_%s ()', split_part(t::text, '.', -1), currval('public.shards'));
    END $$;
    CREATE FUNCTION public.create_distributed_table(
        t regclass, c text, colocate_with text DEFAULT 'default', shard_count int DEFAULT NULL)
        RETURNS void LANGUAGE sql AS $$ INSERT INTO public.pg_dist_partition VALUES (t, colocate_with) $$;
    CREATE FUNCTION public.create_distributed_function(
        f regprocedure, a text DEFAULT NULL, colocate_with text DEFAULT 'default') RETURNS void LANGUAGE sql AS
        $$ INSERT INTO public.pg_dist_object
           SELECT 'pg_proc'::regclass, f, array_position(proargnames, a) - 1 FROM pg_proc WHERE oid = f $$;
    SET allow_system_table_mods = on;
    INSERT INTO pg_extension VALUES (99999, 'citus', 10, 'public'::regnamespace, false, '14.0');
"""


@pytest.fixture
def stand_in(database: str) -> Iterator[psycopg.Connection[Any]]:
    """A superuser's connection to a server that looks like a coordinator."""
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(STAND_IN.encode())
        yield owner
        owner.execute("DELETE FROM pg_extension WHERE extname = 'citus'")


def count_placed(owner: psycopg.Connection[Any]) -> int:
    return len(owner.execute("SELECT FROM pg_dist_partition").fetchall())


async def test_a_run_goes_on_after_an_interruption_and_leaves_nothing_to_do(
    settings: Settings, stand_in: psycopg.Connection[Any]
) -> None:
    steps = await admin.distribute(settings, dry_run=True)
    assert count_placed(stand_in) == 0
    told: list[tuple[str, int, int]] = []

    def stop_halfway(*step: Any) -> None:
        told.append(step)
        if len(told) > len(steps) // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await admin.distribute(settings, progress=stop_halfway)
    assert told == [(step.what, done, len(steps)) for done, step in enumerate(steps[: len(told)])]
    done_again = await admin.distribute(settings)

    assert 0 < len(done_again) < len(steps)
    assert count_placed(stand_in) == len(SCOPED) + 4
    assert await admin.distribute(settings) == []


@pytest.mark.timeout(300)
async def test_flow_tests_run_on_a_cluster_that_the_environment_names(server: str) -> None:
    """On a stand-in, whose sessions are taken for those of another node: a statement outside its scope fails."""
    dsn = await make_database(server, f"cluster_{uuid4().hex}")
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(STAND_IN.encode())
    named = make_conninfo(dsn, application_name="citus_internal")
    # A run of its own, with its own folder and embedded server.
    inherited = {name: value for name, value in os.environ.items() if name not in (RUN, "TMPDIR")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "tests/flows/test_record.py"]
    ran = await asyncio.create_subprocess_exec(
        *command,
        env={**inherited, "RECOLLECT_TEST_CITUS": named, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    told = (await ran.communicate())[0].decode()

    assert ran.returncode == 0, told
    with psycopg.connect(dsn, autocommit=True) as owner:
        assert count_placed(owner) == len(SCOPED) + 4
        owner.execute("DELETE FROM pg_extension WHERE extname = 'citus'")


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"has_citus": False, "can_have_citus": True}, "CREATE EXTENSION citus"),
        ({"has_citus": True, "version": 170009}, "PostgreSQL 18"),
        ({"has_citus": True, "plugins": "pgoutput"}, "add citus to it"),
    ],
)
def test_what_is_missing_on_the_server_is_named(facts: dict[str, Any], sentence: str) -> None:
    right = {"can_have_citus": True, "version": 180000, "has_logical_log": True, "plugins": ""}
    with pytest.raises(SchemaMismatch, match=sentence):
        refuse_unsuitable(SimpleNamespace(**{**right, **facts}))


async def test_a_connection_keeps_the_options_of_its_own_string(database: str, settings: Settings) -> None:
    dsn = make_conninfo(database, options="-c work_mem=7MB -c citus.max_adaptive_executor_pool_size=1")
    with psycopg.connect(add_session_options(dsn, settings)) as app:
        shown = app.execute(
            "SELECT current_setting('work_mem'), current_setting('citus.max_adaptive_executor_pool_size'),"
            " current_setting('citus.propagate_set_commands'), current_user"
        ).fetchone()
    assert shown == ("7MB", "1", "local", "recollect_app")


async def test_a_statement_without_scope_fails_on_another_node_and_finds_nothing_here(database: str) -> None:
    """As Citus connects to its workers; on one server a missing scope means no rows (promise 2)."""
    with psycopg.connect(database, options="-c role=recollect_app -c search_path=recollect,public") as app:
        assert app.execute("SELECT count(*) FROM turn").fetchone() == (0,)
        app.execute("SET application_name = 'citus_internal gpid=10000000001'")
        with pytest.raises(psycopg.Error, match="no scope on this node") as failed:
            app.execute("SELECT count(*) FROM turn")
        assert failed.value.sqlstate == "RM002"
        app.rollback()
        # Citus calls the function by itself before it knows whether the scope is missing.
        app.execute("SET application_name = 'citus_internal gpid=10000000001'")
        app.execute("SELECT open_scope(gen_random_uuid())")
        assert app.execute("SELECT missing_scope(), count(*) FROM turn").fetchone() == (None, 0)
        app.rollback()
        with pytest.raises(psycopg.Error, match="needs a scope"):
            app.execute("SELECT open_scope(NULL)")
