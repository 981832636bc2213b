"""Catching up: conversations that lack vectors of the current model get them, whatever the reason they lack them (the
embedder was away, is too slow to wait for, or is a new one).

The work is found from the log's own state, claimed with a lease by compare-and-set, and written idempotently: any
number of workers may run, and a crash leaves nothing behind but a lease that runs out. No connection is held while the
embedder works.
"""

from __future__ import annotations

import asyncio
import logging
import random
from datetime import timedelta

from recollect.errors import EmbedderFailed, RecollectError
from recollect.flows.parts import Parts
from recollect.model.ids import ConversationId, ScopeId
from recollect.model.sketch import embedded_text

log = logging.getLogger("recollect.worker")

PEEK = 50  # conversations looked at in one go
PAGE = 256  # turns embedded in one go
LEASE = timedelta(minutes=5)
FIRST_PAUSE = timedelta(seconds=2)  # after a failure; doubled with each further one
LONGEST_PAUSE = timedelta(minutes=10)


class CatchUp:
    def __init__(self, parts: Parts, every: float = 5.0) -> None:
        self._parts = parts
        self._every = every
        self._model: int | None = None

    async def run(self) -> None:
        """Until cancelled. The first look comes after a while: a short-lived process has no time for others' work."""
        pause = self._every
        while True:
            await asyncio.sleep(pause)
            try:
                while await self.once():
                    pass
                pause = self._every
            except RecollectError as error:
                pause = min(pause * 2, LONGEST_PAUSE.total_seconds())
                log.warning("catching up again in %.0f s: %s", pause, error)

    async def once(self) -> int:
        """One look around; how many conversations were brought up to date."""
        model = await self._current_model()
        work = await self._parts.store.find_unembedded(model, PEEK)
        random.shuffle(work)  # so that several workers rarely reach for the same
        return sum([await self._attempt(scope, conversation, model) for scope, conversation in work])

    async def _current_model(self) -> int:
        if self._model is None:
            _, self._model = await self._parts.embedding.vectors(["hello"])
        return self._model

    async def _attempt(self, scope: ScopeId, conversation: ConversationId, model: int) -> bool:
        now = self._parts.clock.now()
        claimed = await self._parts.store.claim(scope, conversation, model, now, now + LEASE)
        if claimed is None:
            return False
        attempts, turn_count = claimed
        try:
            await self._embed(scope, conversation, model)
        except EmbedderFailed as error:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempts, 12))
            await self._parts.store.postpone(scope, conversation, self._parts.clock.now() + pause, str(error))
            return False
        await self._parts.store.release(scope, conversation, model, turn_count)
        return True

    async def _embed(self, scope: ScopeId, conversation: ConversationId, model: int) -> None:
        parts, policy = self._parts, self._parts.embedding.policy
        if policy == "none":
            return
        while turns := await parts.store.unembedded(scope, conversation, model, policy == "high_value", PAGE):
            vectors, _ = await parts.embedding.vectors([embedded_text(turn) for turn in turns])
            indexes = [turn.index for turn in turns if turn.index is not None]
            await parts.store.add_vectors(scope, conversation, model, indexes, vectors)
