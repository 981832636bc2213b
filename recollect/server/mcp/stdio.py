"""MCP over stdio: a client starts `recollect mcp` and talks to it through pipes. Only the protocol is written to
stdout; everything else goes to stderr."""

from __future__ import annotations

import asyncio
import os

from mcp.server.stdio import stdio_server

from recollect.admin.work import watch_stop_signals
from recollect.bootstrap import connect, open_analyst, open_librarian
from recollect.server.mcp.peer import make_local_peer
from recollect.server.mcp.server import make_server
from recollect.settings import Settings
from recollect.values.scope import Scope


async def serve_stdio(settings: Settings, scope: Scope) -> None:
    """Serve one client until it closes its pipes or the process gets a signal. The engine is closed first in both
    cases: clients send SIGTERM early, and the embedded server must not be left running."""
    stop_signal = watch_stop_signals()
    async with (
        connect(settings) as engine,
        open_analyst(engine, settings) as analyst,
        open_librarian(engine, settings) as librarian,
    ):
        peer = make_local_peer(engine, analyst, librarian, settings, scope)
        server = make_server(lambda request: peer)

        async def run_server() -> None:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())

        serving = asyncio.create_task(run_server())
        stopping = asyncio.create_task(stop_signal.wait())
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if not serving.done():
        # A thread of the SDK is blocked reading the client's next line and cannot be interrupted.
        os._exit(0)
    stopping.cancel()
    serving.result()
