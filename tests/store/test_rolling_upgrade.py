"""During a rolling upgrade the previous release works on the new schema: each migration only adds.

What a schema offers (columns with their types, functions with their results, unique indexes) is still there after the
next migration, and it demands nothing new of rows in tables that were there before. Rights are in access.sql: one is
taken away a release after the code stopped using it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo

from recollect import Scope
from recollect.store.migrate import SEARCH_PATH, apply, migrations
from tests.old_schema import fill_old_schema

FIRST = 22  # earlier migrations replaced things, before there was this rule
ALEX = Scope("alex", "monday")
OFFERED = """
    SELECT format('column %s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT format('function %s returns %s', p.oid::regprocedure, pg_get_function_result(p.oid))
    FROM pg_proc p WHERE p.pronamespace = 'recollect'::regnamespace
    UNION ALL
    SELECT regexp_replace(indexdef, 'INDEX .* ON', 'INDEX ON')
    FROM pg_indexes WHERE schemaname = 'recollect' AND indexdef LIKE 'CREATE UNIQUE%'
"""
DEMANDED = """
    SELECT c.relname, format('a value of %s.%s', c.relname, a.attname)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
    UNION ALL
    SELECT c.relname, format('%s: %s', c.relname, pg_get_constraintdef(k.oid))
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE k.connamespace = 'recollect'::regnamespace AND k.contype <> 'n'
"""


@dataclass(frozen=True)
class Contract:
    """What a schema offers to the code, and what it demands of rows, by table."""

    offered: frozenset[str]
    demanded: frozenset[tuple[str, str]]

    def breaks(self, older: Contract) -> list[str]:
        """Return what code that was written for an older contract would miss or violate."""
        known = {table for table, _ in older.demanded}
        demanded = [what for table, what in self.demanded - older.demanded if table in known]
        return sorted(
            [f"gone: {what}" for what in older.offered - self.offered] + [f"new: {what}" for what in demanded]
        )


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    name = f"rolling_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


async def read_contract(owner: AsyncConnection[Any]) -> Contract:
    offered = await (await owner.execute(OFFERED)).fetchall()
    demanded = await (await owner.execute(DEMANDED)).fetchall()
    return Contract(frozenset(what for (what,) in offered), frozenset((table, what) for table, what in demanded))


async def find_breaks(dsn: str, version: int) -> list[str]:
    """Return what a migration takes from code that was written for the schema before it."""
    await fill_old_schema(dsn, version - 1, ALEX, "hello")
    async with await AsyncConnection.connect(dsn, autocommit=True) as owner:
        await owner.execute(SEARCH_PATH)
        before = await read_contract(owner)
        await apply(owner, next(each for each in migrations() if each.version == version))
        return (await read_contract(owner)).breaks(before)


@pytest.mark.parametrize("version", [each.version for each in migrations() if each.version >= FIRST])
async def test_a_migration_only_adds(version: int, empty: str) -> None:
    assert await find_breaks(empty, version) == []


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("ALTER TABLE turn DROP COLUMN data", "gone: column turn.data jsonb"),
        ("ALTER TABLE memory ALTER value TYPE varchar", "gone: column memory.value text"),
        ("ALTER TABLE turn ADD COLUMN mood text NOT NULL", "new: a value of turn.mood"),
        ("ALTER TABLE turn ADD CHECK (length(text) < 9)", "new: turn: CHECK ((length(text) < 9))"),
        ("DROP FUNCTION any_key()", "gone: function any_key() returns boolean"),
        ("ALTER TABLE holder RENAME TO owner", "gone: column holder.scope_id uuid"),
    ],
)
async def test_a_migration_that_takes_something_away_is_found(change: str, broken: str, empty: str) -> None:
    last = migrations()[-1].version
    await fill_old_schema(empty, last, ALEX, "hello")
    async with await AsyncConnection.connect(empty, autocommit=True) as owner:
        await owner.execute(SEARCH_PATH)
        before = await read_contract(owner)
        await owner.execute("TRUNCATE turn CASCADE")
        await owner.execute(change.encode())
        assert broken in (await read_contract(owner)).breaks(before)


async def test_a_function_with_another_result_is_found(empty: str) -> None:
    """Migration 20 gave a function more columns, which the release before could not have read by position."""
    assert [each for each in await find_breaks(empty, 20) if each.startswith("gone: function report_asking")]
