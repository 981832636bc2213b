"""Options and checks shared by the commands: scope, times, --json, and confirmation before erasing."""

from __future__ import annotations

import getpass
import sys
from datetime import datetime
from typing import Annotated

import typer

from recollect.errors import InvalidInput
from recollect.settings import read_settings
from recollect.values.scope import Scope


def parse_time(text: str | datetime) -> datetime:
    """Return an ISO time; the library takes a time without a zone as UTC."""
    if isinstance(text, datetime):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an ISO time such as 2026-05-01T14:30") from None


User = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="RECOLLECT_USER", help="The user.", show_default="your login name"),
]
Session = Annotated[str | None, typer.Option("--session", "-s", help="The conversation.")]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="The project.", show_default="RECOLLECT_PROJECT, else default"),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object to stdout.")]

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to search for.", show_default=False)]
SearchScope = Annotated[
    str,
    typer.Option("--scope", metavar="auto|session|user", help="Where to search; auto starts with the session."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="turn|memory|episode", help="Only this kind; repeatable.", show_default="all"),
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=parse_time, metavar="TIME", help="Ignore everything after this time."),
]
Recency = Annotated[float, typer.Option(help="Weight of recent turns.")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="REF", help="A turn to leave out; repeatable.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def make_scope(user: str | None, session: str | None, project: str | None) -> Scope:
    """Return the scope of a command; the user defaults to the login name."""
    if not user:
        try:
            user = getpass.getuser()
        except (OSError, KeyError):
            problem = "this account has no login name; use --user or set RECOLLECT_USER"
            raise InvalidInput("user", problem) from None
    return Scope(user, session, project or read_settings().project)


def confirm(action: str) -> None:
    """Ask for confirmation on a terminal; elsewhere --yes is required."""
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"there is no terminal to confirm on; use --yes to {action.split()[0].lower()}")
    typer.confirm(f"{action} permanently?", abort=True, err=True)
