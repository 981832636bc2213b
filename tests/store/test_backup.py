"""Backup and restore: every row, across owners and from the oldest schema; refusals leave nothing half done."""

from __future__ import annotations

import asyncio
import json
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Scope, Upload, connect
from recollect.admin import backup, check, restore
from recollect.errors import Conflict, InvalidInput, SchemaMismatch, Unauthorized
from recollect.providers.fake import FakeEmbedder
from recollect.settings import Settings, read_settings
from recollect.store.connection import make_database
from recollect.store.migrate import EXTENSIONS
from recollect.values.identity import Credentials, Grant
from tests.old_schema import fill_old_schema

ALEX = Scope("alex", "monday")
WORDS = "A tab\t, a line\nbreak, a \\N and 你好."


@pytest.fixture
def empty(server: str) -> Iterator[str]:
    """A database with nothing in it; the superuser's DSN."""
    name = f"restored_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def another_owner(empty: str) -> Iterator[str]:
    """The DSN of an owner who is no superuser, of a database that has the extensions and nothing else."""
    role = f"owner_{uuid4().hex[:12]}"
    name = psycopg.conninfo.conninfo_to_dict(empty)["dbname"]
    with psycopg.connect(empty, autocommit=True) as superuser:
        for statement in (
            f"CREATE ROLE {role} LOGIN CREATEROLE",
            # On a server of its own the first migration would make these roles; here another test's did.
            f"GRANT recollect_app, recollect_operator TO {role} WITH ADMIN TRUE, INHERIT FALSE",
            f"ALTER DATABASE {name} OWNER TO {role}",
            *(f"CREATE EXTENSION {extension}" for extension in EXTENSIONS),
        ):
            superuser.execute(statement.encode())
        yield make_conninfo(empty, user=role)
        superuser.execute(f"REASSIGN OWNED BY {role} TO postgres".encode())
        superuser.execute(f"DROP OWNED BY {role}".encode())
        superuser.execute(f"DROP ROLE {role}".encode())


@pytest.fixture
async def filled(database: str, settings: Settings) -> str:
    """The secret of a key, in a database with something in most tables."""
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(ALEX, [("user", WORDS), ("user", "My name is Alex.")] * 5, idempotency_key="k")
        await memory.recall(ALEX, "who am I?")
        await memory.documents.add(ALEX, Upload("own.txt", b"The heron nests behind the boathouse."))
        await memory.settle(ALEX)
        return (await memory.keys.create(Grant(role="admin", name="operator"))).secret


def contents(superuser: str) -> dict[str, list[str]]:
    """Every row of every table, as text."""
    with psycopg.connect(superuser) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace AND relkind = 'r'"
            " AND relname <> 'schema_migration'"
        ).fetchall()
        return {
            table: [
                row[0] for row in connection.execute(f"SELECT t::text FROM recollect.{table} t ORDER BY 1".encode())
            ]
            for (table,) in tables
        }


