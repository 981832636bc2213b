"""`recollect record`: one message from the command line, or many as JSON lines from a file or a pipe.

A line has {"role", "text"} and optionally "speaker", "at", "data", "high_value", "session". The output of `recollect
export` is accepted too: only its turns are recorded, and the rest is learned from them again. All lines are checked
before the first is recorded; an error names the line number.
"""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from recollect.cli.options import Json, Project, Session, User, make_scope, parse_time
from recollect.cli.output import make_progress, open_engine, print_json
from recollect.errors import InvalidInput
from recollect.values.conversation import Recorded, Role, Turn, check_turns
from recollect.values.scope import MAX_NAME, Scope
from recollect.values.serialization import recorded_json
from recollect.values.text import check_text

if TYPE_CHECKING:
    from recollect.sync import SyncEngine

BATCH_SIZE = 500  # turns per write, so that the progress bar moves
FIELDS = ("role", "text", "speaker", "at", "data", "high_value", "session")
EXPORT_FIELDS = ("kind", "index")
DERIVED_KINDS = ("conversation", "episode", "memory", "evidence", "request", "rejection", "audit")
NO_TIME = datetime(1, 1, 1, tzinfo=UTC)

Text = Annotated[
    str | None, typer.Argument(metavar="TEXT", help="The message; - reads JSON lines from stdin.", show_default=False)
]
File = Annotated[
    str | None, typer.Option("--file", "-f", help="JSON lines with role, text, speaker, at, data, high_value, session.")
]
Speaker = Annotated[str | None, typer.Option(help="Name of the speaker.")]
RoleName = Annotated[str, typer.Option("--role", metavar="user|assistant|system|tool", help="Role of the speaker.")]
At = Annotated[
    datetime | None,
    typer.Option("--at", parser=parse_time, metavar="TIME", help="When it was said.", show_default="now"),
]
Key = Annotated[str | None, typer.Option("--key", help="Idempotency key: repeating the command writes nothing.")]
Sessions = dict[str | None, list[Turn]]


def record(
    text: Text = None,
    file: File = None,
    role: RoleName = "user",
    speaker: Speaker = None,
    at: At = None,
    key: Key = None,
    session: Session = None,
    user: User = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Record messages in the log. Prints a reference for each message."""
    scope = make_scope(user, session, project)
    source = "-" if text == "-" else file
    if (text is None) == (file is None):
        raise typer.BadParameter("give either a text or --file")
    if source is None:
        sessions: Sessions = {session: [Turn(cast("Role", role), text or "", speaker, at)]}
    else:
        sessions = parse_sessions(read_lines(source), session)
    with open_engine(worker=not source) as engine:
        recorded = [*record_sessions(engine, scope, sessions, key)]
        if source:
            engine.settle(scope)
    if json:
        print_json(recorded_json(recorded))
    else:
        typer.echo("\n".join(ref for each in recorded for ref in each.refs))


def read_lines(source: str) -> Iterator[str]:
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


def parse_sessions(lines: Iterable[str], session: str | None) -> Sessions:
    """Return the turns of each session in order; turns without a session belong to `session`."""
    sessions: Sessions = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turn = parse_turn(line)
        except InvalidInput as error:
            raise InvalidInput(f"line {number}", str(error).removeprefix("turns[0].")) from None
        if turn is not None:
            sessions.setdefault(turn.session or session, []).append(turn)
    return sessions


def parse_turn(line: str) -> Turn | None:
    """Return a checked turn; None for a line that an export derived from turns."""
    values = parse_object(line)
    if values.get("kind") in DERIVED_KINDS:
        return None
    check_fields(values)
    turn = Turn(**{name: values[name] for name in FIELDS if name in values} | {"at": parse_at(values.get("at"))})
    check_turns([turn], NO_TIME)
    if not isinstance(turn.high_value, bool):
        raise InvalidInput("high_value", f"{turn.high_value!r} is neither true nor false")
    if turn.session is not None:
        check_text("session", turn.session, MAX_NAME)
    return turn


def check_fields(values: Mapping[str, Any]) -> None:
    if unknown := [name for name in values if name not in FIELDS + EXPORT_FIELDS]:
        raise InvalidInput(unknown[0], f"unknown; a line may have {', '.join(FIELDS)}")
    if missing := [name for name in ("role", "text") if name not in values]:
        raise InvalidInput(missing[0], "is missing")


def parse_object(line: str) -> dict[str, Any]:
    try:
        values = json_text.loads(line)
    except ValueError as error:
        raise InvalidInput("JSON", str(error)) from None
    if not isinstance(values, dict):
        raise InvalidInput("JSON", f'{line.strip()[:40]!r} is not an object such as {{"role": "user", "text": "..."}}')
    return values


def parse_at(value: object) -> datetime | None:
    try:
        return None if value is None else datetime.fromisoformat(str(value))
    except ValueError:
        raise InvalidInput("at", f"{value!r} is not an ISO time such as 2026-05-01T14:30:00Z") from None


def record_sessions(engine: SyncEngine, scope: Scope, sessions: Sessions, key: str | None) -> Iterator[Recorded]:
    """Record each session in batches. A repeated import with the same key continues where it stopped."""
    if not sessions:
        raise InvalidInput("file", "has no turns")
    keys = (key and (key if number == 0 else f"{key}.{number}") for number in count())
    with make_progress() as progress:
        bar = progress.add_task("recording", total=sum(map(len, sessions.values())))
        for name, turns in sessions.items():
            target = replace(scope, session=name)
            for start in range(0, len(turns), BATCH_SIZE):
                recorded = engine.record(target, turns[start : start + BATCH_SIZE], idempotency_key=next(keys))
                target = replace(scope, session=recorded.conversation.session)
                progress.advance(bar, recorded.count)
                yield recorded
