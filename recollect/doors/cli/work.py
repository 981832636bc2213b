"""`recollect worker`, `recollect work` and `recollect maintain`: the work that follows the log, and upkeep."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.doors.cli.failures import FAILED
from recollect.doors.cli.options import Json
from recollect.doors.cli.paper import margin, paper, said, say_json, visible, waiting
from recollect.doors.cli.tables import clock, table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from recollect.model.upkeep import Upkeep
    from recollect.model.work import WorkStatus

app = typer.Typer(help="Look at the work that follows the log: learning, embedding, summaries.")
Once = Annotated[bool, typer.Option("--once", help="Do what there is to do, then stop.")]
AtOnce = Annotated[
    int | None,
    typer.Option("--concurrency", min=1, max=1000, help="Conversations at once.", show_default="RECOLLECT_WORKERS"),
]


@app.command()
def status(json: Json = False) -> None:
    """How much waits, what fails and why. Exit code 1 if something is parked."""
    from recollect.admin.work import work_status

    with waiting("looking"):
        seen = asyncio.run(work_status(read_settings()))
    if json:
        say_json({"ok": seen.ok, **asdict(seen)})
    else:
        show_status(seen)
    if seen.parked:
        raise typer.Exit(FAILED)


@app.command()
def retry(json: Json = False) -> None:
    """Try parked work again, at the next look of a worker."""
    from recollect.admin.work import retry as wake

    with waiting("waking"):
        woken = asyncio.run(wake(read_settings()))
    if json:
        say_json({"woken": woken})
    else:
        typer.echo(
            f"{woken} parked conversations will be tried again by the next worker." if woken else "None is parked."
        )


def worker(once: Once = False, concurrency: AtOnce = None, json: Json = False) -> None:
    """Work until told to leave: learn from conversations, embed them, keep the store tidy."""
    from recollect.admin.work import work

    done = asyncio.run(work(read_settings(), once=once, at_once=concurrency, say=tell))
    if json:
        say_json({"conversations": done})
    else:
        typer.echo(f"{done} conversations were brought up to date.")


def maintain(json: Json = False) -> None:
    """Erase what has expired, let idle memories fade, prune: what a worker does once a day."""
    from recollect.admin.work import maintain as tidy

    with counting() as progress:
        done = asyncio.run(tidy(read_settings(), progress))
    if json:
        say_json(asdict(done))
    else:
        show_upkeep(done)


def tell(line: str) -> None:
    typer.echo(f"recollect: {visible(line)}", err=True)


@contextmanager
def counting() -> Iterator[Callable[[str, int], None]]:
    """What was done so far, while somebody watches."""
    console = margin()
    if not console.is_terminal:
        yield lambda what, count: None
        return
    with console.status("looking") as shown:
        yield lambda what, count: shown.update(f"{what}: {count:,}")


def show_status(seen: WorkStatus) -> None:
    rows = table("due", "in progress", "failing", "parked", "oldest waits")
    rows.add_row(*(f"{n:,}" for n in (seen.due, seen.leased, seen.failing, seen.parked)), f"{seen.lag:,.0f} s")
    console = paper()
    console.print(rows)
    console.print(f"documents: {seen.documents_waiting:,} to read, {seen.documents_failed:,} failed")
    if seen.troubles:
        troubles = table("conversation", "tries", "parked", "failed", "next try", "error")
        for trouble in seen.troubles:
            names = (str(trouble.conversation), str(trouble.attempts), ", ".join(trouble.parked))
            times = (clock(trouble.failed_at), clock(trouble.next_try))
            troubles.add_row(*names, *times, said(trouble.error))
        console.print(troubles)


def show_upkeep(done: Upkeep) -> None:
    rows = table("upkeep", "")
    names = {
        "conversations": "expired conversations",
        "decayed": "memories that faded",
        "decayed_away": "memories that faded away",
        "outlived": "old values past their time",
        "pruned": "minor memories beyond the most",
        "requests": "requests past their time",
        "keys": "idempotency keys past their time",
        "put_off": "users and projects put off after a failure",
    }
    for name, meaning in names.items():
        rows.add_row(meaning, f"{getattr(done, name):,}")
    console = paper()
    console.print(rows)
    if done.rows:
        counts = ", ".join(f"{noun} {count:,}" for noun, count in done.rows.items())
        console.print(f"rows of the expired conversations: {counts}", style="dim")
