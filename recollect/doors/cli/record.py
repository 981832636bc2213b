"""`recollect record`: one message from the command line, or many from a file or a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from recollect.doors.cli.options import Json, Project, Session, User, iso_time, scope_of
from recollect.doors.cli.paper import memory, progress, say_json
from recollect.doors.cli.turn_lines import Sessions, read_sessions
from recollect.doors.shapes import recorded_shape
from recollect.errors import InvalidInput
from recollect.model.conversation import Recorded, Role, Turn
from recollect.model.scope import Scope

if TYPE_CHECKING:
    from recollect.sync import SyncEngine

AT_ONCE = 500  # turns per write, so that a bar moves

Text = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="What was said; - reads JSON lines from stdin.", show_default=False)
]
File = Annotated[
    str | None, typer.Option("--file", "-f", help="JSON lines with role, text, speaker, at, data, high_value, session.")
]
Speaker = Annotated[str | None, typer.Option(help="Who said it, by name.")]
Said = Annotated[str, typer.Option("--role", metavar="user|assistant|system|tool", help="Who said it, by role.")]
At = Annotated[datetime | None, typer.Option("--at", parser=iso_time, metavar="TIME", help="When; now if not said.")]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: the same again writes nothing.")]


def record(
    text: Text = None,
    file: File = None,
    role: Said = "user",
    speaker: Speaker = None,
    at: At = None,
    key: Key = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Keep what was said, for good. Prints a reference for each message."""
    scope = scope_of(user, session, project)
    source = "-" if text == "-" else file
    if (text is None) == (file is None):
        raise typer.BadParameter("say either a text or a --file")
    if source is None:
        sessions: Sessions = {session: [Turn(cast("Role", role), text or "", speaker, at)]}
    else:
        sessions = read_sessions(opened(source), session)
    with memory(worker=not source) as engine:
        parts = [*write(engine, scope, sessions, key)]
        if source:
            engine.settle(scope)
    if json:
        say_json(recorded_shape(parts))
    else:
        typer.echo("\n".join(ref for part in parts for ref in part.refs))


def opened(source: str) -> Iterator[str]:
    try:
        if source == "-":
            yield from sys.stdin
        else:
            with Path(source).open(encoding="utf-8-sig") as lines:
                yield from lines
    except OSError as error:
        raise InvalidInput("file", f"{source}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("file", f"{source} is not UTF-8: {error.reason} at byte {error.start}") from None


def write(engine: SyncEngine, scope: Scope, sessions: Sessions, key: str | None) -> Iterator[Recorded]:
    """Session by session, a few hundred turns at a time. A repeated import with a key goes on where it stopped."""
    if not sessions:
        raise InvalidInput("file", "has no turns")
    keys = (key and (key if number == 0 else f"{key}.{number}") for number in count())
    with progress() as bars:
        bar = bars.add_task("recording", total=sum(map(len, sessions.values())))
        for name, turns in sessions.items():
            place = replace(scope, session=name)
            for start in range(0, len(turns), AT_ONCE):
                done = engine.record(place, turns[start : start + AT_ONCE], idempotency_key=next(keys))
                place = replace(scope, session=done.conversation.session)
                bars.advance(bar, done.count)
                yield done
