"""`recollect worker`, `recollect work` and `recollect maintain`: background work and daily maintenance."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.cli.options import Json
from recollect.cli.output import (
    FAILED,
    print_json,
    replace_control_chars,
    show_spinner,
    stderr_console,
    stdout_console,
)
from recollect.cli.tables import format_counts, format_time, make_table
from recollect.settings import read_settings

if TYPE_CHECKING:
    from recollect.learning.upkeep import UpkeepSummary
    from recollect.values.work import WorkStatus

UPKEEP = {
    "conversations": "expired conversations",
    "decayed": "memories with reduced confidence",
    "decayed_away": "memories ended by decay",
    "outlived": "replaced values past retention",
    "pruned": "minor memories above the limit",
    "requests": "requests past retention",
    "keys": "expired idempotency keys",
    "put_off": "users and projects postponed after a failure",
}
app = typer.Typer(help="Show and retry background work: learning, embedding, summaries.")
Once = Annotated[bool, typer.Option("--once", help="Stop when nothing is left to do.")]
Concurrency = Annotated[
    int | None,
    typer.Option(
        "--concurrency", min=1, max=1000, help="Conversations processed at once.", show_default="RECOLLECT_WORKERS"
    ),
]


@app.command()
def status(json: Json = False) -> None:
    """Show how much work is due and what fails. Exit code 1 if some work is parked."""
    from recollect.admin import work_status

    with show_spinner("looking"):
        current = asyncio.run(work_status(read_settings()))
    if json:
        print_json({"ok": current.ok, **asdict(current)})
    else:
        show_work_status(current)
    if current.parked:
        raise typer.Exit(FAILED)


@app.command()
def retry(json: Json = False) -> None:
    """Retry parked work; a worker picks it up."""
    from recollect.admin import retry as retry_parked

    with show_spinner("retrying"):
        count = asyncio.run(retry_parked(read_settings()))
    if json:
        print_json({"woken": count})
    else:
        typer.echo(f"The next worker retries {count} parked conversations." if count else "Nothing is parked.")


def worker(once: Once = False, concurrency: Concurrency = None, json: Json = False) -> None:
    """Run a worker until it is stopped: learn from conversations, embed them, do maintenance."""
    from recollect.admin import work

    def log(line: str) -> None:
        typer.echo(f"recollect: {replace_control_chars(line)}", err=True)

    count = asyncio.run(work(read_settings(), once=once, concurrency=concurrency, log=log))
    if json:
        print_json({"conversations": count})
    else:
        typer.echo(f"{count} conversations processed.")


def maintain(json: Json = False) -> None:
    """Run the daily maintenance now: erase expired data, reduce the confidence of unused memories, prune."""
    from recollect.admin import maintain as run_upkeep

    with show_counter() as progress:
        upkeep = asyncio.run(run_upkeep(read_settings(), progress))
    if json:
        print_json(asdict(upkeep))
    else:
        show_upkeep(upkeep)


@contextmanager
def show_counter() -> Iterator[Callable[[str, int], None]]:
    """Yield a function that shows what was done so far, on a terminal only."""
    console = stderr_console()
    if not console.is_terminal:
        yield lambda name, count: None
        return
    with console.status("looking") as spinner:
        yield lambda name, count: spinner.update(f"{name}: {count:,}")


def show_work_status(status: WorkStatus) -> None:
    console = stdout_console()
    table = make_table("due", "in progress", "failing", "parked", "oldest waits")
    counts = (status.due, status.leased, status.failing, status.parked)
    table.add_row(*(f"{count:,}" for count in counts), f"{status.lag:,.0f} s")
    console.print(table)
    console.print(f"documents: {status.documents_waiting:,} to read, {status.documents_failed:,} failed")
    if status.troubles:
        table = make_table("conversation", "tries", "parked", "failed", "next try", "error")
        for trouble in status.troubles:
            names = (str(trouble.conversation), str(trouble.attempts), ", ".join(trouble.parked))
            table.add_row(*names, format_time(trouble.failed_at), format_time(trouble.next_try), trouble.error)
        console.print(table)


def show_upkeep(upkeep: UpkeepSummary) -> None:
    table = make_table("maintenance", "")
    for name, meaning in UPKEEP.items():
        table.add_row(meaning, f"{getattr(upkeep, name):,}")
    console = stdout_console()
    console.print(table)
    if upkeep.rows:
        console.print(f"rows of the expired conversations: {format_counts(upkeep.rows)}", style="dim")