def names(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


def at(dsn: str) -> Settings:
    return read_settings({}, dsn=dsn)


async def failed_checks(dsn: str) -> list[Any]:
    return [each for each in await check(at(dsn)) if not each.ok]


async def test_a_restored_database_has_every_row_and_passes_its_checks(
    database: str, settings: Settings, filled: str, empty: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"

    saved = await backup(settings, file)
    loaded = await restore(at(empty), file)

    assert contents(empty) == contents(database)
    assert saved == loaded
    assert saved.rows == sum(map(len, contents(database).values()))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names(tmp_path) == ["backup.zip"]
    assert await failed_checks(empty) == []
    async with connect(at(empty), embedder=FakeEmbedder(), worker=False) as memory:
        assert (await memory.history(ALEX))[0].text == WORDS
        # Numbers go on where they were.
        await memory.documents.add(ALEX, Upload("new.txt", b"Something new."))
        await memory.settle(ALEX)


async def test_restore_under_another_owner_keeps_keys_required(
    database: str, settings: Settings, filled: str, another_owner: str, empty: str, tmp_path: Path
) -> None:
    await backup(settings, tmp_path / "backup.zip")
    await restore(at(another_owner), tmp_path / "backup.zip")

    assert contents(empty) == contents(database)
    assert await failed_checks(another_owner) == []
    async with connect(at(another_owner), embedder=FakeEmbedder(), worker=False) as memory:
        with pytest.raises(Unauthorized):
            await memory.keys.identify(None)
        assert (await memory.keys.identify(Credentials("bearer", filled))).name == "operator"
        assert [key.name for key in await memory.keys.find()] == ["operator"]
        assert len(await memory.history(ALEX)) == 10

    # And this owner, whom row-level security binds, can make a complete backup again.
    await backup(at(another_owner), tmp_path / "again.zip")
    first, again = ({t.name: t.rows for t in saved.tables} for saved in await both(tmp_path))
    assert again == first


async def both(folder: Path) -> list[Any]:
    from recollect.store.backup import read_manifest

    return [read_manifest(folder / name) for name in ("backup.zip", "again.zip")]


@pytest.mark.parametrize(("last", "needs_key"), [(1, False), (4, True), (14, True)])
async def test_a_backup_of_an_older_schema_is_migrated(
    server: str, another_owner: str, tmp_path: Path, last: int, needs_key: bool
) -> None:
    old = await make_database(server, f"old_{uuid4().hex}")
    await fill_old_schema(old, last, ALEX, WORDS)

    assert (await backup(at(old), tmp_path / "old.zip")).schema_version == last
    await restore(at(another_owner), tmp_path / "old.zip")

    assert await failed_checks(another_owner) == []
    async with connect(at(another_owner), embedder=FakeEmbedder(), worker=False) as memory:
        assert [turn.text for turn in await memory.history(ALEX)] == [WORDS]
        try:
            await memory.keys.identify(None)
            is_open = True
        except Unauthorized:
            is_open = False
    assert is_open is not needs_key


async def test_a_backup_is_of_one_moment(settings: Settings, filled: str, tmp_path: Path) -> None:
    """Turns that are recorded while it is written are in it with their conversation's count, or not at all."""
    async with connect(settings, embedder=FakeEmbedder(), worker=False) as memory:

        async def talk() -> None:
            while True:
                await memory.record(ALEX, [("user", "And more.")])

        talking = asyncio.create_task(talk())
        await backup(settings, tmp_path / "backup.zip")
        talking.cancel()
    with zipfile.ZipFile(tmp_path / "backup.zip") as archive:
        counts = json.loads(archive.read("manifest.json"))["tables"]
        conversations = archive.read("tables/conversation.copy").decode().splitlines()
    [columns] = [table["columns"] for table in counts if table["name"] == "conversation"]
    [turns] = [table["rows"] for table in counts if table["name"] == "turn"]
    assert turns == sum(int(line.split("\t")[columns.index("turn_count")]) for line in conversations)


async def test_a_database_that_holds_something_is_replaced_only_by_force(
    database: str, settings: Settings, filled: str, another_owner: str, empty: str, tmp_path: Path
) -> None:
    await backup(settings, tmp_path / "backup.zip")
    async with connect(at(another_owner), embedder=FakeEmbedder(), worker=False) as memory:
        await memory.record(Scope("blake", "friday"), [("user", "Do not lose this.")])
    before = contents(empty)

    # This owner does not see the rows: row-level security hides them.
    with pytest.raises(Conflict, match=r"not empty \(conversation, .*--force"):
        await restore(at(another_owner), tmp_path / "backup.zip")
    assert contents(empty) == before

    await restore(at(another_owner), tmp_path / "backup.zip", force=True)
    assert contents(empty) == contents(database)


def changed(file: Path, copy: Path, member: str, change: Any) -> Path:
    """The same archive with one member changed."""
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name == member else content)
    return copy


async def test_a_damaged_file_is_refused_and_changes_nothing(
    settings: Settings, filled: str, empty: str, tmp_path: Path
) -> None:
    file = tmp_path / "backup.zip"
    await backup(settings, file)
    cut = tmp_path / "cut.zip"
    cut.write_bytes(file.read_bytes()[:-3000])
    fewer = changed(file, tmp_path / "fewer.zip", "tables/turn.copy", lambda rows: rows.split(b"\n", 1)[1])
    other = changed(file, tmp_path / "other.zip", "tables/turn.copy", lambda rows: rows.replace(b"Alex", b"Blake"))
    text = tmp_path / "text.zip"
    text.write_text("no archive")

    for damaged in (cut, fewer, other, text, tmp_path / "none.zip"):
        with pytest.raises(InvalidInput, match=str(damaged)):
            await restore(at(empty), damaged)
    with psycopg.connect(empty) as connection:
        assert connection.execute("SELECT to_regnamespace('recollect')").fetchone() == (None,)


async def test_a_backup_of_a_newer_release_is_refused(
    settings: Settings, filled: str, empty: str, tmp_path: Path
) -> None:
    await backup(settings, tmp_path / "backup.zip")

    def newer(manifest: bytes) -> bytes:
        read = json.loads(manifest)
        return json.dumps(read | {"migrations": [*read["migrations"], 9999]}).encode()

    file = changed(tmp_path / "backup.zip", tmp_path / "newer.zip", "manifest.json", newer)
    with pytest.raises(SchemaMismatch, match=r"newer release.*pip install --upgrade recollect"):
        await restore(at(empty), file)


async def test_a_restore_that_fails_late_leaves_what_was_there(
    database: str, settings: Settings, filled: str, tmp_path: Path
) -> None:
    """The rows are those of the manifest, but one of them belongs to no conversation."""
    file = tmp_path / "backup.zip"
    await backup(settings, file)
    emptied = changed(file, tmp_path / "a.zip", "tables/conversation.copy", lambda rows: b"")

    def without(manifest: bytes) -> bytes:
        read = json.loads(manifest)
        for table in read["tables"]:
            if table["name"] == "conversation":
                table |= {"rows": 0, "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
        return json.dumps(read).encode()

    broken = changed(emptied, tmp_path / "b.zip", "manifest.json", without)
    before = contents(database)
    with pytest.raises(Exception, match="foreign key"):
        await restore(settings, broken, force=True)
    assert contents(database) == before


async def test_who_cannot_see_every_row_makes_no_backup(
    database: str, settings: Settings, filled: str, another_owner: str, tmp_path: Path
) -> None:
    with pytest.raises(SchemaMismatch, match="hides rows from recollect_app"):
        await backup(at(make_conninfo(database, user="recollect_app")), tmp_path / "a.zip")

    await backup(settings, tmp_path / "backup.zip")
    await restore(at(another_owner), tmp_path / "backup.zip")
    with psycopg.connect(another_owner) as owner:
        owner.execute("DROP POLICY backup ON recollect.turn")
    with pytest.raises(SchemaMismatch, match="`recollect db migrate`"):
        await backup(at(another_owner), tmp_path / "b.zip")
    assert names(tmp_path) == ["backup.zip"]


async def test_a_file_that_exists_is_kept(settings: Settings, filled: str, tmp_path: Path) -> None:
    file = tmp_path / "backup.zip"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="exists"):
        await backup(settings, file)
    assert file.read_text() == "mine"

    await backup(settings, file, replace=True)
    assert zipfile.is_zipfile(file)
    with pytest.raises(InvalidInput, match="cannot write"):
        await backup(settings, tmp_path / "no" / "folder.zip")
    assert names(tmp_path) == ["backup.zip"]
