"""The worker: looks for conversations that are behind their log, and brings them up to date.

The work is found from the log's own state and claimed with a lease by compare-and-set: any number of workers may run,
and a crash leaves nothing behind but a lease that runs out. One in the same process as `record` is told where to look.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Sequence

from recollect.errors import RecollectError
from recollect.flows.derive import derive
from recollect.flows.hints import Place
from recollect.flows.parts import Parts

log = logging.getLogger("recollect.worker")

PEEK = 50  # conversations looked at in one go
GATHER = 0.2  # seconds in which a question and its answer come together
LONGEST_PAUSE = 600.0
LEAVING = 2.0  # seconds for what was just said


class Worker:
    def __init__(self, parts: Parts, every: float = 5.0, at_once: int = 4) -> None:
        self._parts = parts
        self._every = every
        self._at_once = at_once
        self.is_leaving = False  # finish what is at hand, begin nothing

    async def run(self) -> None:
        """Until cancelled. The first look comes after a while: a short-lived process has no time for others' work."""
        pause, next_look = self._every, time.monotonic() + self._every
        self._parts.hints.is_heard = True
        while True:
            await self._parts.hints.wait(max(0.0, next_look - time.monotonic()))
            try:
                await self._hinted()
                if time.monotonic() >= next_look:
                    await self.drain()
                    pause = self._every
                    next_look = time.monotonic() + pause
            except RecollectError as error:
                pause = min(pause * 2, LONGEST_PAUSE)
                next_look = time.monotonic() + pause
                log.warning("working again in %.0f s: %s", pause, error)

    async def drain(self) -> int:
        """Until nothing is left that can be done now; how many conversations were brought up to date."""
        done = 0
        while some := await self.once():
            done += some
        return done

    async def once(self) -> int:
        """One look around; how many conversations were brought up to date."""
        model = await self._parts.embedding.current_model()
        work = await self._parts.store.work.find(model, PEEK)
        random.shuffle(work)  # so that several workers rarely reach for the same
        return await self._attempt(work)

    async def finish(self) -> None:
        """What was just said is learned from before the process leaves, if that does not take long."""
        try:
            async with asyncio.timeout(LEAVING):
                await self._attempt(self._parts.hints.take())
        except (TimeoutError, RecollectError) as error:
            log.info("left to the next worker: %s", error)

    async def _hinted(self) -> None:
        if self._parts.hints.some:
            await asyncio.sleep(GATHER)
            await self._attempt(self._parts.hints.take())

    async def _attempt(self, work: Sequence[Place]) -> int:
        done = 0
        for start in range(0, len(work), self._at_once):
            if self.is_leaving:
                break
            some = work[start : start + self._at_once]
            done += sum(await asyncio.gather(*(derive(self._parts, *place) for place in some)))
            await self._wake()
        return done

    async def _wake(self) -> None:
        """What answers again gets the work that was parked while it did not, once."""
        for stage in self._parts.outages.recovered():
            if woken := await self._parts.store.work.wake(stage):
                log.info("%d parked conversations are tried again: %s works", woken, stage)
