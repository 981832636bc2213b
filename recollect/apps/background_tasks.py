"""Background tasks: replies that are finished even if the caller does not wait for them. Hosts start them and close
them before the engine is closed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

log = logging.getLogger("recollect.tasks")
T = TypeVar("T")


class BackgroundTasks:
    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task and keep it until it ends. The caller awaits it, or calls `leave` if it stops waiting."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work. A caller that is cancelled leaves it running to its end."""
        task = self.start(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            leave(task)
            raise

    async def close(self) -> None:
        """Wait for all tasks, including those that they start."""
        while self._running:
            await asyncio.gather(*self._running, return_exceptions=True)


def leave(task: asyncio.Task[Any]) -> None:
    """Log the failure of a task for which nobody waits; asyncio would report it as never retrieved."""
    task.add_done_callback(_log_failure)


def _log_failure(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("a reply failed after its caller had left: %s: %s", type(error).__name__, error)
