"""Database connections outside the engine, and named queries on them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

from recollect.bootstrap import find_server
from recollect.errors import StoreUnavailable
from recollect.settings import Settings
from recollect.store.connection import add_session_options, start_pooled
from recollect.store.database import first_line, queries, translate_error
from recollect.store.migrate import Owner


@asynccontextmanager
async def connect_owner(settings: Settings) -> AsyncIterator[Owner]:
    """Connect as the owner of the tables; the embedded server is started if necessary."""
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        yield await stack.enter_async_context(open_connection(owner_dsn))


@asynccontextmanager
async def connect_application(dsn: str, settings: Settings) -> AsyncIterator[Owner]:
    """Connect as the application does, with its role and row-level security."""
    async with open_connection(dsn if settings.pooled else add_session_options(dsn, settings)) as connection:
        if not settings.pooled:
            yield connection
            return
        async with connection.transaction():
            name, parameters = start_pooled(settings)
            await fetch_rows(connection, name, parameters)
            yield connection


@asynccontextmanager
async def open_connection(dsn: str) -> AsyncIterator[Owner]:
    """Open a connection whose errors are RecollectErrors."""
    try:
        connection = await AsyncConnection.connect(dsn, autocommit=True, row_factory=namedtuple_row)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"PostgreSQL does not answer ({first_line(error)}); check MEMORY_DB_CONNECTION_STRING, or unset it to use"
            " the embedded server"
        ) from error
    async with connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise translate_error(error) from error


async def fetch_rows(connection: Owner, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    return await (await connection.execute(queries()[name], parameters)).fetchall()
