"""Reads from a standby: never older than what was acknowledged, and never a reason to fail."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bench.fault_servers import Postgres
from recollect import Scope, connect
from recollect.errors import InvalidSetting
from recollect.settings import Settings, read_settings
from recollect.store.connection import make_database
from tests.standby import replicating

MONDAY = Scope("alex", "monday")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Postgres, Postgres]]:
    with replicating() as both:
        yield both


@pytest.fixture
async def settings(servers: tuple[Postgres, Postgres]) -> Settings:
    primary, standby = servers
    dsn = await make_database(primary.dsn)
    return read_settings({}, dsn=dsn, read_dsn=make_conninfo(standby.dsn, dbname="recollect"), deadline=60.0)


def count_reads(dsn: str) -> int:
    """Return how many rows of turns a server has read."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_force_next_flush()")
        row = connection.execute(
            "SELECT coalesce(idx_tup_fetch, 0) + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'turn'"
        ).fetchone()
    return int(row[0]) if row else 0


async def test_each_write_is_in_the_next_read(settings: Settings) -> None:
    async with connect(settings, worker=False) as memory, connect(settings, worker=False) as other:
        for n in range(30):
            await memory.record(MONDAY, [("user", f"line {n}")])
            turns = await other.history(MONDAY, limit=50)

            assert [turn.text for turn in turns][-1] == f"line {n}"


async def test_reads_use_the_standby(settings: Settings, servers: tuple[Postgres, Postgres]) -> None:
    scope = Scope("blair", "monday")
    async with connect(settings, worker=False) as memory:
        await memory.record(scope, [("user", f"line {n}") for n in range(20)])
        before = count_reads(settings.dsn)
        for _ in range(5):
            assert len(await memory.history(scope, limit=20)) == 20

    # Closed connections have reported their statistics.
    assert count_reads(settings.dsn) - before < 20
    assert count_reads(settings.read_dsn) >= 20


async def test_a_standby_that_lags_is_not_read(settings: Settings, servers: tuple[Postgres, Postgres]) -> None:
    _, standby = servers
    scope = Scope("casey", "monday")
    async with connect(settings, worker=False) as memory:
        standby.execute("SELECT pg_wal_replay_pause()")
        try:
            await memory.record(scope, [("user", "said while the standby was paused")])
            turns = await memory.history(scope)
        finally:
            standby.execute("SELECT pg_wal_replay_resume()")

    assert [turn.text for turn in turns] == ["said while the standby was paused"]


async def test_another_server_is_refused_as_a_standby(settings: Settings, server: str, template: str) -> None:
    stranger = replace(settings, read_dsn=make_conninfo(server, dbname=template))
    with pytest.raises(InvalidSetting, match=r"^MEMORY_DB_READ_CONNECTION_STRING: is not a copy"):
        async with connect(stranger, worker=False):
            pass


async def test_without_its_standby_memory_goes_on(settings: Settings) -> None:
    lost = replace(settings, read_dsn=make_conninfo(settings.read_dsn, host="/nowhere"))
    scope = Scope("dana", "monday")
    async with connect(lost, worker=False) as memory:
        await memory.record(scope, [("user", "still here")])

        assert [turn.text for turn in await memory.history(scope)] == ["still here"]


async def test_a_standby_that_stops_meanwhile_is_left_alone(
    settings: Settings, servers: tuple[Postgres, Postgres]
) -> None:
    """The last test of this file: it stops the standby."""
    _, standby = servers
    scope = Scope("emery", "monday")
    async with connect(settings, worker=False) as memory:
        await memory.record(scope, [("user", "first")])
        assert len(await memory.history(scope)) == 1
        await asyncio.to_thread(standby.end, signal.SIGINT)
        await memory.record(scope, [("user", "second")])

        assert len(await memory.history(scope)) == 2
