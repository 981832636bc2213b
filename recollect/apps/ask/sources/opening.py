"""Open an engine that can only read, at an address that the rules allow. `open_engine` is the entry point.

For each new connection hosts are resolved, links followed, and both checked again. SQLite is opened read-only, with
query_only and an authorizer that permits only reading. DuckDB, CSV and Parquet files: duckdb_files.py; MySQL and
MariaDB: mysql.py. Their transactions are made read-only in running.py. Other databases are
opened as SQLAlchemy does it and need an account that may only read.
"""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from psycopg import DataError, errors, pq
from psycopg.abc import Buffer
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader
from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.dialects import registry
from sqlalchemy.exc import NoSuchModuleError
from sqlalchemy.pool import NullPool, QueuePool

from recollect.apps.ask.sources.address_rules import (
    FIELD,
    MYSQL,
    POSTGRES,
    Address,
    SourceRules,
    check_addresses,
    check_url,
    may_resolve,
    parse_address,
)
from recollect.apps.ask.sources.running import CONNECT_SECONDS, THREADS, NotConnected
from recollect.errors import InvalidInput
from recollect.values.data_source import ServerIdentity

Resolve: TypeAlias = Callable[[str], Sequence[str]]
LONGEST_VALUE = 10_000_000  # bytes of one value in SQLite, so that no function call fills the memory
FOLD = "recollect_lower"  # SQLite's own function handles A to Z only
READING = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
    *(sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_TRANSACTION),
}
# What reflection uses; none of them changes anything, whatever its argument.
PRAGMAS = {
    *("table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"),
    *("foreign_key_list", "database_list"),
}
POOL: Mapping[str, Any] = {
    "pool_size": THREADS,
    "max_overflow": 0,
    "poolclass": QueuePool,
    "hide_parameters": True,
}
# Of files: opening one is cheap, and a pooled connection would go on reading a file that was replaced.
UNPOOLED: Mapping[str, Any] = {"poolclass": NullPool, "hide_parameters": True}
FORBIDDEN_FUNCTIONS = {"load_extension", "writefile", "readfile", "edit", "fts3_tokenizer"}


