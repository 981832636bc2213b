"""Migrations: numbered .sql files, applied in order, each once, under a lock; and other work of the owner's connection.

`prepare` checks the server and brings the schema up to date, or says what is missing and which command fixes it. Roles,
grants and policies are listed in access.sql; `repair_access` restores them. `vacuum_tables` removes erased rows from
disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import psycopg
from psycopg import AsyncConnection, sql
from psycopg.rows import namedtuple_row

from recollect.errors import InvalidSetting, SchemaMismatch
from recollect.store.database import queries

Owner: TypeAlias = AsyncConnection[Any]
OLDEST_SERVER = 160000
EXTENSIONS = ("vector", "pg_trgm")
LOCK = 0x7265636F  # any number, as long as every release uses the same
SEARCH_PATH = "SET search_path = recollect, public"


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.sql).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class SchemaStatus:
    """What the database has, compared with this release."""

    server: str
    applied: Sequence[int]
    pending: Sequence[Migration]
    unknown: Sequence[int]  # applied by a newer release
    changed: Sequence[int]  # applied, but its file has another content now


@cache
def migrations() -> tuple[Migration, ...]:
    folder = files("recollect.store").joinpath("migrations")
    found = sorted(file.name for file in folder.iterdir())
    return tuple(
        Migration(int(name[:4]), name.removesuffix(".sql")[5:], folder.joinpath(name).read_bytes())
        for name in found
        if name.endswith(".sql")
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference from access.sql. `remedy` is the statement that fixes it, if one may be run."""

    kind: str
    problem: str
    remedy: str | None


@asynccontextmanager
async def connect_owner(dsn: str) -> AsyncIterator[tuple[Owner, SchemaStatus]]:
    """Yield a connection to a server that this release can use, and the schema's status."""
    async with await AsyncConnection.connect(dsn, autocommit=True, row_factory=namedtuple_row) as connection:
        await check_server(connection)
        status = await read_status(connection)
        if status.unknown:
            raise SchemaMismatch(
                f"the database was migrated by a newer release (migration {max(status.unknown)}, this one knows"
                f" {migrations()[-1].version}): upgrade with `pip install --upgrade recollect`"
            )
        yield connection, status


async def prepare(dsn: str) -> SchemaStatus:
    """Return the status of the migrated schema; SchemaMismatch if it cannot be used."""
    async with connect_owner(dsn) as (connection, status):
        if not status.pending:
            return status
        await apply_pending(connection)
        return await read_status(connection)


async def migrate_and_repair(dsn: str) -> tuple[SchemaStatus, list[Difference]]:
    """Apply pending migrations, restore roles, grants and policies; return the status before and what was fixed."""
    async with connect_owner(dsn) as (connection, before):
        return before, await apply_pending(connection)


async def check_server(connection: Owner) -> None:
    facts = await read_facts(connection)
    if facts.version < OLDEST_SERVER:
        raise SchemaMismatch(f"PostgreSQL {facts.version_text} is too old: use 16 or later")
    missing = [name for name in EXTENSIONS if name not in (facts.installed or []) + (facts.available or [])]
    if missing:
        major = facts.version // 10000
        package = f"postgresql-{major}-pgvector" if "vector" in missing else f"postgresql-contrib-{major}"
        raise SchemaMismatch(
            f"the server has no extension {' and '.join(missing)}: install it there, on Debian with"
            f" `apt install {package}`"
        )


async def read_rows(connection: Owner, name: str) -> list[Any]:
    """Return the rows of a named query."""
    return await (await connection.execute(queries()[name])).fetchall()


async def read_facts(connection: Owner) -> Any:
    [facts] = await read_rows(connection, "server.facts")
    return facts


async def read_status(connection: Owner) -> SchemaStatus:
    await connection.execute(SEARCH_PATH)
    facts = await read_facts(connection)
    rows = await read_rows(connection, "server.applied") if facts.has_schema else []
    known = {migration.version: migration.digest for migration in migrations()[1:]}
    applied = {row.version: row.digest for row in rows}
    return SchemaStatus(
        server=facts.version_text,
        applied=sorted(applied),
        pending=[migration for migration in migrations()[1:] if migration.version not in applied],
        unknown=[version for version in applied if version not in known],
        changed=[version for version, digest in applied.items() if known.get(version, digest) != digest],
    )


