"""Chores: small derived work that a request starts and nobody waits for, at most one per scope at a time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from recollect.errors import RecollectError
from recollect.model.ids import ScopeId

log = logging.getLogger("recollect.chores")


class Chores:
    def __init__(self) -> None:
        self._running: dict[ScopeId, asyncio.Task[None]] = {}

    def start(self, scope: ScopeId, chore: Coroutine[Any, Any, None]) -> None:
        if scope in self._running:
            chore.close()
            return
        task = asyncio.create_task(self._run(chore))
        self._running[scope] = task
        task.add_done_callback(lambda _: self._running.pop(scope, None))

    async def finish(self) -> None:
        """Waits for what is running."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def close(self) -> None:
        """Unfinished chores are dropped: the next request that misses them starts them again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, chore: Coroutine[Any, Any, None]) -> None:
        try:
            await chore
        except RecollectError as error:
            log.warning("a chore was put off: %s", error)
