"""A database on a Citus cluster for the tests: RECOLLECT_TEST_CITUS names an empty one, by the DSN of its coordinator's
superuser. It has the extension citus and its workers, and every node lets `recollect_app` log in. It is migrated and
distributed once, and emptied for each test: run without -n.

`RECOLLECT_TEST_CITUS=postgresql://... pytest tests/flows tests/store`

Tests of one server (its plans, catalogs and faults) use the embedded one all the same.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row
from psycopg.sql import SQL, Identifier

from recollect.store.backup import ignore_progress
from recollect.store.distribute import plan_distribution, run_plan
from recollect.store.migrate import prepare

CITUS = os.environ.get("RECOLLECT_TEST_CITUS", "")


async def distribute(dsn: str) -> None:
    await prepare(dsn)
    async with await AsyncConnection.connect(dsn, autocommit=True, row_factory=namedtuple_row) as owner:
        await run_plan(owner, await plan_distribution(owner, shards=8), ignore_progress)


@contextmanager
def emptied(dsn: str) -> Iterator[str]:
    """Its owner's DSN; nothing is in it."""
    asyncio.run(distribute(dsn))
    with psycopg.connect(dsn, autocommit=True) as owner:
        found = owner.execute(
            "SELECT c.relname FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid"
            " WHERE c.relnamespace = 'recollect'::regnamespace"
        )
        tables = SQL(", ").join(Identifier("recollect", name) for (name,) in found)
        # One shard after the other: tables that refer to each other are emptied together.
        owner.execute("SET citus.multi_shard_modify_mode = 'sequential'")
        owner.execute(SQL("TRUNCATE {}").format(tables))
        owner.execute("INSERT INTO recollect.installation (key_made) VALUES (false)")
    yield dsn


def has_no_rows(connection: psycopg.Connection[Any], table: str) -> bool:
    """Whether a session outside any scope is shown no row; on a cluster that is an error of the node that was asked."""
    try:
        with connection.transaction():
            return connection.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table))).fetchone() == (0,)
    except psycopg.Error as error:
        if CITUS and error.sqlstate == "RM002":
            return True
        raise


def find_rows(dsn: str, table: str, scope: Any = None) -> list[str]:
    """The rows of a table, or of one scope of it, each as a text; whole-row expressions are not sent to shards."""
    with psycopg.connect(dsn) as owner:
        rows = SQL("SELECT * FROM {} WHERE %s::uuid IS NULL OR scope_id = %s").format(Identifier("recollect", table))
        return [repr(row) for row in owner.execute(rows, [scope, scope])]


# Whether somebody waits for a lock, on whichever node.
WAITS = (
    "SELECT 1 FROM citus_lock_waits"
    if CITUS
    else "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