async def apply_pending(connection: Owner) -> list[Difference]:
    """Apply every pending migration in one transaction and return what else was fixed. A process that waited for the
    lock finds nothing left to do."""
    async with owner_transaction(connection):
        await start_schema(connection)
        for migration in (await read_status(connection)).pending:
            await apply(connection, migration)
        return await repair_access(connection)


@asynccontextmanager
async def owner_transaction(connection: Owner, command: str = "recollect db migrate") -> AsyncIterator[None]:
    """Open a transaction that changes the schema, one at a time. A missing privilege becomes an error that names the
    command to run."""
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            # On a cluster: tables that refer to each other are changed one shard after the other.
            await connection.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")
            yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise SchemaMismatch(
            f"{str(error).splitlines()[0]}: run `{command}` with MEMORY_DB_ADMIN_CONNECTION_STRING set to"
            " the owner's connection"
        ) from None


async def start_schema(connection: Owner) -> None:
    """Create the extensions, the schema and the table of migrations where they are missing."""
    for extension in EXTENSIONS:
        await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}".encode())
    await connection.execute(SEARCH_PATH)
    await connection.execute(migrations()[0].sql)


async def apply(connection: Owner, migration: Migration) -> None:
    await connection.execute(migration.sql)
    await connection.execute(
        "INSERT INTO schema_migration (version, name, digest) VALUES (%s, %s, %s)",
        [migration.version, migration.name, migration.digest],
    )


async def read_differences(connection: Owner) -> list[Difference]:
    """Return what is not as access.sql lists it: roles, owners, row-level security, policies, grants."""
    return [Difference(*row) for row in await read_rows(connection, "access.differences")]


async def repair_access(connection: Owner) -> list[Difference]:
    """Fix what can be fixed and return it; `recollect db check` lists the rest."""
    differences = [each for each in await read_differences(connection) if each.remedy]
    for each in differences:
        # Citus passes the rule of a policy on as it reads here: with the schema's name, which other nodes need.
        await connection.execute("SET search_path = public" if each.kind == "policies" else SEARCH_PATH)
        # Roles are shared by all databases of a server: another migration may make the same one at this moment.
        with suppress(psycopg.errors.DuplicateObject, psycopg.errors.UniqueViolation):
            async with connection.transaction():
                # One by one: Citus passes on the text that it was sent, and takes one statement at a time.
                for statement in (each.remedy or "").split("; "):
                    await connection.execute(statement.encode())
    for row in await read_rows(connection, "access.limits"):
        await connection.execute(row.remedy.encode())
    await connection.execute(SEARCH_PATH)
    return differences


TRIES = 3
PAUSE = 1.0  # seconds; statistics of connections that were just closed arrive within this time


async def check_owner(connection: Owner) -> None:
    """Raise unless the connection may vacuum every table: PostgreSQL itself would only warn, and skip the table."""
    [facts] = await read_rows(connection, "server.vacuuming")
    if facts.denied:
        raise InvalidSetting(
            "MEMORY_DB_ADMIN_CONNECTION_STRING",
            f"a purge needs the login that owns the tables; {facts.name!r} does not own {', '.join(facts.denied[:3])}",
        )


async def vacuum_tables(connection: Owner) -> tuple[int, int]:
    """Vacuum every table of ours; return how many tables there are, and how many dead rows could not be removed."""
    [facts] = await read_rows(connection, "server.vacuuming")
    names: list[sql.Composable] = [sql.Identifier("recollect", name) for name in facts.tables]
    # Also index entries of few rows, which a vacuum may leave: an index has the words of its columns.
    vacuum = sql.SQL("VACUUM (INDEX_CLEANUP ON) {}").format(sql.SQL(", ").join(names))
    await connection.execute(vacuum)
    for _ in range(TRIES - 1):
        if not (await read_rows(connection, "server.dead_rows"))[0].dead:
            break
        await asyncio.sleep(PAUSE)
        await connection.execute(vacuum)
    if facts.can_checkpoint:
        await connection.execute("CHECKPOINT")
    return len(facts.tables), (await read_rows(connection, "server.dead_rows"))[0].dead
