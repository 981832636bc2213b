"""Commands on the log. `record` takes one message, or many as JSON lines, also those that `export` writes: of these
only the turns are recorded, and the rest is learned from them again."""

from __future__ import annotations

import asyncio
import json as json_text
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.text import Text

from recollect import Audit, Conversation, Episode, InvalidInput, Recorded, Scope, Turn
from recollect.cli.options import SESSION_SCOPE, Command, confirm, echo, print_with
from recollect.cli.output import make_progress, make_text, open_engine, print_json, read_text
from recollect.cli.tables import show_history, show_list, show_receipt
from recollect.values.conversation import Role, check_turns
from recollect.values.lesson import Owner
from recollect.values.memory import check_current
from recollect.values.scope import MAX_NAME
from recollect.values.serialization import recorded_json, to_json
from recollect.values.text import check_text

if TYPE_CHECKING:
    from recollect.sync import SyncEngine

BATCH_SIZE = 500  # turns per write, so that the progress bar moves
FIELDS = ("role", "text", "speaker", "at", "data", "high_value", "session")
EXPORT_FIELDS = ("kind", "index")
DERIVED_KINDS = ("conversation", "episode", "memory", "evidence", "request", "rejection", "audit")
NO_TIME = datetime(1, 1, 1, tzinfo=UTC)

Sessions = dict[str | None, list[Turn]]


@print_with(
    lambda _, recorded: typer.echo("\n".join(ref for each in recorded for ref in each.refs)),
    convert=recorded_json,
    options=SESSION_SCOPE,
)
def record(
    command: Command,
    text: str | None = None,
    file: Path | None = None,
    role: Role = "user",
    speaker: str | None = None,
    at: datetime | None = None,
    key: str | None = None,
) -> list[Recorded]:
    """Record messages in the log. Prints a reference for each message."""
    if (text is None) == (file is None):
        raise typer.BadParameter("give either a text or --file")
    scope, source = command.scope, Path("-") if text == "-" else file
    if source is None:
        sessions: Sessions = {scope.session: [Turn(role, text or "", speaker, at)]}
    else:
        sessions = parse_sessions(read_text(source).split("\n"), scope.session)
    with open_engine(worker=not source) as engine:
        recorded = [*record_sessions(engine, scope, sessions, key)]
        if source:
            engine.settle(scope)
    return recorded


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
    try:
        values = json_text.loads(line)
    except ValueError as error:
        raise InvalidInput("JSON", str(error)) from None
    if not isinstance(values, dict):
        raise InvalidInput("JSON", f'{line.strip()[:40]!r} is not an object such as {{"role": "user", "text": "..."}}')
    if values.get("kind") in DERIVED_KINDS:
        return None
    check_fields(values)
    try:
        at = None if values.get("at") is None else datetime.fromisoformat(str(values["at"]))
    except ValueError:
        raise InvalidInput("at", f"{values['at']!r} is not an ISO time such as 2026-05-01T14:30:00Z") from None
    turn = Turn(**{name: values[name] for name in FIELDS if name in values} | {"at": at})
    check_turns([turn], NO_TIME)
    if turn.session is not None:
        check_text("session", turn.session, MAX_NAME)
    return turn


def check_fields(values: Mapping[str, Any]) -> None:
    if unknown := [name for name in values if name not in FIELDS + EXPORT_FIELDS]:
        raise InvalidInput(unknown[0], f"unknown; a line may have {', '.join(FIELDS)}")
    if missing := [name for name in ("role", "text") if name not in values]:
        raise InvalidInput(missing[0], "is missing")


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


@print_with(lambda console, shown: show_history(console, shown["turns"]), options=SESSION_SCOPE)
def history(command: Command, limit: int = 50, before: int | None = None) -> dict[str, Any]:
    """Show the latest messages of a session, oldest first."""
    session = command.require_session()
    return {"session": session, "turns": command.engine.history(command.scope, limit=limit, before=before)}


@print_with(
    show_list(
        *("session", ("last message", "updated_at"), ("messages", "turns"), "name"),
        empty="There are no sessions; `recollect chat` starts one.",
    ),
    key="conversations",
)
def conversations(command: Command, limit: int = 50, offset: int = 0) -> list[Conversation]:
    """List a user's sessions, latest first."""
    return command.engine.conversations(command.scope, limit=limit, offset=offset)


