"""`recollect history`, `export` and `forget`: the log itself, out of it, and gone from it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.options import Json, Project, Session, User, scope_of
from recollect.doors.cli.paper import memory, paper, progress, say_json
from recollect.doors.cli.shapes import receipt_shape, turn_shape
from recollect.doors.cli.tables import show_history, show_receipt
from recollect.errors import InvalidInput
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from typing import TextIO

    from recollect.sync import SyncEngine

Limit = Annotated[int, typer.Option("--limit", "-n", help="Most messages, the last ones.")]
Before = Annotated[int | None, typer.Option(help="Only messages before this index, to page backwards.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", dir_okay=False, help="Into this file, not to stdout.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
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
    session: Session = None, user: User = None, project: Project = None, yes: Yes = False, json: Json = False
) -> None:
    """Erase a session, or a whole user without --session, with everything derived from it."""
    whose = scope_of(user, session, project)
    if not yes:
        confirm(whose)
    with memory() as engine:
        receipt = engine.forget(whose)
    if json:
        say_json(receipt_shape(receipt))
    else:
        show_receipt(paper(), receipt)


def confirm(scope: Scope) -> None:
    what = f"session {scope.session!r} of" if scope.session else "everything of"
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is there to be asked; say --yes to forget without asking")
    typer.confirm(f"Forget {what} user {scope.user!r} in project {scope.project!r} for good?", abort=True, err=True)
