"""Where output goes: `paper` (stdout) is for results, `margin` (stderr) for progress and whatever is said beside them.

Rich decides what a terminal can take; into a pipe, or with NO_COLOR, goes plain text.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.text import Text

    from recollect.settings import Settings
    from recollect.sync import SyncEngine

PIPE_WIDTH = 160
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def paper() -> Console:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def margin() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def visible(text: str) -> str:
    """What was recorded may hold escape sequences; a terminal must not obey them."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def said(text: str, style: str = "") -> Text:
    """Somebody's words: shown as they are, never read as markup."""
    from rich.text import Text

    return Text(visible(text), style=style)


def say_json(value: Mapping[str, Any]) -> None:
    can_show_all = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(value, default=written, ensure_ascii=not can_show_all))


def written(value: object) -> str:
    """What JSON has no form for."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def progress() -> Progress:
    """Bars on a terminal, nothing into a pipe."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = margin()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Says what is being waited for, while somebody watches."""
    console = margin()
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


@contextmanager
def memory(settings: Settings | None = None, *, worker: bool = False) -> Iterator[SyncEngine]:
    """An open engine. Without the worker a command is over sooner; with it, what it said is learned before it ends."""
    from recollect import connect_sync

    with ExitStack() as stack:
        with waiting("opening the memory"):
            engine = stack.enter_context(connect_sync(settings, worker=worker))
        yield engine
