"""`recollect serve`: every verb over HTTP, and the console."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from recollect.doors.cli.paper import margin, said
from recollect.settings import read_settings

Host = Annotated[str, typer.Option(help="Address to listen on; other than loopback takes keys or tokens.")]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)]
Workers = Annotated[int, typer.Option(help="Processes that answer.", min=1, max=256)]
Learns = Annotated[bool, typer.Option("--learn/--no-learn", help="Run the worker in the same processes.")]
Sample = Annotated[bool, typer.Option("--sample", help="Load a sample project to look at.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8008,
    workers: Workers = 1,
    learn: Learns = True,
    sample: Sample = False,
    verbose: Verbose = False,
) -> None:
    """Serve every verb over HTTP and the console at /, until Ctrl-C or SIGTERM."""
    from recollect.doors.http.serve import bound, prepare
    from recollect.doors.http.serve import serve as run

    settings = read_settings()
    with bound(host, port) as listening:
        margin().print("Opening the memory.", style="dim")
        is_closed = asyncio.run(prepare(settings, host, sample))
        greet(host, listening.getsockname()[1], is_closed, sample)
        run(settings, listening, workers=workers, worker=learn, log_level="info" if verbose else "warning")


def greet(host: str, port: int, is_closed: bool, sample: bool) -> None:
    beside = margin()
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    beside.print(said(f"Recollect listens on {address}  ({address}/docs describes it)", "bold"))
    if not is_closed:
        beside.print(
            "Nobody has to say who they are: only this machine can reach it. `recollect keys create` changes that.",
            style="dim",
        )
    if sample:
        beside.print("Sample project: sample, with users dana and lee, and the database shop. Try:", style="dim")
        ask = '{"question": "total sales by region for 2024", "user_id": "dana", "project": "sample"}'
        curl = f"  curl -s {address}/answerQuestion -H 'Content-Type: application/json' -d '{ask}'"
        beside.print(said(curl, "dim"), soft_wrap=True)  # to be copied
    beside.print(said(f"Open {address} in a browser: the console.", "bold"))
