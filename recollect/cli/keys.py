"""`recollect keys`: create, list and revoke API keys. The command itself needs no key: it has the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, cast

import typer
from rich.console import Console

from recollect.cli.options import Command, Project, echo, print_with
from recollect.cli.tables import format_day, format_time, make_table
from recollect.settings import read_settings
from recollect.values.api_key import ROLES, ApiKey, Grant, NewKey, Role

app = typer.Typer(help="Create, list and revoke API keys. With the first key, sign-in becomes required over HTTP.")

ACTOR = "command line"
RoleName = Annotated[str, typer.Option("--role", metavar="|".join(ROLES), help="Role of the key.", show_default=False)]
KeyUser = Annotated[
    str | None, typer.Option("--user", "-u", help="The user of a key with the role user.", show_default=False)
]
Name = Annotated[str | None, typer.Option("--name", help="Name of the key.", show_default="the user, or the role")]
Every = Annotated[bool, typer.Option("--every-project", help="Valid for all projects; roles service and admin.")]
Days = Annotated[
    int | None,
    typer.Option("--expires-days", min=1, max=36_500, help="Expires after this many days.", show_default="never"),
]
All = Annotated[bool, typer.Option("--all", help="Include revoked and expired keys.")]
Only = Annotated[str | None, typer.Option("--project", "-p", help="Only keys of this project.", show_default="all")]
Id = Annotated[str, typer.Argument(metavar="ID", help="As `recollect keys list` prints it.", show_default=False)]


def show_new_key(_: Console, new: NewKey) -> None:
    typer.echo(new.secret)
    typer.echo("recollect: save the key now, it is not shown again", err=True)


def show_keys(console: Console, keys: Sequence[ApiKey]) -> None:
    if not keys:
        typer.echo("There are no keys; create one with `recollect keys create --role user --user NAME`.")
        return
    now = datetime.now(UTC)
    table = make_table("id", "key", "name", "role", "project", "user", "created", "last used", "state")
    for key in keys:
        state = key.problem(now) or (f"until {format_day(key.expires_at)}" if key.expires_at else "good")
        names = (key.name, key.role, key.project or "every", key.user or "")
        table.add_row(str(key.id), key.shown, *names, format_day(key.created_at), format_time(key.last_used_at), state)
    console.print(table)


@app.command()
@print_with(show_new_key, convert=lambda new: {**asdict(new.key), "secret": new.secret}, options=())
def create(
    command: Command,
    role: RoleName,
    project: Project = None,
    every_project: Every = False,
    user: KeyUser = None,
    name: Name = None,
    expires_days: Days = None,
) -> NewKey:
    """Create a key. It is printed once and cannot be shown again."""
    if project and every_project:
        raise typer.BadParameter("use either --project or --every-project")
    grant = Grant(
        role=cast("Role", role),
        name=name or user or role,
        project=None if every_project else project or read_settings().project,
        user=user,
        expires_at=datetime.now(UTC) + timedelta(days=expires_days) if expires_days else None,
    )
    return command.engine.keys.create(grant, by=ACTOR)


@app.command("list")
@print_with(show_keys, key="keys", convert=asdict, options=())
def list_keys(command: Command, project: Only = None, every: All = False) -> list[ApiKey]:
    """List the keys, without their secrets."""
    now = datetime.now(UTC)
    return [key for key in command.engine.keys.find(project) if every or not key.problem(now)]


@app.command()
@print_with(echo(lambda key: f"Revoked {key.shown} ({key.name})."), convert=asdict, options=())
def revoke(command: Command, key: Id) -> ApiKey:
    """Revoke a key. Other processes stop accepting it within half a minute."""
    return command.engine.keys.revoke(key, by=ACTOR)
