"""`recollect db`: status, migration, checks, backup and restore of the database; `recollect keys`: API keys. `keys`
needs no key itself: it has the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from recollect.cli.options import PROJECT, Command, echo, make_scope, print_with
from recollect.cli.output import make_progress, make_text
from recollect.cli.tables import format_day, make_fact_table, show_list
from recollect.values.identity import ApiKey, Grant, NewKey, Role

if TYPE_CHECKING:
    from recollect.admin import DatabaseStatus, Embedded, Manifest, Migrated

app = typer.Typer(help="Show, migrate, check, back up, restore and distribute the database.")
BACKED_UP = "Backed up {rows:,} rows, schema version {schema_version}, to {file}"
RESTORED = "Restored {rows:,} rows from {file} (made {made_at} with schema version {schema_version})."
VERIFY = "Verify with `recollect db check`."


def show_status(console: Console, status: DatabaseStatus) -> None:
    facts = {
        "embedded": status.embedded and describe_embedded(status.embedded),
        "home": status.embedded and status.embedded.home,
        "connection": status.connection,
        "server": status.server and f"PostgreSQL {status.server}",
        "extensions": ", ".join(f"{name} {version}" for name, version in status.extensions.items()),
        "schema": status.server and describe_schema(status),
    }
    console.print(make_fact_table({name: fact for name, fact in facts.items() if fact}))


def describe_schema(status: DatabaseStatus) -> str:
    version = "none" if status.schema_version is None else f"version {status.schema_version}"
    if status.newer:
        return f"{version}, from a newer release: `pip install --upgrade recollect`"
    if status.pending:
        return f"{version}; run `recollect db migrate` to apply {', '.join(status.pending)}"
    return f"{version}, up to date"


def describe_embedded(embedded: Embedded) -> str:
    if embedded.running:
        users = ", ".join(map(str, embedded.users)) or "nobody"
        return f"running, pid {embedded.pid}, used by {users}"
    return "never started" if embedded.is_new else "stopped; it starts on demand"


@app.command()
@print_with(show_status, options=())
async def status(command: Command) -> DatabaseStatus:
    """Show the server and the schema version. Does not start a stopped embedded server."""
    from recollect.admin import database_status

    return await database_status(command.settings)


def describe_migration(result: Migrated) -> str:
    lines = [f"applied {name}" for name in result.applied] + [f"repaired {name}" for name in result.mended]
    return "\n".join(lines) or "Nothing to do: the schema is up to date."


@app.command()
@print_with(echo(describe_migration), options=(), spinner="migrating")
async def migrate(command: Command) -> Migrated:
    """Apply migrations and repair lost roles, grants and policies. Opening the memory applies migrations too, if the
    login is allowed to."""
    from recollect import admin

    return await admin.migrate(command.settings)


show_checks = show_list(
    ("", lambda check: make_text("ok", "green") if check.ok else make_text("NOT OK", "bold red")),
    *(("check", "name"), (" ", "detail")),
)


@app.command()
@print_with(
    lambda console, result: show_checks(console, result["checks"]),
    options=PROJECT,
    spinner="checking",
    is_failed=lambda result: not result["ok"],
)
async def check(command: Command, user: str | None = None) -> dict[str, Any]:
    """Check version, extensions, schema, roles and row-level security. Exit code 1 if a check fails."""
    from recollect import admin

    checks = await admin.check(command.settings, make_scope(user, None, command.project) if user else None)
    return {"ok": all(each.ok for each in checks), "checks": checks}


@contextmanager
def track_progress() -> Iterator[Callable[[str, int, int], None]]:
    """Yield a progress callback that moves a bar."""
    with make_progress() as bars:
        bar = bars.add_task("")
        yield lambda table, done, total: bars.update(bar, description=table, completed=done, total=total)


def summarize_backup(file: Path, manifest: Manifest) -> dict[str, Any]:
    """Return a backup's version, time and row counts."""
    tables = {table.name: table.rows for table in manifest.tables}
    counts = {"rows": manifest.rows, "tables": tables}
    return {"file": str(file), "schema_version": manifest.schema_version, "made_at": manifest.made_at, **counts}


