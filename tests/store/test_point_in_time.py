"""The recipe of docs/howto/backup.md: a base backup and the archived log bring back any moment in between."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack

from psycopg.conninfo import make_conninfo

from bench.fault_servers import Postgres
from recollect import Scope, connect
from recollect.settings import read_settings
from recollect.store.connection import make_database
from tests.standby import make_folder

ALEX = Scope("alex", "monday")


def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.05)


async def read_texts(dsn: str) -> list[str]:
    async with connect(read_settings({}, dsn=dsn), worker=False) as memory:
        return [turn.text for turn in await memory.history(ALEX)]


async def test_what_was_forgotten_by_mistake_is_back_at_the_moment_before() -> None:
    folder = make_folder()
    archive, server, restored = folder / "archive", Postgres(folder / "server"), Postgres(folder / "restored")
    for made in (archive, server.home, restored.home):
        made.mkdir(mode=0o755)
    os.chown(archive, server.site.uid, server.site.gid)
    server.create(archive_mode="on", archive_command=f"cp %p {archive}/%f")
    with ExitStack() as stack:
        for each in (server, restored):
            stack.callback(each.end, signal.SIGQUIT)
        assert server.start()
        dsn = await make_database(server.dsn)
        async with connect(read_settings({}, dsn=dsn), worker=False) as memory:
            await memory.record(ALEX, [("user", "before the backup")])
            restored.copy(server)
            await memory.record(ALEX, [("user", "after the backup")])
            [(moment,)] = server.execute("SELECT clock_timestamp()")
            await memory.forget(ALEX)
            [(last,)] = server.execute("SELECT pg_walfile_name(pg_switch_wal())")
            await asyncio.to_thread(wait_until, (archive / last).exists)
            assert await memory.conversation(ALEX) is None
        data = restored.site.data
        with (data / "postgresql.auto.conf").open("a") as settings:
            settings.write(f"restore_command = 'cp {archive}/%f %p'\n")
            settings.write(f"recovery_target_time = '{moment.isoformat()}'\nrecovery_target_action = 'promote'\n")
            settings.write("archive_mode = off\n")
        (data / "recovery.signal").touch()
        assert restored.start()
        await asyncio.to_thread(wait_until, lambda: restored.execute("SELECT pg_is_in_recovery()") == [(False,)])

        found = await read_texts(make_conninfo(restored.dsn, dbname="recollect"))
        assert found == ["before the backup", "after the backup"]
