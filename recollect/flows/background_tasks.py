"""Background tasks of one process: small derived work that a request starts without waiting for it, and wake-ups that
tell a worker in the same process where to look first. Losing either loses nothing: the work is found again from the
log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from recollect.errors import RecollectError
from recollect.values.document import DocumentId
from recollect.values.scope import ConversationId, ScopeId

log = logging.getLogger("recollect.background")


class BackgroundTasks:
    """Runs at most one task per scope at a time."""

    def __init__(self) -> None:
        self._running: dict[ScopeId, asyncio.Task[None]] = {}

    def start(self, scope: ScopeId, work: Coroutine[Any, Any, None]) -> None:
        """Start the work, unless a task of this scope is running."""
        if scope in self._running:
            work.close()
            return
        task = asyncio.create_task(self._run(work))
        self._running[scope] = task
        task.add_done_callback(lambda _: self._running.pop(scope, None))

    async def finish(self) -> None:
        """Wait for all running tasks."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def close(self) -> None:
        """Cancel unfinished tasks; the next request that needs them starts them again."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except RecollectError as error:
            log.warning("a background task failed and is retried later: %s", error)


Place = tuple[ScopeId, ConversationId]
DocumentPlace = tuple[ScopeId, DocumentId]
MOST = 10_000


class WakeUps:
    """Conversations that were just written to and documents that were just added."""

    def __init__(self) -> None:
        self._places: dict[Place, None] = {}
        self._documents: dict[DocumentPlace, None] = {}
        self._added = asyncio.Event()
        self._some = asyncio.Event()
        self.has_listener = False  # a worker of this process listens

    def add_conversation(self, scope: ScopeId, conversation: ConversationId) -> None:
        if self.has_listener and len(self._places) < MOST:
            self._places[scope, conversation] = None
            self._some.set()

    def add_document(self, scope: ScopeId, document: DocumentId) -> None:
        if self.has_listener and len(self._documents) < MOST:
            self._documents[scope, document] = None
            self._added.set()

    async def wait_for_documents(self, seconds: float) -> None:
        """Wait until there is a document, or until the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._added.wait()
        except TimeoutError:
            return

    def take_documents(self) -> list[DocumentPlace]:
        taken = list(self._documents)
        self._documents.clear()
        self._added.clear()
        return taken

    @property
    def some(self) -> bool:
        return bool(self._places)

    async def wait_for_conversations(self, seconds: float) -> None:
        """Wait until there is a conversation, or until the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return

    def take_conversations(self) -> list[Place]:
        taken = list(self._places)
        self._places.clear()
        self._some.clear()
        return taken
