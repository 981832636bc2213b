"""Which server, which schema. `database_status` looks and changes nothing, not even whether the embedded server runs;
`migrate` and `stop` do what they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from recollect.admin.asking import asking, rows
from recollect.settings import Settings
from recollect.store.embedded import attach, default_home
from recollect.store.embedded import status as look_at_embedded
from recollect.store.embedded_files import site_in
from recollect.store.migrate import read_status
from recollect.wire import find_server, ready

SECRETS = ("password", "sslpassword", "connect_timeout")  # and what only we added


@dataclass(frozen=True, slots=True)
class Embedded:
    """The server that comes with the package. `users` are the processes that hold on to it."""

    home: str
    running: bool
    pid: int | None
    users: tuple[int, ...]
    is_new: bool  # nothing was ever kept there


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """`server` is None while the embedded server is stopped: what is inside cannot be known without starting it."""

    embedded: Embedded | None
    connection: str | None
    server: str | None = None
    extensions: Mapping[str, str] = field(default_factory=dict)
    schema_version: int | None = None
    pending: tuple[str, ...] = ()
    newer: tuple[int, ...] = ()


async def database_status(settings: Settings) -> DatabaseStatus:
    """Which server, and what is in it."""
    embedded = None if settings.dsn else await asyncio.to_thread(embedded_status, settings)
    if embedded and not embedded.running:
        return DatabaseStatus(embedded, None)
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        async with asking(owner_dsn) as owner:
            schema = await read_status(owner)
            extensions = await rows(owner, "server.extensions")
    return DatabaseStatus(
        embedded=embedded,
        connection=without_secrets(owner_dsn),
        server=schema.server,
        extensions={row.name: row.version for row in extensions},
        schema_version=max(schema.applied, default=None),
        pending=tuple(f"{migration.version:04} {migration.name}" for migration in schema.pending),
        newer=tuple(schema.unknown),
    )


def embedded_status(settings: Settings) -> Embedded:
    home = embedded_home(settings)
    seen = look_at_embedded(home)
    return Embedded(str(home), seen.running, seen.pid, seen.users, is_new=seen.version is None)


def embedded_home(settings: Settings) -> Path:
    return Path(settings.home) if settings.home else default_home()


async def migrate(settings: Settings) -> list[str]:
    """Brings the schema up to date; the names of what was applied."""
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        async with asking(owner_dsn) as owner:
            before = await read_status(owner)
        await ready(owner_dsn)
    return [f"{migration.version:04} {migration.name}" for migration in before.pending]


async def stop(settings: Settings) -> Embedded:
    """Stops an embedded server that was left running. Its other users, if any, keep it until they leave."""
    embedded = await asyncio.to_thread(embedded_status, settings)
    if embedded.running:
        await asyncio.to_thread(release, embedded_home(settings))
    return await asyncio.to_thread(embedded_status, settings)


def release(home: Path) -> None:
    attachment = attach(home)
    site_in(home).keep_running.unlink(missing_ok=True)
    attachment.detach()


def without_secrets(dsn: str) -> str:
    shown = {name: str(value) for name, value in conninfo_to_dict(dsn).items() if name not in SECRETS}
    return make_conninfo("", **shown)
