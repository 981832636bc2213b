"""Periodic: upkeep every so many hours, by whichever worker comes first.

When it is due stands in the database, so a restart does not forget it and ten workers do it once. A worker that dies in
the middle leaves it to be due again within the hour; two at once would do no harm.
"""

from __future__ import annotations

import asyncio
import logging
import random
from datetime import timedelta

from recollect.errors import RecollectError
from recollect.flows.parts import Parts
from recollect.flows.upkeep import ERRAND, maintain
from recollect.model.upkeep import Upkeep

log = logging.getLogger("recollect.worker")

FIRST = 300.0  # seconds; a short-lived process leaves upkeep to others
EVERY = 1800.0  # seconds between two looks at whether it is due
LOST = timedelta(hours=1)  # after which another may begin


class Periodic:
    def __init__(self, parts: Parts, first: float = FIRST, every: float = EVERY) -> None:
        self._parts = parts
        self._first = first
        self._every = every

    async def run(self) -> None:
        """Until cancelled."""
        pause = self._first
        while True:
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = self._every
            try:
                await self.once()
            except RecollectError as error:
                log.warning("upkeep was put off: %s", error)

    async def once(self) -> Upkeep | None:
        """Upkeep, if it is due and nobody else has begun it."""
        now = self._parts.clock.now()
        if not await self._parts.store.upkeep.take(ERRAND, now, now + LOST):
            return None
        done = await maintain(self._parts)
        log.info("upkeep: %s", done)
        return done
