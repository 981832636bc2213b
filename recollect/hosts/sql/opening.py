"""Opening: an engine that can only read, from an address.

SQLite: opened read-only, query_only set, and an authorizer that lets nothing but reading through. PostgreSQL: psycopg;
each transaction is made read-only in statement.py. Others as SQLAlchemy knows them: give them an account that may only
read.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from recollect.errors import InvalidInput
from recollect.hosts.sql.dsn import FIELD, sqlite_file

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

THREADS = 4  # statements at one time; each has its connection
CONNECT_SECONDS = 10
LONGEST_VALUE = 100_000_000  # bytes of one value in SQLite, so that no function call fills the memory
FOLD = "recollect_lower"  # SQLite's own knows the case of A to Z only
READING = frozenset(
    (
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    )
)
# What reflection asks for; none of them changes anything, whatever its argument.
PRAGMAS = frozenset(
    (
        "table_info",
        "table_xinfo",
        "table_list",
        "index_list",
        "index_info",
        "index_xinfo",
        "foreign_key_list",
        "database_list",
    )
)
FORBIDDEN_FUNCTIONS = frozenset(("load_extension", "writefile", "readfile", "edit", "fts3_tokenizer"))


def open_engine(url: URL) -> Engine:
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import NoSuchModuleError
    from sqlalchemy.pool import QueuePool

    options: dict[str, Any] = {"pool_size": THREADS, "max_overflow": 0, "poolclass": QueuePool, "hide_parameters": True}
    try:
        if url.get_backend_name() == "sqlite":
            return create_engine("sqlite://", creator=sqlite_opener(url), **options)
        engine = create_engine(url, pool_pre_ping=True, connect_args=connect_arguments(url), **options)
    except NoSuchModuleError:
        raise InvalidInput(FIELD, f"{url.drivername!r} is not a database that SQLAlchemy knows") from None
    except ImportError as error:
        raise InvalidInput(
            FIELD, f"{url.drivername!r} needs a driver that is not installed ({error}); install it"
        ) from None
    if url.get_driver_name() == "psycopg":
        event.listen(engine, "connect", lambda driver, _: read_any_date(driver))
    return engine


def connect_arguments(url: URL) -> dict[str, Any]:
    if url.get_driver_name() != "psycopg":
        return {}
    return {"connect_timeout": CONNECT_SECONDS, "application_name": "recollect", "prepare_threshold": None}


def sqlite_opener(url: URL) -> Callable[[], sqlite3.Connection]:
    path = sqlite_file(url)

    def connect() -> sqlite3.Connection:
        # A connection belongs to one thread at a time, but not always to the same.
        connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False, timeout=5.0)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        for pragma in ("query_only = on", "trusted_schema = off"):
            connection.execute(f"PRAGMA {pragma}")
        connection.create_function(FOLD, 1, lambda value: str(value).lower(), deterministic=True)
        connection.set_authorizer(allowed)
        return connection

    return connect


def allowed(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """SQLite asks for every part of a statement whether it may be."""
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    reads = action in READING or (action == sqlite3.SQLITE_PRAGMA and is_reading((first or "").lower(), second))
    return sqlite3.SQLITE_OK if reads else sqlite3.SQLITE_DENY


def is_reading(pragma: str, value: str | None) -> bool:
    """SQLAlchemy asks for the isolation level when it first connects; setting it has a value."""
    return pragma in PRAGMAS or (pragma == "read_uncommitted" and value is None)


def read_any_date(driver: Any) -> None:
    """PostgreSQL has dates that Python has not ('infinity', 44 BC): they stay text."""
    from recollect.hosts.sql.postgres_dates import LOADERS

    for name, loader in LOADERS.items():
        driver.adapters.register_loader(name, loader)
