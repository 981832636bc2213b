"""Commands on the log: `conversations`, `rename`, `history`, `episodes`, `mark`, `export` and `forget`; and `audit` and
`rejections`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from recollect.cli.options import (
    SESSION_SCOPE,
    Command,
    Json,
    Project,
    Session,
    User,
    Yes,
    confirm,
    echo,
    make_scope,
    print_with,
)
from recollect.cli.output import make_progress, open_engine, print_json, replace_control_chars, stdout_console
from recollect.cli.tables import show_audit, show_episodes, show_history, show_receipt, show_rejections
from recollect.errors import InvalidInput
from recollect.settings import read_settings
from recollect.values.audit import Audit
from recollect.values.conversation import Conversation, Episode
from recollect.values.lesson import Owner
from recollect.values.scope import Scope
from recollect.values.serialization import to_json

if TYPE_CHECKING:
    from typing import TextIO

    from recollect.admin import Purged
    from recollect.sync import SyncEngine

Limit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of messages, the latest.")]
SessionLimit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of sessions, the latest.")]
Offset = Annotated[int, typer.Option(help="Skip this many of the latest, to page backwards.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The new name.", show_default=False)]
Before = Annotated[int | None, typer.Option(help="Only messages before this index, to page backwards.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write to this file, not stdout.")]
EpisodeLimit = Annotated[int, typer.Option("--limit", "-n", help="Maximum number of episodes, from the oldest.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A message, such as monday#3.", show_default=False)]
HighValue = Annotated[bool, typer.Option("--high-value/--no-high-value", help="Set or remove the mark.")]
MemoryId = Annotated[
    str | None, typer.Option("--memory", metavar="ID", help="Erase only this memory and its evidence.")
]
Purge = Annotated[
    bool,
    typer.Option("--purge", help="Also vacuum the tables, so that erased rows leave the files; needs their owner."),
]
OwnerName = Annotated[str, typer.Option("--owner", metavar="user|project", help="Audit log of the user or project.")]
JsonLines = Annotated[bool, typer.Option("--json", help="With --output, print one JSON object about it.")]


@print_with(lambda console, shown: show_history(console, shown["turns"]), options=SESSION_SCOPE)
def history(command: Command, limit: Limit = 50, before: Before = None) -> dict[str, Any]:
    """Show the latest messages of a session, oldest first."""
    session = command.require_session()
    return {"session": session, "turns": command.engine.history(command.scope, limit=limit, before=before)}


def show_conversations(_: Console, conversations: Sequence[Conversation]) -> None:
    for each in conversations:
        line = f"{each.session}  {each.updated_at:%Y-%m-%d}  {each.turns} turns  {each.name}"
        typer.echo(replace_control_chars(line))


@print_with(show_conversations, key="conversations")
def conversations(command: Command, limit: SessionLimit = 50, offset: Offset = 0) -> list[Conversation]:
    """List a user's sessions, latest first."""
    return command.engine.conversations(command.scope, limit=limit, offset=offset)


@print_with(echo(lambda renamed: f"{renamed.session} is now called {renamed.name}"), options=SESSION_SCOPE)
def rename(command: Command, name: Name) -> Conversation:
    """Rename a session; its default name is the first question."""
    command.require_session()
    return command.engine.rename(command.scope, name)


@print_with(show_episodes, key="episodes", options=SESSION_SCOPE)
def episodes(command: Command, limit: EpisodeLimit = 100) -> list[Episode]:
    """Show the episodes, which are summaries of long sessions, oldest first."""
    return command.engine.episodes(command.scope, limit=limit)


@print_with(echo(lambda mark: f"{mark['source']} is {'marked as high value' if mark['high_value'] else 'not marked'}"))
def mark(command: Command, ref: Ref, high_value: HighValue = True) -> dict[str, Any]:
    """Mark a message as high value: it ranks higher and is always embedded."""
    command.engine.mark(command.scope, ref, high_value=high_value)
    return {"source": ref, "high_value": high_value}


def export(output: Output = None, user: User = None, project: Project = None, json: JsonLines = False) -> None:
    """Write all data of a user as JSON lines. `recollect record --file` reads them back."""
    scope = make_scope(user, None, project)
    with open_engine() as engine, open_output(output) as file:
        lines = write_export(engine, scope, file)
    if output and json:
        print_json({"output": str(output), "lines": lines})
    elif output:
        typer.echo(f"{lines:,} lines in {output}")


def open_output(output: Path | None) -> nullcontext[TextIO] | TextIO:
    if output is None:
        return nullcontext(sys.stdout)
    try:
        return output.open("w", encoding="utf-8")
    except OSError as error:
        raise InvalidInput("output", f"{output}: {error.strerror}") from None


def write_export(engine: SyncEngine, scope: Scope, file: TextIO) -> int:
    count = 0
    with make_progress() as bars:
        bar = bars.add_task("exporting", total=None)
        for count, line in enumerate(engine.export(scope), 1):  # noqa: B007 - the last count is returned
            file.write(line + "\n")
            bars.advance(bar)
    return count


def forget(
    memory_id: MemoryId = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    purge: Purge = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Erase a session, one memory, or else the whole user, with everything derived from it."""
    from recollect.admin import check_purge
    from recollect.admin import purge as vacuum

    if memory_id and session:
        raise typer.BadParameter("use either --session or --memory")
    scope = make_scope(user, session, project)
    if not yes:
        confirm(f"Forget {describe_target(memory_id, session)} of user {scope.user!r} in project {scope.project!r}")
    if purge:
        asyncio.run(check_purge(read_settings()))  # before anything is erased
    with open_engine() as engine:
        receipt = engine.forget(scope, memory=memory_id)
    purged = asyncio.run(vacuum(read_settings())) if purge else None
    if json:
        print_json(to_json(receipt) | ({"purged": asdict(purged)} if purged else {}))
        return
    show_receipt(stdout_console(), receipt)
    if purged:
        typer.echo(describe_purge(purged))


def describe_target(memory_id: str | None, session: str | None) -> str:
    if memory_id:
        return f"memory {memory_id}"
    return f"session {session!r}" if session else "everything"


def describe_purge(purged: Purged) -> str:
    result = f"Purged: {purged.tables} tables vacuumed"
    if not purged.dead_rows:
        return f"{result}, no dead rows left"
    rows = f"{purged.dead_rows:,} dead rows left, because another transaction may still see them"
    return f"{result}, {rows}; repeat with --purge when it has ended"


@print_with(show_audit, key="audit", convert=asdict)
def audit(command: Command, owner: OwnerName = "user") -> list[Audit]:
    """Show the audit log: who changed or erased what, and when; never the content."""
    return command.engine.audit(command.scope, owner=cast("Owner", owner))


@print_with(lambda console, counted: show_rejections(console, counted["rejections"]))
def rejections(command: Command) -> dict[str, Any]:
    """Count what was not remembered, by reason."""
    return {"rejections": command.engine.rejections(command.scope)}
