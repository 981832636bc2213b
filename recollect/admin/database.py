"""Administration of the database: status, migration, backup, restore, vacuum, and stopping the embedded server.
`database_status` changes nothing and does not start the embedded server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.admin.connection import connect_owner, fetch_rows, open_connection
from recollect.bootstrap import find_server
from recollect.settings import Settings
from recollect.store.backup import Manifest, Progress, ignore_progress, make_backup, restore_backup
from recollect.store.distribute import SHARDS, Step, plan_distribution, run_plan
from recollect.store.embedded import attach, default_home
from recollect.store.embedded import read_status as read_embedded_status
from recollect.store.embedded_files import locate_site
from recollect.store.migrate import check_owner, migrate_and_repair, read_status, vacuum_tables

HIDDEN_PARAMETERS = ("password", "sslpassword", "connect_timeout")  # secrets, and what only we added


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded server. `users` are the ids of the processes that use it."""

    home: str
    running: bool
    pid: int | None
    users: tuple[int, ...]
    is_new: bool  # it was never started


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """`server` is None while the embedded server is stopped: its content is not known then."""

    embedded: Embedded | None
    connection: str | None
    server: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    schema_version: int | None = None
    pending: tuple[str, ...] = ()
    newer: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Migrated:
    """The migrations that `migrate` applied, and the roles, grants and policies it repaired."""

    applied: tuple[str, ...]
    mended: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Purged:
    """The result of a purge. `dead_rows` are row versions that an open transaction may still see."""

    tables: int
    dead_rows: int


async def database_status(settings: Settings) -> DatabaseStatus:
    """Return which server is used, and its extensions and schema version."""
    embedded = None if settings.dsn else await asyncio.to_thread(embedded_status, settings)
    if embedded and not embedded.running:
        return DatabaseStatus(embedded, None)
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        owner = await stack.enter_async_context(open_connection(owner_dsn))
        schema = await read_status(owner)
        extensions = await fetch_rows(owner, "server.extensions")
    parameters = conninfo_to_dict(owner_dsn).items()
    shown = {name: str(value) for name, value in parameters if name not in HIDDEN_PARAMETERS}
    return DatabaseStatus(
        embedded=embedded,
        connection=make_conninfo("", **shown),
        server=schema.server,
        extensions={row.name: row.version for row in extensions},
        schema_version=max(schema.applied, default=None),
        pending=tuple(f"{migration.version:04} {migration.name}" for migration in schema.pending),
        newer=tuple(schema.unknown),
    )


def embedded_status(settings: Settings) -> Embedded:
    home = embedded_home(settings)
    current = read_embedded_status(home)
    return Embedded(str(home), current.running, current.pid, current.users, is_new=current.version is None)


def embedded_home(settings: Settings) -> Path:
    return Path(settings.home) if settings.home else default_home()


async def stop(settings: Settings) -> Embedded:
    """Stop an embedded server that was left running. Other processes that use it keep it until they end."""

    def release(home: Path) -> None:
        attachment = attach(home)
        locate_site(home).keep_running.unlink(missing_ok=True)
        attachment.detach()

    embedded = await asyncio.to_thread(embedded_status, settings)
    if embedded.running:
        await asyncio.to_thread(release, embedded_home(settings))
    return await asyncio.to_thread(embedded_status, settings)


async def migrate(settings: Settings) -> Migrated:
    """Bring the schema up to date, and repair roles, grants and policies that are missing or differ."""
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        async with open_connection(owner_dsn):
            pass  # raises one clear error if the server does not answer
        before, repaired = await migrate_and_repair(owner_dsn)
    applied = tuple(f"{migration.version:04} {migration.name}" for migration in before.pending)
    # Migrations create grants and policies themselves, so repairs next to them are not reported.
    return Migrated(applied, () if applied else tuple(f"{each.kind}: {each.problem}" for each in repaired))


async def backup(
    settings: Settings, path: Path, *, replace: bool = False, progress: Progress = ignore_progress
) -> Manifest:
    """Write a consistent copy of the database to a file while servers keep running, and return its manifest."""
    async with connect_owner(settings) as owner:
        return await make_backup(owner, path, replace=replace, progress=progress)


async def restore(
    settings: Settings, path: Path, *, force: bool = False, progress: Progress = ignore_progress
) -> Manifest:
    """Fill the database from a backup in one transaction, migrate it, and return the backup's manifest."""
    async with connect_owner(settings) as owner:
        return await restore_backup(owner, path, force=force, progress=progress)


async def check_purge(settings: Settings) -> None:
    """Raise InvalidSetting if these settings do not allow a purge. On the embedded server they always do."""
    if settings.dsn:
        async with connect_owner(settings) as owner:
            await check_owner(owner)


async def purge(settings: Settings) -> Purged:
    """Vacuum all tables as their owner, so that erased rows are gone from the database files."""
    async with connect_owner(settings) as owner:
        await check_owner(owner)
        return Purged(*await vacuum_tables(owner))


async def distribute(
    settings: Settings, *, shards: int = SHARDS, dry_run: bool = False, progress: Progress = ignore_progress
) -> list[Step]:
    """Distribute the tables over a Citus cluster; return the steps, which a dry run only lists."""
    async with connect_owner(settings) as owner:
        steps = await plan_distribution(owner, shards)
        if not dry_run:
            await run_plan(owner, steps, progress)
        return steps
