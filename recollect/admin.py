"""Administration for operators: the database (status, migration, backup, restore, vacuum), checks of it, and background
work. Commands and servers use this module instead of the store."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import namedtuple_row, tuple_row

from recollect import bootstrap
from recollect.errors import SchemaMismatch
from recollect.flows.maintain import run_upkeep
from recollect.learning.upkeep import UpkeepSummary
from recollect.ports import SystemClock
from recollect.settings import Settings
from recollect.store import migrate as migrations
from recollect.store.backup import Manifest as Manifest
from recollect.store.backup import Progress, ignore_progress, make_backup, restore_backup
from recollect.store.connection import APP_ROLE, add_session_options, build_pooled_start
from recollect.store.database import queries, translate_error
from recollect.store.distribute import SHARDS, Step, plan_distribution, run_plan
from recollect.store.embedded import attach
from recollect.store.embedded import read_status as read_embedded_status
from recollect.store.embedded_files import locate_site
from recollect.store.migrate import EXTENSIONS, OLDEST_SERVER, Difference, Owner, SchemaStatus
from recollect.values.scope import Scope, project_scope_id
from recollect.values.work import WorkStatus
from recollect.worker import DocumentWorker, Worker, run_until

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
    async with use_server(settings) as (owner_dsn, _), open_connection(owner_dsn) as owner:
        schema = await migrations.read_status(owner)
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
    home = bootstrap.get_home(settings)
    current = read_embedded_status(home)
    return Embedded(str(home), current.running, current.pid, current.users, is_new=current.version is None)


async def stop(settings: Settings) -> Embedded:
    """Stop an embedded server that was left running. Other processes that use it keep it until they end."""

    def release() -> Embedded:
        if embedded_status(settings).running:
            home = bootstrap.get_home(settings)
            attachment = attach(home)
            locate_site(home).keep_running.unlink(missing_ok=True)
            attachment.detach()
        return embedded_status(settings)

    return await asyncio.to_thread(release)


async def migrate(settings: Settings) -> Migrated:
    """Bring the schema up to date, and repair roles, grants and policies that are missing or differ."""
    async with use_server(settings) as (owner_dsn, _):
        async with open_connection(owner_dsn):
            pass  # raises one clear error if the server does not answer
        before, repaired = await migrations.migrate_and_repair(owner_dsn)
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
            await migrations.check_owner(owner)


async def purge(settings: Settings) -> Purged:
    """Vacuum all tables as their owner, so that erased rows are gone from the database files."""
    async with connect_owner(settings) as owner:
        await migrations.check_owner(owner)
        return Purged(*await migrations.vacuum_tables(owner))


async def distribute(
    settings: Settings, *, shards: int = SHARDS, dry_run: bool = False, progress: Progress = ignore_progress
) -> list[Step]:
    """Distribute the tables over a Citus cluster; return the steps, which a dry run only lists."""
    async with connect_owner(settings) as owner:
        steps = await plan_distribution(owner, shards)
        if not dry_run:
            await run_plan(owner, steps, progress)
        return steps


@dataclass(frozen=True, slots=True)
class UserStats:
    """Rows and bytes of a user, or, without a user, of the project. Bytes of texts, files and vectors, without indexes.
    `due` conversations have waited for the worker since `oldest`."""

    user: str | None
    conversations: int
    turns: int
    memories: int
    documents: int
    vectors: int
    bytes: int
    due: int
    oldest: datetime | None


async def read_stats(settings: Settings, project: str, most: int) -> list[UserStats]:
    """Return what the users of a project have, the largest first."""
    async with use_server(settings) as (owner_dsn, app_dsn):
        await bootstrap.prepare_schema(owner_dsn)
        async with connect_application(app_dsn, settings) as application, application.transaction():
            await fetch_rows(application, "server.become_operator")
            asked = {"project": project, "shared": project_scope_id(project), "most": most}
            return [UserStats(*row) for row in await fetch_rows(application, "report.stats", asked)]


@asynccontextmanager
async def use_server(settings: Settings) -> AsyncIterator[tuple[str, str]]:
    """Yield the DSNs of the owner and of the application; the embedded server is started if necessary."""
    async with AsyncExitStack() as stack:
        owner_dsn, app_dsn, _ = await bootstrap.find_server(stack, settings)
        yield owner_dsn, app_dsn


@asynccontextmanager
async def connect_owner(settings: Settings) -> AsyncIterator[Owner]:
    async with use_server(settings) as (owner_dsn, _), open_connection(owner_dsn) as owner:
        yield owner


@asynccontextmanager
async def connect_application(dsn: str, settings: Settings) -> AsyncIterator[Owner]:
    """Connect as the application does, with its role and row-level security."""
    async with open_connection(dsn if settings.pooled else add_session_options(dsn, settings)) as connection:
        if not settings.pooled:
            yield connection
            return
        async with connection.transaction():
            name, parameters = build_pooled_start(settings)
            # Its columns have one name, which named rows cannot have.
            await connection.cursor(row_factory=tuple_row).execute(queries()[name], parameters)
            yield connection


@asynccontextmanager
async def open_connection(dsn: str) -> AsyncIterator[Owner]:
    """Open a connection whose errors are RecollectErrors."""
    try:
        connection = await AsyncConnection.connect(dsn, autocommit=True, row_factory=namedtuple_row)
    except psycopg.OperationalError as error:
        raise bootstrap.describe_unreachable(error) from error
    async with connection:
        try:
            yield connection
        except psycopg.Error as error:
            raise translate_error(error) from error


async def fetch_rows(connection: Owner, name: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
    return await (await connection.execute(queries()[name], parameters)).fetchall()


MIGRATE = "run `recollect db migrate`"
MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Check:
    """`detail` is the state that was found, or what to do about it."""

    name: str
    ok: bool
    detail: str


async def check(settings: Settings, scope: Scope | None = None) -> list[Check]:
    """Return all checks; with a scope, also whether its indexes have rows without a turn."""
    async with use_server(settings) as (owner_dsn, app_dsn):
        async with open_connection(owner_dsn) as owner:
            facts = await migrations.read_facts(owner)
            schema = await migrations.read_status(owner)
            tables = await fetch_rows(owner, "server.tables")
            differences = await migrations.read_differences(owner) if schema.applied and not schema.pending else []
        checks = check_release(facts, schema)
        if schema.applied and not schema.pending:
            checks.append(check_access("roles", differences, "recollect_app, recollect_operator"))
            if checks[-1].ok:  # a missing role cannot be used
                checks.append(await check_role(app_dsn, settings, tables))
            checks.append(check_access("row-level security", differences, f"forced on all {len(tables)} tables"))
            checks.append(check_access("policies", differences, "as released, for the present owner"))
            checks.append(check_access("grants", differences, "as released"))
        if schema.applied and scope:
            checks.append(await check_strays(app_dsn, settings, scope))
    return checks


async def refuse_unsafe(settings: Settings) -> None:
    """Raise SchemaMismatch, with what is wrong and what to do, unless every check passes."""
    failed = [f"{each.name}: {each.detail}" for each in await check(settings) if not each.ok]
    if failed:
        raise SchemaMismatch(f"the database failed its checks, so it is not served ({'; '.join(failed)})")


def judge(name: str, found: str, *problems: tuple[object, str]) -> Check:
    """Return a check: it fails with the first problem that is there, and otherwise tells what was found."""
    problem = next((text for is_there, text in problems if is_there), None)
    return Check(name, problem is None, problem or found)


def check_release(facts: Any, schema: SchemaStatus) -> list[Check]:
    """Return whether the server, its extensions and the schema fit this release."""
    server = f"PostgreSQL {facts.version_text}"
    missing = [name for name in EXTENSIONS if name not in (facts.installed or ())]
    unavailable = [name for name in missing if name not in (facts.available or ())]
    newest = max(schema.unknown, default=0)
    changed = f"migration {', '.join(map(str, schema.changed))} was applied with different content"
    return [
        judge("server version", server, (facts.version < OLDEST_SERVER, f"{server} is too old: use 16 or later")),
        judge(
            "extensions",
            ", ".join(EXTENSIONS),
            (unavailable, f"the server does not have {' and '.join(unavailable)}: install it there"),
            (missing, f"{' and '.join(missing)} not yet in this database: {MIGRATE}"),
        ),
        judge(
            "schema",
            f"version {max(schema.applied, default=0)}",
            (schema.unknown, f"migration {newest} is from a newer release: `pip install --upgrade recollect`"),
            (schema.pending, f"{len(schema.pending)} migration(s) to apply: {MIGRATE}"),
        ),
        judge(
            "migrations unchanged",
            f"{len(schema.applied)} applied as released",
            (schema.changed, f"{changed}: reinstall recollect, or restore a backup"),
        ),
    ]


async def check_role(app_dsn: str, settings: Settings, tables: Sequence[Any]) -> Check:
    # Behind a pooler the login itself counts: a transaction takes our role only afterwards.
    login = open_connection(app_dsn) if settings.pooled else connect_application(app_dsn, settings)
    async with login as application:
        [role] = await fetch_rows(application, "server.role")
    owned = [table.name for table in tables if table.owner == role.name]
    advice = f"log in as a plain member of {APP_ROLE}"
    return judge(
        "application role",
        f"{role.name}: no superuser, bypasses nothing, owns nothing",
        (role.bypasses, f"{role.name} bypasses row-level security: {advice}"),
        (owned, f"{role.name} owns {', '.join(owned)}: {advice}"),
    )


def check_access(kind: str, differences: Sequence[Difference], detail: str) -> Check:
    """Compare roles, row-level security, policies or grants with access.sql; `detail` is shown if all are right."""
    found: dict[str, list[str]] = {MIGRATE: [], "move or drop it": []}
    for each in differences:
        if each.kind == kind:
            found[MIGRATE if each.remedy else "move or drop it"].append(each.problem)
    problems = []
    for advice, listed in found.items():  # after a restore there may be a hundred
        more = f" and {len(listed) - MAX_SHOWN} more" if len(listed) > MAX_SHOWN else ""
        problems += [f"{', '.join(listed[:MAX_SHOWN])}{more}: {advice}"] if listed else []
    return Check(kind, not problems, "; ".join(problems) or detail)


async def check_strays(app_dsn: str, settings: Settings, scope: Scope) -> Check:
    async with connect_application(app_dsn, settings) as application, application.transaction():
        await application.execute(queries()["server.open_scope"], {"scope": scope.id})
        [(strays,)] = await fetch_rows(application, "server.strays", {"scope": scope.id})
    problem = f"{strays} index rows of {scope.user} have no turn: please report it"
    return judge("strays", f"every index row of {scope.user} has its turn", (strays, problem))


MAX_TROUBLES = 20
Log = Callable[[str], None]


async def work_status(settings: Settings) -> WorkStatus:
    """Return how much work is due, failing and parked, with the latest failures."""
    async with AsyncExitStack() as stack:
        store = await bootstrap.open_store(stack, settings)  # it needs no embedder
        return await store.work.read_status(SystemClock().now(), MAX_TROUBLES)


async def retry(settings: Settings) -> int:
    """Let workers retry parked work, and return the number of conversations."""
    async with AsyncExitStack() as stack:
        return await (await bootstrap.open_store(stack, settings)).work.retry_parked()


async def work(settings: Settings, *, once: bool, concurrency: int | None, log: Log) -> int:
    """Work until nothing is due (`once`) or a signal stops the process, and return the number of conversations
    processed."""
    stop = None if once else watch_stop_signals()
    concurrency = concurrency or settings.workers
    async with AsyncExitStack() as stack:
        deps = await bootstrap.build_dependencies(stack, settings, None, SystemClock())
        if stop is None:
            count = await Worker(deps, at_once=concurrency).drain()
            await DocumentWorker(deps).drain()
            return count
        log(f"working on up to {concurrency} conversations at once; stop with Ctrl-C or SIGTERM")
        return await run_until(stop, deps, concurrency, log)


async def maintain(settings: Settings) -> UpkeepSummary:
    """Run maintenance now, whether or not it is due."""
    async with AsyncExitStack() as stack:
        return await run_upkeep(await bootstrap.build_dependencies(stack, settings, None, SystemClock()))


def watch_stop_signals() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets. The second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def handle() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle)
    return stop
