"""Connections: how long a host that vanished is waited for, as the sockets themselves have it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect import Scope, connect
from recollect.settings import Settings
from recollect.store.connection import KEEPALIVES, normalize_dsn

OPTIONS = {
    "tcp_user_timeout": socket.TCP_USER_TIMEOUT,
    "keepalives_idle": socket.TCP_KEEPIDLE,
    "keepalives_interval": socket.TCP_KEEPINTVL,
    "keepalives_count": socket.TCP_KEEPCNT,
}


async def copied(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while part := await source.read(65_536):
            target.write(part)
            await target.drain()
    target.close()
    with suppress(ConnectionError):
        await target.wait_closed()


def socket_file(database: str) -> Path:
    return next(Path(str(conninfo_to_dict(database)["host"])).glob(".s.PGSQL.*[0-9]"))


@asynccontextmanager
async def over_tcp(database: str) -> AsyncIterator[str]:
    """The embedded server listens on a socket file only; this is its DSN by way of a port."""
    file = socket_file(database)

    carrying: list[asyncio.Task[object]] = []

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(file)
        both = (copied(reader, to_server), copied(from_server, writer))
        carrying.extend(asyncio.create_task(each) for each in both)

    async with await asyncio.start_server(carry, "127.0.0.1", 0) as proxy:
        yield make_conninfo(database, host="127.0.0.1", port=proxy.sockets[0].getsockname()[1], sslmode="disable")
        await asyncio.wait(carrying)


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
    async with over_tcp(database) as dsn:
        assert await in_force(replace(settings, dsn=make_conninfo(dsn, **own))) == {**KEEPALIVES, **own}


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
