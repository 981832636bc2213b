"""A primary is lost for good, its standby takes over, and writers go on: what of the acknowledged survives."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator

import pytest
from psycopg.conninfo import make_conninfo

from bench.fault_servers import Postgres
from recollect import Engine, Scope, StoreUnavailable, connect
from recollect.providers.fake import FakeEmbedder
from recollect.store.connection import make_database
from tests.standby import replicating

SESSIONS = [f"session {n}" for n in range(4)]
LINES = 40  # of each session


@pytest.fixture
def pair() -> Iterator[tuple[Postgres, Postgres]]:
    with replicating() as both:
        yield both


async def name_both(primary: Postgres, standby: Postgres) -> str:
    """Return a DSN that leads to whichever of them is the primary."""
    await make_database(primary.dsn)
    hosts = {"host": f"{primary.socket.parent},{standby.socket.parent}", "port": "5432,5432"}
    return make_conninfo(primary.dsn, dbname="recollect", target_session_attrs="primary", **hosts)


async def write(memory: Engine, session: str, numbers: range, acknowledged: asyncio.Event | None = None) -> None:
    """Record some lines, each until it is acknowledged; `acknowledged` is set after the first one."""
    for number in numbers:
        recorded = None
        while recorded is None:
            try:
                scope, key = Scope("alex", session), f"{session} {number}"
                recorded = await memory.record(scope, [("user", f"line {number}")], idempotency_key=key)
            except StoreUnavailable:
                await asyncio.sleep(0.05)
        if acknowledged:
            acknowledged.set()


async def read(memory: Engine, session: str) -> list[str]:
    return [turn.text for turn in await memory.history(Scope("alex", session), limit=100)]


def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():
        time.sleep(0.05)


def wait_for_standby(primary: Postgres) -> None:
    """Let commits wait for the standby; return when one is there."""
    primary.set("synchronous_standby_names", "*")
    wait_until(primary.is_followed)


async def test_what_was_acknowledged_survives_if_commits_wait_for_the_standby(pair: tuple[Postgres, Postgres]) -> None:
    primary, standby = pair
    async with connect(dsn=await name_both(*pair), embedder=FakeEmbedder(), worker=False) as memory:
        await asyncio.to_thread(wait_for_standby, primary)
        acknowledged = asyncio.Event()
        async with asyncio.TaskGroup() as writers:
            for session in SESSIONS:
                writers.create_task(write(memory, session, range(LINES), acknowledged))
            await acknowledged.wait()
            await asyncio.to_thread(primary.end, signal.SIGKILL)
            await asyncio.to_thread(standby.promote)
            standby.set("synchronous_standby_names", "")  # there is no other standby to wait for

        for session in SESSIONS:
            assert await read(memory, session) == [f"line {n}" for n in range(LINES)]


async def test_without_waiting_the_standby_lacks_what_it_had_not_received(pair: tuple[Postgres, Postgres]) -> None:
    primary, standby = pair
    async with connect(dsn=await name_both(*pair), embedder=FakeEmbedder(), worker=False) as memory:
        await asyncio.to_thread(wait_for_standby, primary)
        await write(memory, "monday", range(1))
        primary.set("synchronous_standby_names", "")
        standby.set("primary_conninfo", "")  # the connection between them is lost
        await asyncio.to_thread(wait_until, lambda: not primary.execute("SELECT pid FROM pg_stat_replication"))
        await write(memory, "monday", range(1, 2))
        await asyncio.to_thread(primary.end, signal.SIGKILL)
        await asyncio.to_thread(standby.promote)
        await write(memory, "monday", range(2, 3))

        assert await read(memory, "monday") == ["line 0", "line 2"]
