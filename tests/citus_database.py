"""A database on a Citus cluster for the tests: RECOLLECT_TEST_CITUS names an empty one, by the DSN of its coordinator's
superuser. It is migrated and distributed once, and emptied for each test: run without -n.

`RECOLLECT_TEST_CITUS=postgresql://... pytest tests/flows`
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row
from psycopg.sql import SQL, Identifier

from recollect.store.backup import ignore_progress
from recollect.store.migrate import plan_distribution, prepare, run_plan

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
            "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p')"
            " AND relname NOT IN ('schema_migration', 'installation')"
        )
        tables = SQL(", ").join(Identifier("recollect", name) for (name,) in found)
        owner.execute(SQL("TRUNCATE {}").format(tables))
        owner.execute("UPDATE recollect.installation SET key_made = false")
    yield dsn