def resolve_host(host: str) -> list[str]:
    """Return the addresses of a name, as the system's resolver knows them."""
    return [str(found[4][0]) for found in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def open_engine(
    url: URL,
    rules: SourceRules,
    *,
    own: ServerIdentity | None = None,
    resolve: Resolve = resolve_host,
) -> Engine:
    """Return an engine for an address that the rules allow. Nothing is connected yet: each new connection resolves the
    host, checks all its addresses and goes to one of those. `own` is the server that may not be a source."""
    address = check_url(url, rules)
    find = partial(find_addresses, address.host, rules, resolve)
    if address.driver == "sqlite":
        # A local caller gets the error at once; for others a missing file is a connection that fails.
        file = find_file(address.file, rules) if rules.is_local else None
        return create_engine(
            "sqlite://", creator=lambda: connect_sqlite(file or find_file(address.file, rules)), **UNPOOLED
        )
    if address.file:
        return open_duckdb(address, rules)
    if address.driver == POSTGRES:
        return open_postgres(address, rules, own, find)
    if address.driver != MYSQL:
        return open_other(url)
    require_driver("pymysql", "PyMySQL", "mysql")
    from recollect.apps.ask.sources.mysql import make_mysql_opener

    return create_engine(f"{MYSQL}://", creator=make_mysql_opener(address, find), pool_pre_ping=True, **POOL)


def open_postgres(
    address: Address, rules: SourceRules, own: ServerIdentity | None, find: Callable[[], Sequence[str]]
) -> Engine:
    """Return an engine whose URL names nothing: every connection gets its parameters from the hook."""
    engine = create_engine(f"{POSTGRES}://", connect_args={"prepare_threshold": None}, pool_pre_ping=True, **POOL)

    def set_parameters(dialect: Any, record: Any, arguments: Any, parameters: dict[str, Any]) -> None:
        parameters.update(make_parameters(address, find() if address.host else (), rules))

    event.listen(engine, "do_connect", set_parameters)
    # First of all: before SQLAlchemy itself sends a query.
    event.listen(engine, "connect", lambda driver, _: check_identity(driver, own, rules), insert=True)
    event.listen(engine, "connect", lambda driver, _: register_date_loaders(driver))
    return engine


def open_other(url: URL) -> Engine:
    """Return an engine for another database of a local caller, as SQLAlchemy opens it."""
    try:
        return create_engine(url, pool_pre_ping=True, **POOL)
    except NoSuchModuleError:
        raise InvalidInput(FIELD, f"{url.drivername!r} is not a database that SQLAlchemy knows") from None
    except ImportError as error:
        raise InvalidInput(
            FIELD, f"{url.drivername!r} needs a driver that is not installed ({error}); install it"
        ) from None


def require_driver(module: str, package: str, extra: str) -> None:
    """Raise an InvalidInput that names the package and the extra, if the driver is not installed."""
    if find_spec(module) is None:
        raise InvalidInput(
            FIELD, f"needs the driver {package}, which is not installed; install it: pip install 'recollect[{extra}]'"
        )


def open_duckdb(address: Address, rules: SourceRules) -> Engine:
    """Return an engine for a DuckDB file or for CSV or Parquet files."""
    require_driver("duckdb", "duckdb", "duckdb")
    from recollect.apps.ask.sources.duckdb_files import make_duckdb_opener

    if rules.is_local:  # the error comes at once, as for SQLite
        find_place(address.file, rules)
    connect = make_duckdb_opener(address, lambda file: find_file(file, rules), lambda folder: find_place(folder, rules))
    registry.register("recollect_duckdb", "recollect.apps.ask.sources.duckdb_files", "DuckDBDialect")
    return create_engine("recollect_duckdb://", creator=connect, **UNPOOLED)


def find_addresses(host: str, rules: SourceRules, resolve: Resolve) -> tuple[str, ...]:
    """Return the checked addresses of a host. A name is resolved once: what is checked is what is connected to."""
    if not may_resolve(host, rules):
        raise NotConnected(f"the host {host} is not allowed (RECOLLECT_SOURCE_HOSTS, RECOLLECT_SOURCE_DENIED_HOSTS)")
    try:
        found = [host] if parse_address(host) is not None else resolve(host)
    except (OSError, UnicodeError) as error:
        raise NotConnected(f"the host {host} cannot be resolved: {error}") from None
    checked = check_addresses(host, found, rules)
    if not checked:
        raise NotConnected(f"the host {host} has an address that is not allowed: {', '.join(found)}")
    return checked


def find_file(file: str, rules: SourceRules) -> Path:
    """Return the file to open, with all links followed; it must be below one of the folders, unless the caller is
    local."""
    path = find_place(file, rules)
    if not path.is_file():
        raise explain_missing_file(path) if rules.is_local else NotConnected(f"{path} is not a file")
    return path


def explain_missing_file(path: Path) -> InvalidInput:
    return InvalidInput(FIELD, f"there is no file {path}; check the path (an absolute one has four slashes)")


def find_place(place: str, rules: SourceRules) -> Path:
    """Return a file or folder, with all links followed. Unless the caller is local, a file must be below one of the
    allowed folders, and a folder may also be one of them."""
    if rules.is_local:
        path = Path(place).expanduser()
        if not path.exists():
            raise explain_missing_file(path)
        return path.absolute()
    try:
        path = Path(place).resolve(strict=True)
        folders = [folder.resolve() for folder in rules.folders]
    except (OSError, RuntimeError) as error:
        raise NotConnected(f"the file cannot be found: {error}") from None
    if not any(folder in (path, *path.parents) for folder in folders):
        raise NotConnected(f"{path} is not below {', '.join(map(str, folders))}")
    return path


def check_identity(driver: Any, own: ServerIdentity | None, rules: SourceRules) -> None:
    """Refuse Recollect's own server, whatever it is called in the address; close the connection to it."""
    if own is None:
        return
    try:
        found = read_identity(driver)
        if found is not None and found.system == own.system:
            if not rules.same_server:
                raise InvalidInput(
                    FIELD, "is Recollect's own database server; RECOLLECT_SOURCE_SAME_SERVER allows its other databases"
                )
            if found.database == own.database:
                raise InvalidInput(FIELD, "is Recollect's own database, which cannot be a data source")
    except BaseException:
        driver.close()
        raise


def connect_sqlite(path: Path) -> sqlite3.Connection:
    """Return a read-only connection."""
    # A connection belongs to one thread at a time, but not always to the same.
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, check_same_thread=False, timeout=5.0)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    for pragma in ("query_only = on", "trusted_schema = off"):
        connection.execute(f"PRAGMA {pragma}")
    connection.create_function(FOLD, 1, lambda value: str(value).lower(), deterministic=True)
    connection.set_authorizer(authorize)
    return connection


