"""`recollect db`: on a database as it should be, an empty one, a newer one, and ones whose walls were broken."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from .cli_program import PROGRAM, Cli, Ran, run_program


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    name = f"empty_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def change(database: str, statement: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(statement.encode())


def failed(ran: Ran) -> dict[str, str]:
    return {item["name"]: item["detail"] for item in ran.json["checks"] if not item["ok"]}


def test_status_of_a_database_in_order(cli: Cli, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", make_conninfo(database, password="hush"))
    status = cli("db", "status", "--json").json
    assert status["embedded"] is None
    assert "dbname=test_" in status["connection"]
    assert "hush" not in str(status)
    assert set(status["extensions"]) == {"vector", "pg_trgm"}
    assert (status["schema_version"] >= 1, status["pending"]) == (True, [])
    assert "up to date" in cli("db", "status").out


def test_an_empty_database_is_told_what_to_do_and_then_migrated(
    cli: Cli, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_DB_CONNECTION_STRING", empty)
    pending = cli("db", "status", "--json").json["pending"]
    assert pending
    assert pending[0] == "0001 log"
    assert "recollect db migrate" in cli("db", "status").out
    before = cli("db", "check", "--json")
    assert (before.code, set(failed(before))) == (1, {"extensions", "schema"})
    assert cli("db", "migrate", "--json").json == {"applied": pending, "mended": []}
    assert cli("db", "migrate").out == "Nothing to do: the schema is up to date.\n"
    assert cli("db", "check").code == 0


def test_a_database_of_a_newer_release(cli: Cli, database: str) -> None:
    change(database, "INSERT INTO recollect.schema_migration (version, name, digest) VALUES (9999, 'later', 'x')")
    assert cli("db", "status", "--json").json["newer"] == [9999]
    assert "newer release" in cli("db", "status").out
    assert failed(cli("db", "check", "--json"))["schema"].startswith("migration 9999 is from a newer release")
    refused = cli("db", "migrate", "--json")
    assert (refused.code, refused.error["code"]) == (1, "schema_mismatch")


def test_everything_is_checked_and_in_order(cli: Cli) -> None:
    ran = cli("db", "check", "--user", "alex", "--json")
    assert (ran.code, ran.json["ok"]) == (0, True)
    assert len(ran.json["checks"]) == 10
    assert "NOT OK" not in cli("db", "check").out


@pytest.mark.parametrize(
    ("damage", "check", "named"),
    [
        ("ALTER TABLE recollect.turn NO FORCE ROW LEVEL SECURITY", "row-level security", "turn"),
        ("ALTER TABLE recollect.sketch DISABLE ROW LEVEL SECURITY", "row-level security", "sketch"),
        ("CREATE TABLE recollect.notes (id int)", "row-level security", "notes"),
        ("DROP POLICY scope ON recollect.chapter", "policies", "chapter"),
        (
            "ALTER POLICY owner_keeps_keys ON recollect.api_key TO recollect_app",
            "policies",
            "owner_keeps_keys on api_key",
        ),
        ("CREATE POLICY mine ON recollect.turn USING (true)", "policies", "mine on turn is not one of ours"),
        ("REVOKE INSERT ON recollect.turn FROM recollect_app", "grants", "lacks INSERT on turn"),
        ("GRANT SELECT ON recollect.api_key TO recollect_app", "grants", "has SELECT on api_key"),
        ("ALTER TABLE recollect.chapter OWNER TO recollect_app", "application role", "chapter"),
        ("UPDATE recollect.schema_migration SET digest = 'x' WHERE version = 1", "migrations unchanged", "migration 1"),
        ("DELETE FROM recollect.turn WHERE text = 'astray'", "strays", "1 index rows"),
    ],
)
def test_damage_is_found_and_named(cli: Cli, database: str, damage: str, check: str, named: str) -> None:
    cli("record", "astray")
    change(database, damage)
    ran = cli("db", "check", "--user", "alex", "--json")
    assert (ran.code, ran.json["ok"]) == (1, False)
    assert named in failed(ran)[check]


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("DROP POLICY owner_keeps_keys ON recollect.api_key", "owner_keeps_keys on api_key is missing"),
        ("DROP POLICY scope ON recollect.turn", "scope on turn is missing"),
        ("GRANT ALL ON FUNCTION recollect.list_keys TO PUBLIC", "everybody may run"),
        ("ALTER TABLE recollect.turn NO FORCE ROW LEVEL SECURITY", "not forced on turn"),
    ],
)
def test_serve_refuses_a_damaged_database_until_it_is_migrated(
    cli: Cli, database: str, damage: str, named: str
) -> None:
    change(database, damage)
    ran = cli("serve", "--port", "0")
    assert ran.code == 1
    assert named in ran.err
    assert "`recollect db migrate`" in ran.err
    assert "listens" not in ran.err
    assert "repaired" in cli("db", "migrate").out
    assert cli("db", "check").code == 0


def test_damage_is_shown_to_people(cli: Cli, database: str) -> None:
    change(database, "DROP POLICY scope ON recollect.chapter")
    ran = cli("db", "check")
    assert (ran.code, ran.out.count("NOT OK")) == (1, 1)


def test_a_login_above_row_level_security_is_found(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DB_POOLED", "1")  # nothing is set per session, so the login itself counts
    ran = cli("db", "check", "--json")
    assert "bypasses row-level security" in failed(ran)["application role"]


def test_status_does_not_start_a_stopped_server(bare_cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path))
    status = bare_cli("db", "status", "--json").json
    assert (status["embedded"]["running"], status["embedded"]["is_new"], status["server"]) == (False, True, None)
    assert list(tmp_path.iterdir()) == []
    assert "never started" in bare_cli("db", "status").out


@pytest.fixture
def fresh_home() -> Iterator[Path]:
    """Not tmp_path: as root the server runs as another user, who must be able to pass through."""
    home = Path(tempfile.mkdtemp(prefix="recollect-cli-"))
    home.chmod(0o755)
    yield home
    shutil.rmtree(home)


def test_an_embedded_server_that_was_kept_can_be_seen_and_stopped(fresh_home: Path) -> None:
    here = {"RECOLLECT_HOME": str(fresh_home)}

    def embedded(*command: str) -> Any:
        seen = run_program(PROGRAM, *command, "--json", **here).json
        return seen.get("embedded", seen)

    assert run_program(PROGRAM, "record", "kept", **here, RECOLLECT_KEEP_SERVER="1").code == 0
    try:
        running = embedded("db", "status")
        assert (running["running"], running["users"]) == (True, [])
    finally:
        stopped = embedded("db", "stop")
    assert (stopped["running"], stopped["is_new"]) == (False, False)
