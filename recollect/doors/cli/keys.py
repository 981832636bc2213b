"""`recollect keys`: make, list and revoke API keys. Whoever may run this has the database, so nobody asks for a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, cast

import typer

from recollect.doors.cli.options import Json, Project
from recollect.doors.cli.paper import memory, paper, said, say_json
from recollect.doors.cli.tables import clock, day, table
from recollect.model.api_key import ROLES, ApiKey, Grant, Role
from recollect.settings import read_settings

app = typer.Typer(help="Make, list and revoke API keys. The first key closes the HTTP door to everybody without one.")

BY = "command line"
Roles = Annotated[str, typer.Option("--role", metavar="|".join(ROLES), help="What it may do.", show_default=False)]
Whose = Annotated[str | None, typer.Option("--user", "-u", help="For the role user: whose key.", show_default=False)]
Name = Annotated[
    str | None, typer.Option("--name", help="How people tell it from others.", show_default="the user, or the role")
]
Every = Annotated[bool, typer.Option("--every-project", help="Good for all projects; roles service and admin.")]
Days = Annotated[int | None, typer.Option("--expires-days", min=1, max=36_500, help="Days until it ends; else never.")]
All = Annotated[bool, typer.Option("--all", help="Also those that were revoked or have expired.")]
Only = Annotated[str | None, typer.Option("--project", "-p", help="Only keys of this project.", show_default="all")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As `recollect keys list` prints it.", show_default=False)]


@app.command()
def create(
    role: Roles,
    project: Project = None,
    every_project: Every = False,
    user: Whose = None,
    name: Name = None,
    expires_days: Days = None,
    json: Json = False,
) -> None:
    """Make a key. It is printed once; nobody can show it again."""
    if project and every_project:
        raise typer.BadParameter("say either --project or --every-project")
    grant = Grant(
        role=cast("Role", role),
        name=name or user or role,
        project=None if every_project else project or read_settings().project,
        user=user,
        expires_at=datetime.now(UTC) + timedelta(days=expires_days) if expires_days else None,
    )
    with memory() as engine:
        new = engine.create_key(grant, by=BY)
    if json:
        say_json({**shape(new.key), "secret": new.secret})
    else:
        typer.echo(new.secret)
        typer.echo("recollect: keep it now, it is not shown again", err=True)


@app.command("list")
def list_keys(project: Only = None, every: All = False, json: Json = False) -> None:
    """Show the keys, never their secrets."""
    now = datetime.now(UTC)
    with memory() as engine:
        keys = [key for key in engine.list_keys(project) if every or not key.problem(now)]
    if json:
        say_json({"keys": [shape(key) for key in keys]})
    else:
        show_keys(keys, now)


@app.command()
def revoke(key: Id, json: Json = False) -> None:
    """End a key. Here it is out at once, in other processes within half a minute."""
    with memory() as engine:
        revoked = engine.revoke_key(key, by=BY)
    if json:
        say_json(shape(revoked))
    else:
        typer.echo(f"Revoked {revoked.shown} ({revoked.name}).")


def shape(key: ApiKey) -> dict[str, Any]:
    return asdict(key)


def show_keys(keys: Sequence[ApiKey], now: datetime) -> None:
    if not keys:
        typer.echo("There are no keys; make one with `recollect keys create --role user --user NAME`.")
        return
    rows = table("id", "key", "name", "role", "project", "user", "made", "last used", "state")
    for key in keys:
        names = (said(key.name), key.role, said(key.project or "every"), said(key.user or ""))
        state = key.problem(now) or (f"until {day(key.expires_at)}" if key.expires_at else "good")
        rows.add_row(str(key.id), key.shown, *names, day(key.created_at), clock(key.last_used_at), state)
    paper().print(rows)
