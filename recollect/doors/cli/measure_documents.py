"""`recollect eval documents`: how often the passage that answers a question is found."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import paper, progress, said, say_json

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

Asked = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE", help="JSON lines, one question each; the files lie beside it.", exists=True, dir_okay=False
    ),
]


def documents(files: Asked, json: Json = False) -> None:
    """Add the files that the questions name, ask, count what is found. Leaves nothing behind."""
    asyncio.run(ask_all(files, json))


async def ask_all(files: Sequence[Path], json: bool) -> None:
    from recollect import connect
    from recollect.evals.documents import evaluate

    async with connect(worker=False) as memory:
        for path in files:
            with progress() as bars:
                result = await evaluate(memory, path, partial(moved, bars, bars.add_task(path.name, total=None)))
            if json:
                say_json({"file": str(path), **result.to_dict()})
                continue
            for name, value in result.to_dict().items():
                shown = "; ".join(value) if isinstance(value, list) else f"{value:.4g}"
                paper().print(said(f"{name}: {shown}"))


def moved(bars: Progress, bar: TaskID, done: int, total: int) -> None:
    bars.update(bar, completed=done, total=total)
