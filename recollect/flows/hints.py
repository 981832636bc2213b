"""Hints: which conversations were just written to and which documents added, so that a worker in this process sees to
them within moments instead of at its next look around. Losing one loses nothing: the work is in the log."""

from __future__ import annotations

import asyncio

from recollect.model.ids import ConversationId, ScopeId
from recollect.model.library import DocumentId

Place = tuple[ScopeId, ConversationId]
DocumentPlace = tuple[ScopeId, DocumentId]
MOST = 10_000


class Hints:
    def __init__(self) -> None:
        self._places: dict[Place, None] = {}
        self._documents: dict[DocumentPlace, None] = {}
        self._added = asyncio.Event()
        self._some = asyncio.Event()
        self.is_heard = False  # a worker of this process listens

    def add(self, scope: ScopeId, conversation: ConversationId) -> None:
        if self.is_heard and len(self._places) < MOST:
            self._places[scope, conversation] = None
            self._some.set()

    def add_document(self, scope: ScopeId, document: DocumentId) -> None:
        if self.is_heard and len(self._documents) < MOST:
            self._documents[scope, document] = None
            self._added.set()

    async def wait_for_documents(self, seconds: float) -> None:
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

    async def wait(self, seconds: float) -> None:
        """Until there is one, or the time is over."""
        try:
            async with asyncio.timeout(seconds):
                await self._some.wait()
        except TimeoutError:
            return

    def take(self) -> list[Place]:
        taken = list(self._places)
        self._places.clear()
        self._some.clear()
        return taken
