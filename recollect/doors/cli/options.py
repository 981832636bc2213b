"""What the commands have in common: whose memory, which session, which times, --json, and asking before erasing."""

from __future__ import annotations

import getpass
import sys
from datetime import datetime
from typing import Annotated

import typer

from recollect.errors import InvalidInput
from recollect.model.scope import Scope
from recollect.settings import read_settings


def iso_time(text: str | datetime) -> datetime:
    """Without a zone it is UTC, as everywhere in Recollect."""
    if isinstance(text, datetime):
        return text
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not an ISO time such as 2026-05-01T14:30") from None


User = Annotated[
    str | None,
    typer.Option("--user", "-u", envvar="RECOLLECT_USER", help="Whose memory.", show_default="your login name"),
]
Session = Annotated[str | None, typer.Option("--session", "-s", help="Which conversation.")]
Project = Annotated[
    str | None,
    typer.Option("--project", "-p", help="Which application.", show_default="RECOLLECT_PROJECT, else default"),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]

Question = Annotated[str, typer.Argument(metavar="QUESTION", help="What to look for.", show_default=False)]
Where = Annotated[
    str, typer.Option("--scope", metavar="auto|session|user", help="How far to look: auto widens when it must.")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="turn|memory|episode", help="Only this; repeatable.", show_default="all of them"),
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", parser=iso_time, metavar="TIME", help="As if nothing had been said after it."),
]
Recency = Annotated[float, typer.Option(help="Weight of being recent.")]
Exclude = Annotated[list[str] | None, typer.Option(metavar="REF", help="A turn not to find; repeatable.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def scope_of(user: str | None, session: str | None, project: str | None) -> Scope:
    return Scope(user or login_name(), session, project or read_settings().project)


def login_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        raise InvalidInput("user", "this account has no name; say --user, or set RECOLLECT_USER") from None


def confirm(deed: str) -> None:
    """Asks on a terminal; where nobody can answer, --yes has to be said."""
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"nobody is there to be asked; say --yes to {deed.split()[0].lower()} without asking")
    typer.confirm(f"{deed} for good?", abort=True, err=True)