def authorize(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    """Return whether a part of a statement may run. SQLite calls this for every part."""
    is_reading = action in READING
    if action == sqlite3.SQLITE_FUNCTION:
        is_reading = (second or "").lower() not in FORBIDDEN_FUNCTIONS
    elif action == sqlite3.SQLITE_PRAGMA:
        pragma = (first or "").lower()
        # SQLAlchemy reads the isolation level when it first connects; setting it has a value.
        is_reading = pragma in PRAGMAS or (pragma == "read_uncommitted" and second is None)
    return sqlite3.SQLITE_OK if is_reading else sqlite3.SQLITE_DENY


# PostgreSQL -----------------------------------------------------------------------------------------------------------


NOWHERE = "/dev/null/none"  # no file can be there; an empty name would mean the one in the home folder
# An empty value counts as given: libpq does not look further. `service` cannot be emptied, but a service file only
# fills in what is not given.
NEUTRAL: Mapping[str, str] = {
    **dict.fromkeys(("user", "password", "dbname", "host", "hostaddr", "client_encoding", "options"), ""),
    **dict.fromkeys(("sslkey", "sslrootcert", "sslcrl", "sslcrldir", "requirepeer", "gsslib"), ""),
    "passfile": NOWHERE,
    "channel_binding": "prefer",
    "connect_timeout": str(CONNECT_SECONDS),
    "port": "5432",
    "application_name": "recollect",
    "sslmode": "prefer",
    "sslnegotiation": "postgres",
    "sslcompression": "0",
    "sslcert": NOWHERE,
    "sslcertmode": "disable",
    "sslsni": "1",
    "require_auth": "scram-sha-256,md5,password,none",
    "min_protocol_version": "3.0",
    "max_protocol_version": "3.0",
    "ssl_min_protocol_version": "TLSv1.2",
    "ssl_max_protocol_version": "",
    "gssencmode": "disable",
    "krbsrvname": "postgres",
    "gssdelegation": "0",
    "target_session_attrs": "any",
    "load_balance_hosts": "disable",
}


@cache
def load_query(name: str) -> str:
    return files("recollect.apps.ask.sources").joinpath(f"{name}.sql").read_text("utf-8")


@cache
def list_keywords() -> frozenset[str]:
    """Return the keywords of the libpq that is loaded; an older one refuses those it does not know."""
    return frozenset(option.keyword.decode() for option in pq.Conninfo.get_defaults())


def make_parameters(address: Address, addresses: Sequence[str], rules: SourceRules) -> dict[str, str]:
    """Return what libpq is given for an address whose host has these checked addresses."""
    given = {
        "user": address.user,
        "password": address.password,
        "dbname": address.database or address.user,
        # One name for each address: libpq tries them in order and never looks the name up.
        "host": ",".join([address.host] * len(addresses)) if addresses else address.socket,
        "hostaddr": ",".join(addresses),
        "port": str(address.port or ""),
        "application_name": "recollect",
        **address.parameters,
    }
    if "sslcert" in address.parameters:
        given["sslcertmode"] = "allow"
    given = {key: value for key, value in given.items() if value}
    defaults = {"connect_timeout": str(CONNECT_SECONDS)} if rules.environment else NEUTRAL
    return {key: value for key, value in {**defaults, **given}.items() if key in list_keywords()}


def read_identity(driver: Any) -> ServerIdentity | None:
    """Return the server that a psycopg connection leads to; None if it is another product without this function."""
    try:
        row = driver.execute(load_query("server_identity")).fetchone()
    except errors.UndefinedFunction:
        return None
    except errors.InsufficientPrivilege:
        raise InvalidInput(
            FIELD, "the account may not call pg_control_system(), which identifies the server; grant it EXECUTE"
        ) from None
    finally:
        driver.rollback()
    return ServerIdentity(*row)


def query_postgres(connection: Connection, query: str, table: str) -> list[Any]:
    """Return the rows of one of the queries in this folder for a table, or for a schema alone ("sales."); none if the
    database is not PostgreSQL."""
    if connection.dialect.name != "postgresql":
        return []
    schema, _, name = table.rpartition(".")
    return list(connection.execute(text(load_query(query)), {"schema": schema or None, "name": name}))


def register_date_loaders(driver: Any) -> None:
    """Have dates that Python does not have ('infinity', 44 BC) read as text."""
    for name, loader in (("date", DateLoader), ("timestamp", TimestampLoader), ("timestamptz", TimestamptzLoader)):
        driver.adapters.register_loader(name, make_lenient(loader))


@cache
def make_lenient(loader: Any) -> type[Any]:
    """Return a loader that falls back to the text of the value."""

    class LenientLoader(loader):  # type: ignore[misc]
        def load(self, data: Buffer) -> Any:
            try:
                return super().load(data)
            except DataError:
                return bytes(data).decode()

    return LenientLoader
