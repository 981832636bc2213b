"""`recollect keys`: create, list and revoke API keys. The command itself needs no key: it has the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, cast

import typer

from recollect.cli.options import Json, Project
from recollect.cli.output import open_engine, print_json, stdout_console
from recollect.cli.tables import format_day, format_time, make_table
from recollect.settings import read_settings
from recollect.values.api_key import ROLES, ApiKey, Grant, Role

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


@app.command()
def create(
    role: RoleName,
    project: Project = None,
    every_project: Every = False,
    user: KeyUser = None,
    name: Name = None,
    expires_days: Days = None,
    json: Json = False,
) -> None:
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
    with open_engine() as engine:
        new = engine.keys.create(grant, by=ACTOR)
    if json:
        print_json({**asdict(new.key), "secret": new.secret})
    else:
        typer.echo(new.secret)
        typer.echo("recollect: save the key now, it is not shown again", err=True)


@app.command("list")
def list_keys(project: Only = None, every: All = False, json: Json = False) -> None:
    """List the keys, without their secrets."""
    now = datetime.now(UTC)
    with open_engine() as engine:
        keys = [key for key in engine.keys.find(project) if every or not key.problem(now)]
    if json:
        print_json({"keys": [asdict(key) for key in keys]})
    else:
        show_keys(keys, now)


@app.command()
def revoke(key: Id, json: Json = False) -> None:
    """Revoke a key. Other processes stop accepting it within half a minute."""
    with open_engine() as engine:
        revoked = engine.keys.revoke(key, by=ACTOR)
    if json:
        print_json(asdict(revoked))
    else:
        typer.echo(f"Revoked {revoked.shown} ({revoked.name}).")


def show_keys(keys: Sequence[ApiKey], now: datetime) -> None:
    if not keys:
        typer.echo("There are no keys; create one with `recollect keys create --role user --user NAME`.")
        return
    table = make_table("id", "key", "name", "role", "project", "user", "created", "last used", "state")
    for key in keys:
        state = key.problem(now) or (f"until {format_day(key.expires_at)}" if key.expires_at else "good")
        names = (key.name, key.role, key.project or "every", key.user or "")
        table.add_row(str(key.id), key.shown, *names, format_day(key.created_at), format_time(key.last_used_at), state)
    stdout_console().print(table)
