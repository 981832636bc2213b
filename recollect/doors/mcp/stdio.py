"""Over stdio: a client starts `recollect mcp` and speaks with it through its pipes, until it closes them or ends the
process. What is printed on the way goes to stderr; stdout is the protocol's."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from recollect.admin.work import leave_on_signal
from recollect.doors.mcp.peer import Hosts, local_peer
from recollect.doors.mcp.server import make_server
from recollect.model.scope import Scope
from recollect.settings import Settings
from recollect.wire import analysing, connect, reading_documents


async def serve_stdio(settings: Settings, scope: Scope) -> None:
    """Told to leave by a signal, it closes the memory first: clients are quick with SIGTERM, and the embedded server
    must not be left running."""
    leaving = leave_on_signal()
    async with (
        connect(settings) as engine,
        analysing(engine, settings) as analyst,
        reading_documents(engine, settings) as librarian,
    ):
        peer = local_peer(engine, Hosts(analyst, librarian), settings, scope)
        talking = asyncio.create_task(talk(make_server(lambda request: peer)))
        told = asyncio.create_task(leaving.wait())
        await asyncio.wait({talking, told}, return_when=asyncio.FIRST_COMPLETED)
    if not talking.done():
        # A thread of the SDK waits for the client's next line and cannot be woken; nothing else is left to do.
        os._exit(0)
    told.cancel()
    talking.result()


async def talk(server: Server[Any]) -> None:
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
