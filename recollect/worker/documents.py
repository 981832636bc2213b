"""The worker for documents: looks for files that are not read and chunks that lack vectors, and sees to them.

Beside the one for conversations, because a long document takes minutes and what was just said must not wait for it. The
work is found and claimed in the same way: any number may run, and a crash leaves nothing but a lease that runs out.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

from recollect.errors import RecollectError
from recollect.flows.hints import DocumentPlace
from recollect.flows.parts import Parts
from recollect.flows.read_document import document_model, read_document
from recollect.worker.worker import LONGEST_PAUSE

log = logging.getLogger("recollect.worker")

PEEK = 20  # documents looked at in one go
EVERY = 5.0  # seconds between two looks around


class DocumentWorker:
    def __init__(self, parts: Parts, every: float = EVERY, at_once: int = 2) -> None:
        self._parts = parts
        self._every = every
        self._at_once = at_once
        self.is_leaving = False  # finish what is at hand, begin nothing

    async def run(self) -> None:
        """Until cancelled."""
        pause, next_look = self._every, time.monotonic() + self._every
        while True:
            await self._parts.hints.wait_for_documents(max(0.0, next_look - time.monotonic()))
            try:
                await self._attempt(self._parts.hints.take_documents())
                if time.monotonic() >= next_look:
                    await self.drain()
                    pause = self._every
            except RecollectError as error:
                pause = min(pause * 2, LONGEST_PAUSE)
                log.warning("looking for documents again in %.0f s: %s", pause, error)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + pause

    async def drain(self) -> int:
        """Until nothing is left that can be done now; how many documents were seen to."""
        done = 0
        while some := await self.once():
            done += some
        return done

    async def once(self) -> int:
        """One look around; how many documents were seen to."""
        model = await document_model(self._parts)
        return await self._attempt(await self._parts.store.documents.work(model, PEEK))

    async def _attempt(self, work: Sequence[DocumentPlace]) -> int:
        done = 0
        for start in range(0, len(work), self._at_once):
            if self.is_leaving:
                break
            some = work[start : start + self._at_once]
            done += sum(await asyncio.gather(*(read_document(self._parts, *place) for place in some)))
        return done
