"""`recollect serve`: the HTTP API and the console; `recollect mcp`: memory for assistants through stdin and stdout."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from recollect.cli.options import Project, Session, User, make_scope
from recollect.cli.output import make_text, stderr_console
from recollect.extras import require_extra
from recollect.settings import read_settings

Host = Annotated[str, typer.Option(help="Address to listen on; addresses other than loopback require keys or tokens.")]
Port = Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)]
Workers = Annotated[int, typer.Option(help="Number of server processes.", min=1, max=256)]
Learns = Annotated[bool, typer.Option("--learn/--no-learn", help="Run a worker in the same processes.")]
Sample = Annotated[bool, typer.Option("--sample", help="Load a sample project and use it for requests that name none.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log every request.")]


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8008,
    workers: Workers = 1,
    learn: Learns = True,
    sample: Sample = False,
    verbose: Verbose = False,
) -> None:
    """Serve the HTTP API, and the console at /, until Ctrl-C or SIGTERM."""
    require_extra("server", "`recollect serve`")
    from recollect.server.sample import use_sample_project
    from recollect.server.serve import listen, prepare
    from recollect.server.serve import serve as run

    settings = use_sample_project(read_settings()) if sample else read_settings()
    with listen(host, port) as listening:
        stderr_console().print("Opening the memory.", style="dim")
        is_closed = asyncio.run(prepare(settings, host, sample))
        show_addresses(host, listening.getsockname()[1], is_closed, settings.project if sample else "")
        run(settings, listening, workers=workers, worker=learn, log_level="info" if verbose else "warning")


def show_addresses(host: str, port: int, is_closed: bool, default_project: str) -> None:
    """Print where the server listens; with the sample, also the project of requests that name none."""
    console = stderr_console()
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    console.print(make_text(f"Recollect listens on {address}  (API reference: {address}/docs)", "bold"))
    if not is_closed:
        console.print(
            "Sign-in is off; the server accepts local connections only. `recollect keys create` turns sign-in on.",
            style="dim",
        )
    if default_project:
        console.print("Sample project: sample, with users dana and lee, and the database shop.", style="dim")
        console.print(f"Requests that name no project use {default_project}. Try:", style="dim", markup=False)
        ask = '{"question": "total sales by region for 2024", "user_id": "dana", "project": "sample"}'
        curl = f"  curl -s {address}/answerQuestion -H 'Content-Type: application/json' -d '{ask}'"
        console.print(make_text(curl, "dim"), soft_wrap=True)  # to be copied
    console.print(make_text(f"Console: open {address} in a browser.", "bold"))


def mcp(user: User = None, project: Project = None, session: Session = None) -> None:
    """Serve memory to an assistant over the Model Context Protocol, through stdin and stdout. Clients start this
    command; the how-to shows their configuration. `recollect serve` offers the same over HTTP at /mcp."""
    from recollect.server.mcp import check_sdk

    check_sdk()
    from recollect.server.mcp.server import serve_stdio

    asyncio.run(serve_stdio(read_settings(), make_scope(user, session, project)))
