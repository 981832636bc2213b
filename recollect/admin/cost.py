"""The benchmark needs what only an operator has: an engine, its embedder, and the owner's connection beside them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect.settings import Settings
from recollect.wire import chosen_embedder, connect, find_server

if TYPE_CHECKING:
    from recollect.evals.bench import Report


async def measure_cost(settings: Settings, *, quick: bool, progress: Callable[[str], None]) -> Report:
    """What each verb costs beside bare psycopg on the same server."""
    from recollect.evals.bench import run

    embedder = chosen_embedder(settings) or chosen_embedder(replace(settings, embedder="local"))
    assert embedder is not None
    async with AsyncExitStack() as stack:
        owner_dsn, _, _ = await find_server(stack, settings)
        memory = await stack.enter_async_context(connect(settings, embedder=embedder, worker=False))
        return await run(memory, embedder, owner_dsn, quick=quick, progress=progress)
