"""Program: a process that does nothing but work, until it is told to leave.

On leaving, the conversations at hand are finished and no further one is begun; what takes too long is dropped, and goes
on elsewhere when its lease runs out. Upkeep is part of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from recollect.errors import RecollectError
from recollect.flows.parts import Parts
from recollect.worker.documents import DocumentWorker
from recollect.worker.periodic import Periodic
from recollect.worker.worker import LONGEST_PAUSE, Worker

EVERY = 2.0  # seconds between two looks around
PATIENCE = 10.0  # seconds for what is at hand when leaving
Say = Callable[[str], None]


async def work_until(leaving: asyncio.Event, parts: Parts, at_once: int, say: Say) -> int:
    """How many conversations were brought up to date."""
    worker = Worker(parts, at_once=at_once)
    shift = Shift(worker, leaving, say)
    tasks = [asyncio.create_task(each.run()) for each in (shift, Periodic(parts), DocumentWorker(parts))]
    told = asyncio.create_task(leaving.wait())
    try:
        await asyncio.wait([told, *tasks], return_when=asyncio.FIRST_COMPLETED)
        leaving.set()
        worker.is_leaving = True
        say("leaving: finishing what is at hand")
        await asyncio.wait(tasks[:1], timeout=PATIENCE)
    finally:
        told.cancel()
        await dropped(tasks, say)
    return shift.done


class Shift:
    """Looks for work again and again; after a failure, less and less often."""

    def __init__(self, worker: Worker, leaving: asyncio.Event, say: Say) -> None:
        self._worker = worker
        self._leaving = leaving
        self._say = say
        self.done = 0

    async def run(self) -> None:
        pause = EVERY
        while not self._leaving.is_set():
            pause = EVERY if await self._drain() else min(pause * 2, LONGEST_PAUSE)
            try:
                async with asyncio.timeout(pause):
                    await self._leaving.wait()
            except TimeoutError:
                continue

    async def _drain(self) -> bool:
        """Whether there was an answer."""
        try:
            while some := await self._worker.once():
                self.done += some
                self._say(f"brought {some} conversations up to date")
        except RecollectError as error:
            self._say(str(error))
            return False
        return True


async def dropped(tasks: list[asyncio.Task[None]], say: Say) -> None:
    if not tasks[0].done():
        say(f"dropping what is not finished after {PATIENCE:g} seconds; it goes on when its lease runs out")
    # More than once if need be: a statement that fails while it is being cancelled swallows the cancellation.
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=0.5)
    # What went wrong in one of them, other than being cancelled, is told here and not lost.
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error
