"""Connections: how long a host that vanished is waited for, as the sockets themselves have it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.fault_servers import Proxy
from recollect import Scope, StoreUnavailable, connect
from recollect.settings import Settings
from recollect.store.connection import KEEPALIVES, normalize_dsn

OPTIONS = {
    "tcp_user_timeout": socket.TCP_USER_TIMEOUT,
    "keepalives_idle": socket.TCP_KEEPIDLE,
    "keepalives_interval": socket.TCP_KEEPINTVL,
    "keepalives_count": socket.TCP_KEEPCNT,
}


def socket_file(database: str) -> Path:
    return next(Path(str(conninfo_to_dict(database)["host"])).glob(".s.PGSQL.*[0-9]"))


@asynccontextmanager
async def over_tcp(database: str) -> AsyncIterator[tuple[str, Proxy]]:
    """The embedded server listens on a socket file only; this is its DSN by way of a port, and what fails there."""
    proxy = Proxy(socket_file(database))
    async with await asyncio.start_server(proxy.carry, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        yield make_conninfo(database, host="127.0.0.1", port=port, sslmode="disable"), proxy
        await proxy.cut()


async def in_force(settings: Settings) -> dict[str, int]:
    """What the socket of a connection that an engine works on is told."""
    async with connect(settings, worker=False) as memory:
        await memory.record(Scope("alex", "monday"), [("user", "hello")])
        async with memory._deps.store._database._pool.connection() as connection:
            held = socket.socket(fileno=connection.fileno())
            try:
                return {name: held.getsockopt(socket.IPPROTO_TCP, option) for name, option in OPTIONS.items()}
            finally:
                held.detach()


@pytest.mark.parametrize("own", [{}, {"tcp_user_timeout": 2500, "keepalives_count": 9}], ids=["ours", "the DSN's own"])
async def test_a_host_that_vanished_is_given_up_as_the_dsn_says_or_else_soon(
    settings: Settings, database: str, own: dict[str, int]
) -> None:
    async with over_tcp(database) as (dsn, _):
        assert await in_force(replace(settings, dsn=make_conninfo(dsn, **own))) == {**KEEPALIVES, **own}


@pytest.fixture
def member(database: str) -> Iterator[str]:
    """A login of the application."""
    name = f"member_{uuid4().hex[:12]}"
    with psycopg.connect(database, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {name} LOGIN IN ROLE recollect_app".encode())
        yield name
        owner.execute(f"DROP ROLE {name}".encode())


@pytest.mark.parametrize("pooled", [False, True])
async def test_locks_of_a_host_that_vanished_are_released(
    settings: Settings, database: str, alex: Scope, member: str, pooled: bool
) -> None:
    """PostgreSQL itself would keep a half-open connection with its transaction for two hours."""
    impatient = replace(settings, admin_dsn=database, pooled=pooled, statement_timeout=2.0, pool_size=1, max_overflow=0)
    async with over_tcp(database) as (dsn, proxy), connect(settings, worker=False) as other:
        login = make_conninfo(dsn, user=member)
        async with connect(replace(impatient, dsn=login), worker=False) as vanishing:
            await vanishing.record(alex, [("user", "first")])

            async def vanish() -> None:
                async with vanishing._deps.store._database.transaction(alex.id) as transaction:
                    await transaction.rows("conversation.lock_all")
                    lost.append(asyncio.create_task(proxy.leave_half_open(60)))
                    await other.record(alex, [("user", "second")])

            lost: list[asyncio.Task[None]] = []
            with pytest.raises(StoreUnavailable):
                await vanish()
            lost[0].cancel()

            assert [turn.text for turn in await other.history(alex)] == ["first", "second"]


@pytest.mark.parametrize(
    ("dsn", "is_watched"),
    [
        ("postgresql://app:secret@db.internal/shop", True),
        ("postgresql+psycopg://app@10.0.0.7:5433/shop", True),
        ("hostaddr=10.0.0.7 dbname=shop", True),
        ("host=/run/postgresql,db.internal dbname=shop", True),
        ("dbname=shop", True),  # PGHOST may name a host
        ("host=/run/postgresql dbname=shop", False),
        ("host=/run/postgresql,/tmp dbname=shop", False),
        ("host=@abstract dbname=shop", False),
    ],
)
def test_only_what_goes_over_a_network_can_vanish(dsn: str, is_watched: bool) -> None:
    said = conninfo_to_dict(normalize_dsn("MEMORY_DB_CONNECTION_STRING", dsn))

    assert {name: int(said[name] or 0) for name in KEEPALIVES if name in said} == (KEEPALIVES if is_watched else {})
    assert said["connect_timeout"] == "10"


def test_how_long_to_wait_for_a_connection_is_the_dsn_s_if_it_says() -> None:
    said = conninfo_to_dict(
        normalize_dsn("x", "postgresql://app:p%40ss@db.internal/shop?connect_timeout=3&sslmode=require")
    )

    assert (said["connect_timeout"], said["sslmode"], said["password"]) == ("3", "require", "p@ss")
