"""`recollect db`: status, migration, checks, backup and restore of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from recollect.cli.options import Json, Project, make_scope
from recollect.cli.output import FAILED, make_progress, make_text, print_json, show_spinner, stdout_console
from recollect.cli.tables import make_fact_table, make_table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from rich.progress import Progress

    from recollect.admin import Check, DatabaseStatus, Embedded, Manifest

app = typer.Typer(help="Show, migrate, check, back up, restore and distribute the database.")
BackupFile = Annotated[Path, typer.Argument(help="The file to write, such as backup.zip.", dir_okay=False)]
RestoredFile = Annotated[Path, typer.Argument(help="A file written by `recollect db backup`.", dir_okay=False)]
Replace = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Overwrite = Annotated[bool, typer.Option("--force", help="Replace all data in the database.")]
CheckedUser = Annotated[str | None, typer.Option("--user", "-u", help="Also check the indexes of this user.")]
Shards = Annotated[int, typer.Option(min=1, max=4096, help="Shards per table; a node holds many.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the statements and change nothing.")]


@app.command()
def status(json: Json = False) -> None:
    """Show the server and the schema version. Does not start a stopped embedded server."""
    from recollect.admin import database_status

    current = asyncio.run(database_status(read_settings()))
    if json:
        print_json(asdict(current))
    else:
        show_database_status(current)


@app.command()
def migrate(json: Json = False) -> None:
    """Apply migrations and repair lost roles, grants and policies. Opening the memory applies migrations too, if the
    login is allowed to."""
    from recollect.admin import migrate as run_migrations

    with show_spinner("migrating"):
        result = asyncio.run(run_migrations(read_settings()))
    if json:
        print_json(asdict(result))
    else:
        lines = [f"applied {name}" for name in result.applied] + [f"repaired {name}" for name in result.mended]
        typer.echo("\n".join(lines) or "Nothing to do: the schema is up to date.")


@app.command()
def check(user: CheckedUser = None, project: Project = None, json: Json = False) -> None:
    """Check version, extensions, schema, roles and row-level security. Exit code 1 if a check fails."""
    from recollect.admin import check as run_checks

    scope = make_scope(user, None, project) if user else None
    with show_spinner("checking"):
        checks = asyncio.run(run_checks(read_settings(), scope))
    if json:
        print_json({"ok": all(item.ok for item in checks), "checks": [asdict(item) for item in checks]})
    else:
        show_checks(checks)
    if not all(item.ok for item in checks):
        raise typer.Exit(FAILED)


@app.command()
def backup(file: BackupFile, force: Replace = False, json: Json = False) -> None:
    """Write a consistent copy of the database to one file while servers keep running. The file contains all messages
    and the passwords of data sources: protect it like the database."""
    from recollect.admin import backup as write_backup

    with make_progress() as bars:
        saved = asyncio.run(write_backup(read_settings(), file, replace=force, progress=make_callback(bars)))
    if json:
        print_json({"file": str(file), **summarize(saved)})
    else:
        typer.echo(f"Backed up {saved.rows:,} rows, schema version {saved.schema_version}, to {file}")


@app.command()
def restore(file: RestoredFile, force: Overwrite = False, json: Json = False) -> None:
    """Fill an empty database from a backup in one transaction and migrate it. Stop servers first."""
    from recollect.admin import restore as load_backup

    with make_progress() as bars:
        loaded = asyncio.run(load_backup(read_settings(), file, force=force, progress=make_callback(bars)))
    if json:
        print_json({"file": str(file), **summarize(loaded)})
    else:
        origin = f"made {loaded.made_at} with schema version {loaded.schema_version}"
        typer.echo(f"Restored {loaded.rows:,} rows from {file} ({origin}). Verify with `recollect db check`.")


def summarize(manifest: Manifest) -> dict[str, Any]:
    """Return a backup's version, time and row counts as JSON."""
    tables = {table.name: table.rows for table in manifest.tables}
    counts = {"rows": manifest.rows, "tables": tables}
    return {"schema_version": manifest.schema_version, "made_at": manifest.made_at, **counts}


def make_callback(bars: Progress) -> Callable[[str, int, int], None]:
    """Return a progress callback that moves a bar."""
    bar = bars.add_task("")
    return lambda table, done, total: bars.update(bar, description=table, completed=done, total=total)


@app.command()
def distribute(shards: Shards = 128, dry_run: DryRun = False, json: Json = False) -> None:
    """Distribute all tables over a Citus cluster while servers keep running. Repeat it after an interruption and after
    a migration that adds tables; it continues where it stopped."""
    from recollect.admin import distribute as run_distribution

    with make_progress() as bars:
        settings, callback = read_settings(), make_callback(bars)
        steps = asyncio.run(run_distribution(settings, shards=shards, dry_run=dry_run, progress=callback))
    if json:
        print_json({"dry_run": dry_run, "steps": [asdict(step) for step in steps]})
    elif dry_run:
        typer.echo("\n".join(f"{step.sql};" for step in steps) or "Nothing to do: all tables are distributed.")
    else:
        typer.echo(f"Done in {len(steps)} steps." if steps else "Nothing to do: all tables are distributed.")


@app.command()
def stop(json: Json = False) -> None:
    """Stop an embedded server that RECOLLECT_KEEP_SERVER left running."""
    from recollect.admin import stop as stop_server

    with show_spinner("stopping"):
        embedded = asyncio.run(stop_server(read_settings()))
    if json:
        print_json(asdict(embedded))
    else:
        typer.echo(describe_embedded(embedded))


def show_database_status(status: DatabaseStatus) -> None:
    facts = {
        "embedded": status.embedded and describe_embedded(status.embedded),
        "home": status.embedded and status.embedded.home,
        "connection": status.connection,
        "server": status.server and f"PostgreSQL {status.server}",
        "extensions": ", ".join(f"{name} {version}" for name, version in status.extensions.items()),
        "schema": describe_schema(status) if status.server else None,
    }
    stdout_console().print(make_fact_table({name: fact for name, fact in facts.items() if fact}))


def describe_embedded(embedded: Embedded) -> str:
    if embedded.running:
        users = ", ".join(map(str, embedded.users)) or "nobody"
        return f"running, pid {embedded.pid}, used by {users}"
    return "never started" if embedded.is_new else "stopped; it starts on demand"


def describe_schema(status: DatabaseStatus) -> str:
    version = "none" if status.schema_version is None else f"version {status.schema_version}"
    if status.newer:
        return f"{version}, from a newer release: `pip install --upgrade recollect`"
    if status.pending:
        return f"{version}; run `recollect db migrate` to apply {', '.join(status.pending)}"
    return f"{version}, up to date"


def show_checks(checks: Sequence[Check]) -> None:
    table = make_table("", "check", "")
    for item in checks:
        mark = make_text("ok", "green") if item.ok else make_text("NOT OK", "bold red")
        table.add_row(mark, item.name, item.detail)
    stdout_console().print(table)
