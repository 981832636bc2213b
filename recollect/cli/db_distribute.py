"""`recollect db distribute`: distribute the tables over a Citus cluster."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from recollect.cli.options import Json
from recollect.cli.output import make_progress, print_json
from recollect.settings import read_settings

Shards = Annotated[int, typer.Option(min=1, max=4096, help="Shards per table; a node holds many.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the statements and change nothing.")]


def distribute(shards: Shards = 128, dry_run: DryRun = False, json: Json = False) -> None:
    """Distribute all tables over a Citus cluster while servers keep running. Repeat it after an interruption and after
    a migration that adds tables; it continues where it stopped."""
    from recollect.admin import distribute as run_distribution
    from recollect.cli.db import make_callback

    with make_progress() as bars:
        settings, callback = read_settings(), make_callback(bars)
        steps = asyncio.run(run_distribution(settings, shards=shards, dry_run=dry_run, progress=callback))
    if json:
        print_json({"dry_run": dry_run, "steps": [asdict(step) for step in steps]})
    elif dry_run:
        typer.echo("\n".join(f"{step.sql};" for step in steps) or "Nothing to do: all tables are distributed.")
    else:
        typer.echo(f"Done in {len(steps)} steps." if steps else "Nothing to do: all tables are distributed.")