@print_with(echo(lambda renamed: f"{renamed.session} is now called {renamed.name}"), options=SESSION_SCOPE)
def rename(command: Command, name: str) -> Conversation:
    """Rename a session; its default name is the first question."""
    command.require_session()
    return command.engine.rename(command.scope, name)


@print_with(
    show_list(
        *(("source", "ref"), ("from (UTC)", "said_from"), ("to", "said_to"), ("summary", "text")),
        empty="No session is long enough for a summary yet.",
    ),
    key="episodes",
    options=SESSION_SCOPE,
)
def episodes(command: Command, limit: int = 100) -> list[Episode]:
    """Show the episodes, which are summaries of long sessions, oldest first."""
    return command.engine.episodes(command.scope, limit=limit)


@print_with(echo(lambda mark: f"{mark['source']} is {'marked as high value' if mark['high_value'] else 'not marked'}"))
def mark(command: Command, ref: str, high_value: bool = True) -> dict[str, Any]:
    """Mark a message as high value: it ranks higher and is always embedded."""
    command.engine.mark(command.scope, ref, high_value=high_value)
    return {"source": ref, "high_value": high_value}


@print_with(None)
def export(command: Command, output: Path | None = None) -> None:
    """Write all data of a user as JSON lines. `recollect record --file` reads them back."""
    try:
        opened = output.open("w", encoding="utf-8") if output else nullcontext(sys.stdout)
    except OSError as error:
        raise InvalidInput("output", f"{output}: {error.strerror}") from None
    engine = command.engine
    with opened as file, make_progress() as bars:
        bar, lines = bars.add_task("exporting", total=None), 0
        for line in engine.export(command.scope):
            file.write(line + "\n")
            lines += 1
            bars.advance(bar)
    if output and command.as_json:
        print_json({"output": str(output), "lines": lines})
    elif output:
        typer.echo(f"{lines:,} lines in {output}")


def show_forgotten(console: Console, forgotten: dict[str, Any]) -> None:
    show_receipt(console, forgotten["receipt"])
    if purged := forgotten["purged"]:
        rows = "no dead rows left"
        if purged.dead_rows:
            rows = f"{purged.dead_rows:,} dead rows left, because another transaction may still see them; repeat with"
            rows += " --purge when it has ended"
        typer.echo(f"Purged: {purged.tables} tables vacuumed, {rows}")


@print_with(
    show_forgotten,
    convert=lambda done: to_json(done["receipt"]) | ({"purged": to_json(done["purged"])} if done["purged"] else {}),
    options=SESSION_SCOPE,
)
def forget(command: Command, memory_id: str | None = None, purge: bool = False, yes: bool = False) -> dict[str, Any]:
    """Erase a session, one memory, or else the whole user, with everything derived from it."""
    from recollect import admin

    scope, settings = command.scope, command.settings
    if memory_id and scope.session:
        raise typer.BadParameter("use either --session or --memory")
    session = f"session {scope.session!r}" if scope.session else "everything"
    target = f"memory {memory_id}" if memory_id else session
    confirm(f"Forget {target} of user {scope.user!r} in project {scope.project!r}", yes)
    if purge:
        asyncio.run(admin.check_purge(settings))  # before anything is erased
    with open_engine() as engine:
        known = check_current(engine.memory(scope, memory_id)).id if memory_id else None
        receipt = engine.forget(scope, memory=known)
    return {"receipt": receipt, "purged": asyncio.run(admin.purge(settings)) if purge else None}


def format_details(entry: Audit) -> Text:
    """Return the details of an entry; of counts per table only those above zero."""
    details = []
    for name, value in entry.detail.items():
        if isinstance(value, Mapping):
            value = "; ".join(f"{table} {rows}" for table, rows in value.items() if rows)
        details.append(f"{name} {value}")
    return make_text(", ".join(details), "dim")


@print_with(
    show_list(
        *(("when (UTC)", "at"), ("who", "actor"), "action", "subject", ("detail", format_details)),
        empty="Nothing was changed.",
    ),
    key="audit",
)
def audit(command: Command, owner: Owner = "user") -> list[Audit]:
    """Show the audit log: who changed or erased what, and when; never the content."""
    return command.engine.audit(command.scope, owner=owner)


show_rejections = show_list(
    ("not remembered because", itemgetter(0)), ("times", itemgetter(1)), empty="Nothing was rejected."
)


@print_with(lambda console, counted: show_rejections(console, [*counted["rejections"].items()]))
def rejections(command: Command) -> dict[str, Any]:
    """Count what was not remembered, by reason."""
    return {"rejections": command.engine.rejections(command.scope)}
