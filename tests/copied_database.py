"""A database of a test's own, or of all tests of a file: the copy of one that is migrated, and perhaps filled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo


@contextmanager
def copied(server: str, template: str) -> Iterator[str]:
    """Its owner's DSN. Nobody may be connected to the template."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY".encode())
        yield make_conninfo(server, dbname=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def name_of(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])
