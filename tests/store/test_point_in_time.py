"""The recipe of docs/howto/backup.md: a base backup and the archived log bring back any moment in between."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from recollect import Scope, connect
from recollect.settings import read_settings
from recollect.store.connection import make_database
from recollect.store.embedded import attach
from recollect.store.embedded_files import locate_site
from tests.conftest import run_folder
from tests.standby import copy_server

ALEX = Scope("alex", "monday")


@pytest.fixture
def folder() -> Path:
    made = Path(tempfile.mkdtemp(dir=run_folder()))
    made.chmod(0o755)  # PostgreSQL runs as another user where we are root
    return made


def fetch(dsn: str, *commands: str) -> Any:
    """Run commands; return the first value of the last one, if it has rows."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        cursors = [connection.execute(command.encode()) for command in commands]
        row = cursors[-1].fetchone() if cursors[-1].description else None
    return row and row[0]


def wait_for(file: Path) -> None:
    while not file.exists():
        time.sleep(0.05)


async def read_texts(dsn: str) -> list[str]:
    async with connect(read_settings({}, dsn=dsn), worker=False) as memory:
        return [turn.text for turn in await memory.history(ALEX)]


async def test_what_was_forgotten_by_mistake_is_back_at_the_moment_before(folder: Path) -> None:
    archive, homes = folder / "archive", [folder / "server", folder / "restored"]
    for home in homes:
        home.mkdir(mode=0o755)
    archive.mkdir()
    site = locate_site(homes[0])
    os.chown(archive, site.uid, site.gid)
    with ExitStack() as stack:
        first = attach(homes[0])
        fetch(
            first.dsn, "ALTER SYSTEM SET archive_mode = on", f"ALTER SYSTEM SET archive_command = 'cp %p {archive}/%f'"
        )
        first.detach()  # archiving begins with a restart
        server = attach(homes[0])
        stack.callback(server.detach)
        dsn = await make_database(server.dsn)
        async with connect(read_settings({}, dsn=dsn), worker=False) as memory:
            await memory.record(ALEX, [("user", "before the backup")])
            data = copy_server(server.dsn, homes)
            await memory.record(ALEX, [("user", "after the backup")])
            moment = fetch(server.dsn, "SELECT clock_timestamp()")
            await memory.forget(ALEX)
            last = archive / str(fetch(server.dsn, "SELECT pg_walfile_name(pg_switch_wal())"))
            await asyncio.to_thread(wait_for, last)
            assert await memory.conversation(ALEX) is None
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"restore_command = 'cp {archive}/%f %p'\n")
            settings.write(f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = 'promote'\n")
            settings.write("archive_mode = off\n")
        (data / "recovery.signal").touch()
        restored = attach(homes[1])
        stack.callback(restored.detach)

        assert await read_texts(make_conninfo(restored.dsn, dbname="recollect")) == [
            "before the backup",
            "after the backup",
        ]
