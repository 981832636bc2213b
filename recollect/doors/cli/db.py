"""`recollect db`: which database this is, whether it is up to date, and whether its walls stand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.failures import FAILED
from recollect.doors.cli.options import Json, Project, scope_of
from recollect.doors.cli.paper import paper, said, say_json, waiting
from recollect.doors.cli.tables import table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from recollect.admin import Check, DatabaseStatus, Embedded

app = typer.Typer(help="Look at the database, bring it up to date, check that it keeps its promises.")
CheckedUser = Annotated[str | None, typer.Option("--user", "-u", help="Also look for strays in this user's indexes.")]


@app.command()
def status(json: Json = False) -> None:
    """Which server, which schema. Does not start an embedded server that is stopped."""
    from recollect.admin import database_status

    seen = asyncio.run(database_status(read_settings()))
    if json:
        say_json(asdict(seen))
    else:
        show_status(seen)


@app.command()
def migrate(json: Json = False) -> None:
    """Bring the schema up to date. Opening the memory does so too, where the login may."""
    from recollect.admin import migrate as apply

    with waiting("migrating"):
        applied = asyncio.run(apply(read_settings()))
    if json:
        say_json({"applied": applied})
    else:
        typer.echo("\n".join(f"applied {name}" for name in applied) or "Nothing to do: the schema is up to date.")


@app.command()
def check(user: CheckedUser = None, project: Project = None, json: Json = False) -> None:
    """Check version, extensions, schema, role and row-level security. Exit code 1 if something is not as it must be."""
    from recollect.admin import check as look

    scope = scope_of(user, None, project) if user else None
    with waiting("checking"):
        checks = asyncio.run(look(read_settings(), scope))
    if json:
        say_json({"ok": all(item.ok for item in checks), "checks": [asdict(item) for item in checks]})
    else:
        show_checks(checks)
    if not all(item.ok for item in checks):
        raise typer.Exit(FAILED)


@app.command()
def stop(json: Json = False) -> None:
    """Stop an embedded server that RECOLLECT_KEEP_SERVER left running."""
    from recollect.admin import stop as let_go

    with waiting("stopping"):
        left = asyncio.run(let_go(read_settings()))
    if json:
        say_json(asdict(left))
    else:
        typer.echo(embedded_line(left))


def show_status(seen: DatabaseStatus) -> None:
    rows = table("", "")
    rows.show_header = False
    facts = {
        "embedded": seen.embedded and embedded_line(seen.embedded),
        "home": seen.embedded and seen.embedded.home,
        "connection": seen.connection,
        "server": seen.server and f"PostgreSQL {seen.server}",
        "extensions": ", ".join(f"{name} {version}" for name, version in seen.extensions.items()),
        "schema": schema_line(seen) if seen.server else None,
    }
    for name, fact in facts.items():
        if fact:
            rows.add_row(name, said(fact))
    paper().print(rows)


def embedded_line(embedded: Embedded) -> str:
    if embedded.running:
        users = ", ".join(map(str, embedded.users)) or "nobody"
        return f"running, pid {embedded.pid}, used by {users}"
    return "never started" if embedded.is_new else "stopped; it starts when it is needed"


def schema_line(seen: DatabaseStatus) -> str:
    version = "none" if seen.schema_version is None else f"version {seen.schema_version}"
    if seen.newer:
        return f"{version}, from a newer release: `pip install --upgrade recollect`"
    if seen.pending:
        return f"{version}; to apply: {', '.join(seen.pending)} (`recollect db migrate`)"
    return f"{version}, up to date"


def show_checks(checks: Sequence[Check]) -> None:
    rows = table("", "check", "")
    for item in checks:
        mark = said("ok", "green") if item.ok else said("NOT OK", "bold red")
        rows.add_row(mark, item.name, said(item.detail))
    paper().print(rows)
