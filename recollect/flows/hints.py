"""Hints: which conversations were just written to, so that a worker in this process learns from them within moments
instead of at its next look around. Losing one loses nothing: the work is in the log."""

from __future__ import annotations

import asyncio

from recollect.model.ids import ConversationId, ScopeId

Place = tuple[ScopeId, ConversationId]
MOST = 10_000


class Hints:
    def __init__(self) -> None:
        self._places: dict[Place, None] = {}
        self._some = asyncio.Event()
        self.is_heard = False  # a worker of this process listens

    def add(self, scope: ScopeId, conversation: ConversationId) -> None:
        if self.is_heard and len(self._places) < MOST:
            self._places[scope, conversation] = None
            self._some.set()

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
