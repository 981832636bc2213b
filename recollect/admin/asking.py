"""Asking the database outside any engine: a connection whose errors are ours, and named queries on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import make_conninfo
from psycopg.rows import namedtuple_row

from recollect.errors import StoreUnavailable
from recollect.settings import Settings
from recollect.store.connection import session_options
from recollect.store.database import first_line, translated
from recollect.store.migrate import Owner
from recollect.store.queries import queries


@asynccontextmanager
async def asking(dsn: str) -> AsyncIterator[Owner]:
    """A connection whose errors are ours."""
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
            raise translated(error) from error


async def rows(connection: Owner, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    return await (await connection.execute(queries()[name], parameters)).fetchall()


def as_application(dsn: str, settings: Settings) -> str:
    return dsn if settings.pooled else make_conninfo(dsn, options=session_options(settings))
