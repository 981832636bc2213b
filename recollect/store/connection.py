"""Connections: from a DSN to a pool under the application's role.

Used by bootstrap.py. The embedded server is reached through `EmbeddedServer`, which also restarts it if it was killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import select
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import psycopg
from psycopg import AsyncConnection
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types import TypeInfo
from psycopg.waiting import Ready, Wait
from psycopg_pool import AsyncConnectionPool

from recollect.errors import InvalidSetting, SchemaMismatch, StoreUnavailable
from recollect.settings import Settings
from recollect.store.database import Connection, Database, Row, ServerReach, Statement, get_first_line, queries
from recollect.store.embedded import Attachment, attach
from recollect.store.wire_format import register_vectors

T = TypeVar("T")
log = logging.getLogger("recollect.store")

APP_ROLE = "recollect_app"
CONNECT_SECONDS = 10
STANDBY_SECONDS = 0.25  # to wait for a connection to the standby before the primary is asked
# A host that disappears closes no connection: without these a request waits for a quarter of an hour or longer.
KEEPALIVES = {
    "tcp_user_timeout": 10_000,  # ms that something sent may stay unacknowledged
    "keepalives_idle": 10,  # seconds of silence until a probe is sent
    "keepalives_interval": 3,
    "keepalives_count": 3,
}
BOTH = select.POLLIN | select.POLLOUT
POLLED = {Wait.R: select.POLLIN, Wait.W: select.POLLOUT, Wait.RW: BOTH}
READY = {select.POLLIN: Ready.R, select.POLLOUT: Ready.W, BOTH: Ready.RW}


class EmbeddedServer:
    """The PostgreSQL server that comes with the package, while this process uses it."""

    def __init__(self, home: Path, keep_running: bool) -> None:
        self._home = home
        self._keep_running = keep_running
        self._attachments: list[Attachment] = []

    def start(self) -> str:
        """Start the server if it does not run; return the superuser's DSN."""
        attachment = attach(self._home, keep_running=self._keep_running)
        self._attachments.append(attachment)
        return attachment.dsn

    def stop(self) -> None:
        for attachment in self._attachments:
            attachment.detach()
        self._attachments.clear()


async def make_database(superuser_dsn: str, name: str = "recollect") -> str:
    """Return the DSN of a database on the embedded server, which is created if it does not exist."""
    async with await AsyncConnection.connect(superuser_dsn, autocommit=True) as connection:
        # It exists, or another process created it first.
        with contextlib.suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            await connection.execute(f"CREATE DATABASE {name}".encode())
    return make_conninfo(superuser_dsn, dbname=name)


def normalize_dsn(setting: str, dsn: str) -> str:
    """Return the DSN with timeouts; SQLAlchemy's spelling is accepted. Raises InvalidSetting for an invalid one."""
    dsn = dsn.replace("postgresql+psycopg://", "postgresql://", 1)
    try:
        said = conninfo_to_dict(dsn)
    except psycopg.ProgrammingError:
        # Not quoted: it may hold a password.
        raise InvalidSetting(setting, "is not a connection string (postgresql://user:password@host/database)") from None
    # Local sockets need no keepalives; without a host, PGHOST may name one.
    hosts = str(said.get("host") or "").split(",")
    is_local = not said.get("hostaddr") and all(host.startswith(("/", "@")) for host in hosts)
    timeouts: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, **({} if is_local else KEEPALIVES)}
    return make_conninfo(dsn, **{**timeouts, **said})


async def open_database(dsn: str, settings: Settings, server: EmbeddedServer | None = None) -> Database:
    """Open a pool in which every connection is subject to row-level security, and one of the standby, if any."""
    dsn = dsn if settings.pooled else add_session_options(dsn, settings)
    setup = [build_pooled_start(settings)] if settings.pooled else []
    halfvec, is_cluster = await inspect_server(dsn, setup)
    standby = await open_standby(dsn, settings, halfvec, setup) if settings.read_dsn else None
    reach = ServerReach()
    pool = await open_pool(dsn, settings, build_connection_class(reach, server), halfvec, settings.pool_timeout)
    return Database(pool, reach=reach, echo=settings.echo, setup=setup, is_cluster=is_cluster, standby=standby)


async def open_pool(
    dsn: str, settings: Settings, connection_class: type[AsyncConnection[Row]], halfvec: TypeInfo, patience: float
) -> AsyncConnectionPool[Connection]:
    async def configure(connection: Connection) -> None:
        register_vectors(connection, halfvec)

    pool = AsyncConnectionPool(
        dsn,
        connection_class=connection_class,
        kwargs={"autocommit": True, "prepare_threshold": None if settings.pooled else 0},
        min_size=min(1, settings.pool_size),
        max_size=settings.pool_size + settings.max_overflow,
        timeout=patience,
        configure=configure,
        open=False,
    )
    await pool.open()
    return pool