@app.command()
@print_with(echo(lambda done: BACKED_UP.format(**done)), options=())
async def backup(command: Command, file: Path, force: bool = False) -> dict[str, Any]:
    """Write a consistent copy of the database to one file while servers keep running. The file contains all messages
    and the passwords of data sources: protect it like the database."""
    from recollect import admin

    with track_progress() as progress:
        return summarize_backup(file, await admin.backup(command.settings, file, replace=force, progress=progress))


@app.command()
@print_with(echo(lambda done: f"{RESTORED.format(**done)} {VERIFY}"), options=())
async def restore(command: Command, file: Path, force: bool = False) -> dict[str, Any]:
    """Fill an empty database from a backup in one transaction and migrate it. Stop servers first."""
    from recollect import admin

    with track_progress() as progress:
        return summarize_backup(file, await admin.restore(command.settings, file, force=force, progress=progress))


def describe_distribution(result: dict[str, Any]) -> str:
    steps = result["steps"]
    if steps and not result["dry_run"]:
        return f"Done in {len(steps)} steps."
    return "\n".join(f"{step.sql};" for step in steps) or "Nothing to do: all tables are distributed."


@app.command()
@print_with(echo(describe_distribution), options=())
async def distribute(command: Command, shards: int = 128, dry_run: bool = False) -> dict[str, Any]:
    """Distribute all tables over a Citus cluster while servers keep running. Repeat it after an interruption and after
    a migration that adds tables; it continues where it stopped."""
    from recollect import admin

    with track_progress() as progress:
        steps = await admin.distribute(command.settings, shards=shards, dry_run=dry_run, progress=progress)
    return {"dry_run": dry_run, "steps": steps}


@app.command()
@print_with(echo(describe_embedded), options=(), spinner="stopping")
async def stop(command: Command) -> Embedded:
    """Stop an embedded server that RECOLLECT_KEEP_SERVER left running."""
    from recollect import admin

    return await admin.stop(command.settings)


# `recollect keys` ----------------------------------------------------------------------------------------------------

keys = typer.Typer(help="Create, list and revoke API keys. With the first key, sign-in becomes required over HTTP.")
ACTOR = "command line"


def show_new_key(_: Console, new: NewKey) -> None:
    typer.echo(new.secret)
    typer.echo("recollect: save the key now, it is not shown again", err=True)


def describe_state(key: ApiKey) -> str:
    return key.problem(datetime.now(UTC)) or (f"until {format_day(key.expires_at)}" if key.expires_at else "good")


@keys.command()
@print_with(show_new_key, options=())
def create(
    command: Command,
    role: Role,
    project: str | None = None,
    every_project: bool = False,
    user: str | None = None,
    name: str | None = None,
    expires_days: int | None = None,
) -> NewKey:
    """Create a key. It is printed once and cannot be shown again."""
    if project and every_project:
        raise typer.BadParameter("use either --project or --every-project")
    bound_to = None if every_project else project or command.settings.project
    expires_at = datetime.now(UTC) + timedelta(days=expires_days) if expires_days else None
    grant = Grant(role=role, name=name or user or role, project=bound_to, user=user, expires_at=expires_at)
    return command.engine.keys.create(grant, by=ACTOR)


@keys.command("list")
@print_with(
    show_list(
        *("id", ("key", "shown"), "name", "role", ("project", lambda key: key.project or "every"), "user"),
        *(
            ("created", lambda key: format_day(key.created_at)),
            ("last used", "last_used_at"),
            ("state", describe_state),
        ),
        empty="There are no keys; create one with `recollect keys create --role user --user NAME`.",
    ),
    key="keys",
    options=(),
)
def list_keys(command: Command, project: str | None = None, every: bool = False) -> list[ApiKey]:
    """List the keys, without their secrets."""
    now = datetime.now(UTC)
    return [key for key in command.engine.keys.find(project) if every or not key.problem(now)]


@keys.command()
@print_with(echo(lambda key: f"Revoked {key.shown} ({key.name})."), options=())
def revoke(command: Command, key: str) -> ApiKey:
    """Revoke a key. Other processes stop accepting it within half a minute."""
    return command.engine.keys.revoke(key, by=ACTOR)
