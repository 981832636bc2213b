"""What is particular to PostgreSQL: how to connect, dates that Python does not have, readable columns and statistics.

`make_parameters` sets every keyword that libpq would otherwise take from the environment, a password file or a
certificate in the home folder, so that nothing of the server's user goes to the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from psycopg import DataError, errors, pq
from psycopg.abc import Buffer
from psycopg.types.datetime import DateLoader, TimestampLoader, TimestamptzLoader

from recollect.apps.ask.sources.address_rules import FIELD, Address, SourceRules
from recollect.apps.ask.sources.statement import CONNECT_SECONDS
from recollect.errors import InvalidInput
from recollect.values.data_source import ServerIdentity

if TYPE_CHECKING:
    from sqlalchemy import Connection

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
# Partitions are read through the table that they are parts of.
READABLE = """
select c.relname, a.attname
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
 where n.nspname = coalesce(:schema, current_schema()) and not c.relispartition
   and c.relkind in ('r', 'p', 'v', 'm', 'f')
   and has_schema_privilege(n.oid, 'USAGE') and has_column_privilege(c.oid, a.attnum, 'SELECT')
"""
# Which server and which of its databases this is; a standby has the same.
IDENTITY = """
select (select system_identifier from pg_catalog.pg_control_system()),
       (select oid::bigint from pg_catalog.pg_database where datname = current_database())
"""
ESTIMATE = """
select c.reltuples::bigint
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where n.nspname = coalesce(:schema, current_schema()) and c.relname = :name and c.relkind in ('r', 'm')
"""
STATISTICS = """
select attname, most_common_vals::text::text[], histogram_bounds::text::text[]
  from pg_catalog.pg_stats
 where schemaname = coalesce(:schema, current_schema()) and tablename = :name
"""


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
        row = driver.execute(IDENTITY).fetchone()
    except errors.UndefinedFunction:
        return None
    except errors.InsufficientPrivilege:
        raise InvalidInput(
            FIELD, "the account may not call pg_control_system(), which identifies the server; grant it EXECUTE"
        ) from None
    finally:
        driver.rollback()
    return ServerIdentity(*row)


def read_columns(connection: Connection, schema: str | None) -> set[tuple[str, str]] | None:
    """Return the (table, column) pairs that this role may read, or None if the database is not PostgreSQL."""
    from sqlalchemy import text

    if connection.dialect.name != "postgresql":
        return None
    return {(row[0], row[1]) for row in connection.execute(text(READABLE), {"schema": schema})}


def estimate_rows(connection: Connection, table: str) -> int | None:
    """Return the number of rows by the statistics; None if the table was not analyzed."""
    found = [row[0] for row in query_table(connection, ESTIMATE, table)]
    return found[0] if found and found[0] >= 0 else None


def read_statistics(connection: Connection, table: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return for each column its most common values, and values that divide it evenly."""
    return {row[0]: (row[1] or [], row[2] or []) for row in query_table(connection, STATISTICS, table)}


def query_table(connection: Connection, sql: str, table: str) -> list[Any]:
    """Return the rows of a query about one table; none if the database is not PostgreSQL."""
    from sqlalchemy import text

    if connection.dialect.name != "postgresql":
        return []
    schema, _, name = table.rpartition(".")
    return list(connection.execute(text(sql), {"schema": schema or None, "name": name}))


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
