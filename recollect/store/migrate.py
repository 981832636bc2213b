"""Migrations: numbered .sql files, applied in order, each once, under a lock that two starters can race for.

`prepare` is what wire.py calls before anything else: it looks at the server, brings the schema up to date, or says in
one sentence what is missing and which command mends it. It works with the owner's connection; the application never
does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeAlias

import psycopg
from psycopg import AsyncConnection
from psycopg.rows import namedtuple_row

from recollect.errors import SchemaMismatch
from recollect.store.queries import queries

Owner: TypeAlias = AsyncConnection[Any]
OLDEST_SERVER = 160000
EXTENSIONS = ("vector", "pg_trgm")
LOCK = 0x7265636F  # any number will do, so long as every release takes the same
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
    """What the database has, beside what this release knows."""

    server: str
    applied: Sequence[int]
    pending: Sequence[Migration]
    unknown: Sequence[int]  # applied by a newer release
    changed: Sequence[int]  # applied, but its file has another content now


@cache
def migrations() -> tuple[Migration, ...]:
    found = sorted(file.name for file in files("recollect.store").joinpath("migrations").iterdir())
    return tuple(
        Migration(int(name[:4]), name.removesuffix(".sql")[5:], _text(name)) for name in found if name.endswith(".sql")
    )


def _text(name: str) -> bytes:
    return files("recollect.store").joinpath("migrations", name).read_bytes()


async def prepare(dsn: str, *, migrate: bool = True) -> SchemaStatus:
    """The schema, ready for this release; SchemaMismatch if it cannot be."""
    async with await AsyncConnection.connect(dsn, autocommit=True, row_factory=namedtuple_row) as connection:
        await check_server(connection)
        status = await read_status(connection)
        refuse_unknown(status)
        if status.pending and migrate:
            await apply_pending(connection)
            status = await read_status(connection)
        return status


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


async def read_facts(connection: Owner) -> Any:
    return await (await connection.execute(queries()["server.facts"])).fetchone()


async def read_status(connection: Owner) -> SchemaStatus:
    await connection.execute(SEARCH_PATH)
    facts = await read_facts(connection)
    rows = await (await connection.execute(queries()["server.applied"])).fetchall() if facts.has_schema else []
    known = {migration.version: migration for migration in migrations()[1:]}
    applied = {row.version: row.digest for row in rows}
    return SchemaStatus(
        server=facts.version_text,
        applied=sorted(applied),
        pending=[migration for version, migration in known.items() if version not in applied],
        unknown=[version for version in applied if version not in known],
        changed=[
            version for version, digest in applied.items() if version in known and known[version].digest != digest
        ],
    )


def refuse_unknown(status: SchemaStatus) -> None:
    if status.unknown:
        raise SchemaMismatch(
            f"the database was migrated by a newer release (migration {max(status.unknown)}, this one knows"
            f" {migrations()[-1].version}): upgrade with `pip install --upgrade recollect`"
        )


async def apply_pending(connection: Owner) -> None:
    """Every pending migration in one transaction; whoever waited for the lock finds nothing left to do."""
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            for extension in EXTENSIONS:
                await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}".encode())
            await connection.execute(SEARCH_PATH)
            await connection.execute(migrations()[0].sql)
            for migration in (await read_status(connection)).pending:
                await connection.execute(migration.sql)
                await connection.execute(
                    "INSERT INTO schema_migration (version, name, digest) VALUES (%s, %s, %s)",
                    [migration.version, migration.name, migration.digest],
                )
    except psycopg.errors.InsufficientPrivilege as error:
        raise SchemaMismatch(
            f"{str(error).splitlines()[0]}: run `recollect db migrate` with MEMORY_DB_ADMIN_CONNECTION_STRING set to"
            " the owner's connection"
        ) from None
