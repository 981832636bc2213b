"""Output of the commands: results go to stdout, everything else (progress, notes, errors) to stderr.

Rich decides what a terminal can show; a pipe, or NO_COLOR, gets plain text.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    nullcontext,
)
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from recollect.errors import InvalidInput, RecollectError

if TYPE_CHECKING:
    from recollect.engine import Engine
    from recollect.settings import Settings
    from recollect.sync import SyncEngine

T = TypeVar("T")
PIPE_WIDTH = 160
CONTROL_CHARS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
END_COMMANDS = ("/exit", "/quit", "/bye")
FAILED, UNUSABLE, NOT_FOUND, UNAVAILABLE = 1, 2, 3, 4
EXIT_CODES = {
    "invalid_request": UNUSABLE,
    "invalid_setting": UNUSABLE,
    "not_found": NOT_FOUND,
    "unavailable": UNAVAILABLE,
}


def stdout_console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def stderr_console() -> Console:
    return Console(stderr=True, highlight=False)


def replace_control_chars(text: str) -> str:
    """Recorded text may contain escape sequences, which a terminal must not execute."""
    return CONTROL_CHARS.sub("\N{REPLACEMENT CHARACTER}", text)


def make_text(text: str, style: str = "") -> Text:
    """Return text that Rich shows literally, never as markup."""
    return Text(replace_control_chars(text), style=style)


def print_text(text: str) -> None:
    """Print a result."""
    stdout_console().print(make_text(text))


def print_note(text: str, style: str = "dim") -> None:
    """Print an indented line about a result to stderr."""
    stderr_console().print(make_text(f"  {text}", style))


def print_json(value: Mapping[str, Any]) -> None:
    """Print an object; a value that JSON has no form for as a string."""

    def encode(value: object) -> str:
        return value.isoformat() if isinstance(value, datetime) else str(value)

    can_show_all = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(value, default=encode, ensure_ascii=not can_show_all))


def read_line(prompt: str) -> str | None:
    """Return the next line that is not blank; None at the end of the input or on a command such as /exit."""
    while True:
        if sys.stdin.isatty():
            stderr_console().print(prompt, end="", style="bold")
        line = sys.stdin.readline()
        if not line or line.strip().lower() in END_COMMANDS:
            return None
        if line.strip():
            return line.strip()


async def converse(
    prompt: str, send: Callable[[str], Awaitable[None]], usage: str, **commands: Callable[[str], Any]
) -> None:
    """Send each line that is typed, and run each command: `/why` is `why`. `usage` is printed for an unknown command
    and for one that returns False. Errors are printed, and the conversation goes on."""
    while (line := await asyncio.to_thread(read_line, prompt)) is not None:
        name, _, rest = line.partition(" ")
        command = commands.get(name.lower().removeprefix("/")) if line.startswith("/") else send
        try:
            if command is None or await command(rest.strip() if line.startswith("/") else line) is False:
                print_note(usage)
        except typer.Abort:
            print_note("nothing was done")
        except typer.BadParameter as error:
            print_note(f"nothing was done: {error.message}", "yellow")
        except RecollectError as error:
            print_note(str(error), "red")


def read_text(file: Path) -> str:
    """Return the text of a file; `-` is stdin."""
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput("file", f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("file", f"{file} is not UTF-8: {error.reason} at byte {error.start}") from None


def make_progress() -> Progress:
    """Return progress bars for a terminal; a pipe gets none."""
    console = stderr_console()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def show_spinner(message: str) -> AbstractContextManager[object]:
    """Show a message while the block runs, on a terminal only."""
    console = stderr_console()
    return console.status(message) if console.is_terminal else nullcontext()


@contextmanager
def open_engine(settings: Settings | None = None, *, worker: bool = False) -> Iterator[SyncEngine]:
    """Open the engine. Without the worker a command ends sooner; with it, new messages are learned from first."""
    from recollect import connect_sync

    with ExitStack() as stack:
        with show_spinner("opening the memory"):
            engine = stack.enter_context(connect_sync(settings, worker=worker))
        yield engine


@asynccontextmanager
async def open_application(
    open_one: Callable[[Engine, Settings], AbstractAsyncContextManager[T]], *, worker: bool = True
) -> AsyncIterator[tuple[Engine, T]]:
    """Open the engine and an application on it, such as `open_analyst`."""
    from recollect.bootstrap import connect
    from recollect.settings import read_settings

    settings = read_settings()
    async with AsyncExitStack() as stack:
        with show_spinner("opening the memory"):
            engine = await stack.enter_async_context(connect(settings, worker=worker))
        yield engine, await stack.enter_async_context(open_one(engine, settings))