async def open_standby(primary: str, settings: Settings, halfvec: TypeInfo, setup: Sequence[Statement]) -> Database:
    """Open a pool of the standby. One that does not answer now is used once it does; types have the same numbers on
    both. Another server than a copy of the primary is refused: its answers would be of another time or installation."""
    name = "MEMORY_DB_READ_CONNECTION_STRING"
    dsn = normalize_dsn(name, settings.read_dsn)
    dsn = dsn if settings.pooled else add_session_options(dsn, settings)
    try:
        if await read_identity(dsn) != await read_identity(primary):
            raise InvalidSetting(name, "is not a copy of the server of MEMORY_DB_CONNECTION_STRING")
    except psycopg.OperationalError as error:
        log.warning("the standby does not answer, reads go to the primary: %s", get_first_line(error))
    reach = ServerReach()
    pool = await open_pool(dsn, settings, build_connection_class(reach, None), halfvec, STANDBY_SECONDS)
    return Database(pool, reach=reach, echo=settings.echo, setup=setup)


async def read_identity(dsn: str) -> Row | None:
    """Return which server and database a DSN leads to. A standby has the identity of its primary."""
    async with await AsyncConnection.connect(dsn, prepare_threshold=None) as connection:
        return await (await connection.execute(queries()["server.identity"])).fetchone()


def format_session_options(settings: Settings) -> str:
    """Return the options set when a connection starts. Behind a pooler none are: see `start_pooled`."""
    options = {
        "role": APP_ROLE,
        "search_path": "recollect,public",
        "timezone": "UTC",
        "statement_timeout": f"{settings.statement_timeout * 1000:.0f}",
        # A client that vanished holds its locks no longer than that; PostgreSQL would wait for hours.
        "idle_in_transaction_session_timeout": f"{settings.statement_timeout * 1000:.0f}",
        "citus.propagate_set_commands": "local",  # without Citus a name that nothing reads
    }
    return " ".join(f"-c {name}={value}" for name, value in options.items())


def add_session_options(dsn: str, settings: Settings) -> str:
    """Return the DSN with our options; those that it has itself stay, and win."""
    own = conninfo_to_dict(dsn).get("options") or ""
    return make_conninfo(dsn, options=f"{format_session_options(settings)} {own}".strip())


def build_pooled_start(settings: Settings) -> Statement:
    """Return the statement that sets up each transaction behind a pooler."""
    return "server.start_pooled", {"timeout": f"{settings.statement_timeout * 1000:.0f}"}


async def inspect_server(dsn: str, setup: Sequence[Statement] = ()) -> tuple[TypeInfo, bool]:
    """Check our role over one connection; return the type information of halfvec, and whether the server is part of a
    cluster."""
    try:
        # No prepared statements: a pooler may give each transaction another connection.
        async with await AsyncConnection.connect(dsn, prepare_threshold=None) as connection:
            # As whom the login comes, before a transaction makes it another: a pooler's session is nobody's own.
            role = await (await connection.execute(queries()["server.role"])).fetchone()
            for name, parameters in setup:
                await connection.execute(queries()[name], parameters)
            halfvec = await TypeInfo.fetch(connection, "halfvec")
    except (psycopg.errors.InsufficientPrivilege, psycopg.OperationalError) as error:
        if isinstance(error, psycopg.errors.InsufficientPrivilege) or "set role" in str(error):
            raise SchemaMismatch(f"the login may not act as {APP_ROLE}: GRANT {APP_ROLE} TO it") from error
        raise StoreUnavailable(f"PostgreSQL does not answer: {get_first_line(error)}") from error
    if role is None or role[1] or role[2]:
        raise SchemaMismatch(
            f"the login is above row-level security: through a pooler, log in as a plain member of {APP_ROLE}"
            " (CREATE ROLE app LOGIN IN ROLE recollect_app)"
        )
    if halfvec is None:
        raise SchemaMismatch("the type halfvec is not visible: create the extension vector (0.7 or later) in public")
    return halfvec, bool(role[3])


class EagerConnection(AsyncConnection[Row]):
    """A connection that polls the socket before it waits in the event loop. A pipelined transaction waits some thirty
    times, nearly always for a socket that is ready to write; going through the loop each time costs more than the
    query."""

    async def wait(self, gen: PQGen[T], *args: Any, **kwargs: Any) -> T:
        return await super().wait(run_eagerly(gen, self.fileno()), *args, **kwargs)


def run_eagerly(gen: PQGen[T], fileno: int) -> PQGen[T]:
    """Run the same steps, stopping only where the socket is not ready."""
    poll = select.poll()
    try:
        wanted = next(gen)
        while True:
            poll.register(fileno, POLLED[wanted])
            ready = poll.poll(0)
            answer = READY[ready[0][1] & POLLED[wanted]] if ready and ready[0][1] & POLLED[wanted] else (yield wanted)
            wanted = gen.send(answer)
    except StopIteration as end:
        return cast(T, end.value)


def build_connection_class(reach: ServerReach, server: EmbeddedServer | None) -> type[AsyncConnection[Row]]:
    """Return a connection class that records whether the server is reachable, and restarts the embedded server if it
    was killed."""

    class Watched(EagerConnection):
        @classmethod
        async def connect(cls, conninfo: str = "", **kwargs: Any) -> Self:
            try:
                made = await super().connect(conninfo, **kwargs)
            except psycopg.OperationalError:
                reach.is_unreachable = True
                if server is None:
                    raise
                await asyncio.to_thread(server.start)
                made = await super().connect(conninfo, **kwargs)
            reach.is_unreachable = False
            return made

    return Watched
