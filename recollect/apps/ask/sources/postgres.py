"""PostgreSQL's own knowledge: which columns this role may read, and what its statistics say of a large table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.apps.ask.sources.address_rules import FIELD
from recollect.errors import InvalidInput
from recollect.values.data_source import ServerIdentity

if TYPE_CHECKING:
    from sqlalchemy import Connection

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


def read_identity(driver: Any) -> ServerIdentity | None:
    """Return which server a psycopg connection leads to; None if it is no PostgreSQL, which has this function."""
    from psycopg import errors

    try:
        row = driver.execute(IDENTITY).fetchone()
    except errors.UndefinedFunction:
        return None
    except errors.InsufficientPrivilege:
        raise InvalidInput(
            FIELD, "the account may not call pg_control_system(), which tells whose server it is; grant it EXECUTE"
        ) from None
    finally:
        driver.rollback()
    return ServerIdentity(*row)


def readable_columns(connection: Connection, schema: str | None) -> set[tuple[str, str]] | None:
    """None: this database does not say, and a column that may not be read will say so."""
    if connection.dialect.name != "postgresql":
        return None
    return {(row[0], row[1]) for row in asked(connection, READABLE, schema=schema)}


def estimated_rows(connection: Connection, table: str) -> int | None:
    """Without counting; none if nobody has looked yet."""
    if connection.dialect.name != "postgresql":
        return None
    schema, _, name = table.rpartition(".")
    found = [row[0] for row in asked(connection, ESTIMATE, schema=schema or None, name=name)]
    return found[0] if found and found[0] >= 0 else None


def statistics(connection: Connection, table: str) -> dict[str, tuple[list[str], list[str]]]:
    """Of each column its most common values, and values that divide it evenly."""
    if connection.dialect.name != "postgresql":
        return {}
    schema, _, name = table.rpartition(".")
    rows = asked(connection, STATISTICS, schema=schema or None, name=name)
    return {row[0]: (row[1] or [], row[2] or []) for row in rows}


def asked(connection: Connection, sql: str, **values: Any) -> list[Any]:
    from sqlalchemy import text

    return list(connection.execute(text(sql), values))
