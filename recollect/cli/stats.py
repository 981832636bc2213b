"""`recollect stats`: rows, bytes, vectors and waiting work of each user of a project."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from recollect.cli.options import Json, Project
from recollect.cli.output import print_json, show_spinner, stdout_console
from recollect.cli.tables import format_time, make_table
from recollect.settings import read_settings

Most = Annotated[int, typer.Option("--limit", "-n", min=1, max=100_000, help="Number of users, the largest first.")]


def stats(project: Project = None, limit: Most = 20, json: Json = False) -> None:
    """Show what each user of a project stores, and since when their conversations wait for the worker. For operators:
    it names users, and contains no texts."""
    from recollect.admin import read_stats

    settings = read_settings()
    with show_spinner("counting"):
        found = asyncio.run(read_stats(settings, project or settings.project, limit))
    if json:
        print_json({"users": [asdict(each) for each in found]})
        return
    names = ("conversations", "turns", "memories", "documents", "vectors", "bytes", "due")
    table = make_table("user", *names, "waiting since")
    for each in found:
        counts = (f"{getattr(each, name):,}" for name in names)
        table.add_row(each.user or "(project)", *counts, format_time(each.oldest) if each.oldest else "")
    stdout_console().print(table)
