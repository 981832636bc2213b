"""`recollect history`, `episodes`, `mark`, `export` and `forget`: the log itself, out of it, and gone from it. And what
was noted beside it: `audit` and `rejections`."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.doors.cli.options import Json, Project, Session, User, Yes, confirm, scope_of
from recollect.doors.cli.paper import memory, paper, progress, say_json, visible
from recollect.doors.cli.tables import show_audit, show_episodes, show_history, show_receipt, show_rejections
from recollect.doors.shapes import episode_shape, own, receipt_shape, turn_shape
from recollect.errors import InvalidInput
from recollect.model.lesson import Owner
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from typing import TextIO

    from recollect.sync import SyncEngine

Limit = Annotated[int, typer.Option("--limit", "-n", help="Most messages, the last ones.")]
Listed = Annotated[int, typer.Option("--limit", "-n", help="Most sessions, the last ones.")]
Offset = Annotated[int, typer.Option(help="Leave out this many of the last, to page backwards.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="What to call it.", show_default=False)]
Before = Annotated[int | None, typer.Option(help="Only messages before this index, to page backwards.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", dir_okay=False, help="Into this file, not to stdout.")]
Most = Annotated[int, typer.Option("--limit", "-n", help="Most episodes, from the oldest.")]
Ref = Annotated[str, typer.Argument(metavar="REF", help="A message, such as monday#3.", show_default=False)]
HighValue = Annotated[bool, typer.Option("--high-value/--no-high-value", help="Mark it, or take the mark away.")]
MemoryId = Annotated[
    str | None, typer.Option("--memory", metavar="ID", help="Erase only this memory and what it rests on.")
]
Whose = Annotated[str, typer.Option("--owner", metavar="user|project", help="Of what the user knows, or the project.")]
JsonLines = Annotated[
    bool, typer.Option("--json", help="With --output, one JSON object about it; the rest is JSON lines.")
]


def history(
    limit: Limit = 50,
    before: Before = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Show the last messages of a session, oldest first."""
    whose = scope_of(user, session, project)
    if session is None:
        raise InvalidInput("session", "say which with --session")
    with memory() as engine:
        turns = engine.history(whose, limit=limit, before=before)
    if json:
        say_json({"session": session, "turns": [turn_shape(turn) for turn in turns]})
    else:
        show_history(paper(), turns)


def conversations(
    limit: Listed = 50, offset: Offset = 0, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Show a user's sessions, the last one first."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        found = engine.conversations(whose, limit=limit, offset=offset)
    if json:
        say_json({"conversations": [own(each) for each in found]})
    else:
        for each in found:
            typer.echo(visible(f"{each.session}  {each.updated_at:%Y-%m-%d}  {each.turns} turns  {each.name}"))


def rename(name: Name, session: Session = None, user: User = None, project: Project = None, json: Json = False) -> None:
    """Give a session another name than its first question."""
    whose = scope_of(user, session, project)
    if session is None:
        raise InvalidInput("session", "say which with --session")
    with memory() as engine:
        renamed = engine.rename(whose, name)
    if json:
        say_json(own(renamed))
    else:
        typer.echo(visible(f"{renamed.session} is now called {renamed.name}"))


def episodes(
    limit: Most = 100, session: Session = None, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Show long sessions in short: their episodes, oldest first."""
    whose = scope_of(user, session, project)
    with memory() as engine:
        told = engine.episodes(whose, limit=limit)
    if json:
        say_json({"episodes": [episode_shape(episode) for episode in told]})
    else:
        show_episodes(paper(), told)


def mark(
    ref: Ref, high_value: HighValue = True, user: User = None, project: Project = None, json: Json = False
) -> None:
    """Mark a message as of high value: it ranks as such, and is always embedded."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        engine.mark(whose, ref, high_value=high_value)
    if json:
        say_json({"source": ref, "high_value": high_value})
    else:
        typer.echo(f"{ref} is of high value" if high_value else f"{ref} is like any other")


def export(output: Output = None, user: User = None, project: Project = None, json: JsonLines = False) -> None:
    """Write everything kept about a user, as JSON lines. `recollect record --file` reads them back."""
    whose = scope_of(user, None, project)
    with memory() as engine, opened(output) as file:
        lines = copy_lines(engine, whose, file)
    if output and json:
        say_json({"output": str(output), "lines": lines})
    elif output:
        typer.echo(f"{lines:,} lines in {output}")


def opened(output: Path | None) -> nullcontext[TextIO] | TextIO:
    if output is None:
        return nullcontext(sys.stdout)
    try:
        return output.open("w", encoding="utf-8")
    except OSError as error:
        raise InvalidInput("output", f"{output}: {error.strerror}") from None


def copy_lines(engine: SyncEngine, scope: Scope, file: TextIO) -> int:
    count = 0
    with progress() as bars:
        bar = bars.add_task("exporting", total=None)
        for count, line in enumerate(engine.export(scope), 1):  # noqa: B007 - the last count is the answer
            file.write(line + "\n")
            bars.advance(bar)
    return count


def forget(
    memory_id: MemoryId = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Erase a session, or one memory, or else the whole user, with everything derived from it."""
    if memory_id and session:
        raise typer.BadParameter("say either --session or --memory")
    whose = scope_of(user, session, project)
    if not yes:
        confirm(f"Forget {named(whose, memory_id)} user {whose.user!r} in project {whose.project!r}")
    with memory() as engine:
        receipt = engine.forget(whose, memory=memory_id)
    if json:
        say_json(receipt_shape(receipt))
    else:
        show_receipt(paper(), receipt)


def named(scope: Scope, memory_id: str | None) -> str:
    if memory_id:
        return f"memory {memory_id} of"
    return f"session {scope.session!r} of" if scope.session else "everything of"


def audit(owner: Whose = "user", user: User = None, project: Project = None, json: Json = False) -> None:
    """Show who changed or erased what, and when; never what it said."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        trail = engine.audit(whose, owner=cast("Owner", owner))
    if json:
        say_json({"audit": [asdict(deed) for deed in trail]})
    else:
        show_audit(paper(), trail)


def rejections(user: User = None, project: Project = None, json: Json = False) -> None:
    """Show what learning turned away, counted by reason."""
    whose = scope_of(user, None, project)
    with memory() as engine:
        counted = engine.rejections(whose)
    if json:
        say_json({"rejections": counted})
    else:
        show_rejections(paper(), counted)
