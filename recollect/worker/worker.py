"""Workers: process conversations that are behind their log, read documents, and run upkeep.

Work is found from the log's own state and claimed with a lease by compare-and-set: any number of workers may run, and a
crash leaves only a lease that expires. Documents have their own worker, because a long document takes minutes. Upkeep's
schedule is in the database, so a restart does not forget it and ten workers do it once. `run_until` is the worker
process.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Sequence
from datetime import timedelta

from recollect.errors import RecollectError
from recollect.flows.background_tasks import DocumentPlace, Place
from recollect.flows.dependencies import Dependencies
from recollect.flows.derive import derive
from recollect.flows.maintain import TASK, run_upkeep
from recollect.flows.read_document import get_document_model, read_document
from recollect.learning.upkeep import UpkeepSummary

log = logging.getLogger("recollect.worker")

CONVERSATION_PAGE = 50  # conversations looked at in one go
GATHER_SECONDS = 0.2  # so that a question and its answer are processed together
LONGEST_PAUSE = 600.0
FINISH_SECONDS = 2.0  # seconds for what was just said


class Worker:
    """Processes conversations."""

    def __init__(self, deps: Dependencies, every: float = 5.0, at_once: int = 4) -> None:
        self._deps = deps
        self._every = every
        self._at_once = at_once
        self.is_leaving = False  # finish what is at hand, begin nothing

    async def run(self) -> None:
        """Run until cancelled. The first search comes after a while: a short-lived process has no time for other
        processes' work."""
        pause, next_look = self._every, time.monotonic() + self._every
        self._deps.wake_ups.has_listener = True
        while True:
            await self._deps.wake_ups.wait_for_conversations(max(0.0, next_look - time.monotonic()))
            try:
                await self._follow_wake_ups()
                if time.monotonic() >= next_look:
                    await self.drain()
                    pause = self._every
                    next_look = time.monotonic() + pause
            except RecollectError as error:
                pause = min(pause * 2, LONGEST_PAUSE)
                next_look = time.monotonic() + pause
                log.warning("retrying in %.0f s: %s", pause, error)

    async def drain(self) -> int:
        """Work until nothing is left that can be done now; return how many conversations were processed."""
        done = 0
        while some := await self.once():
            done += some
        return done

    async def once(self) -> int:
        """Search for work once; return how many conversations were processed."""
        model = await self._deps.embedding.get_model()
        work = await self._deps.store.work.find_work(model, CONVERSATION_PAGE)
        random.shuffle(work)  # so that several workers rarely claim the same conversation
        return await self._attempt(work)

    async def finish(self) -> None:
        """Learn from recent conversations before the process exits, if that does not take long."""
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                await self._attempt(self._deps.wake_ups.take_conversations())
        except (TimeoutError, RecollectError) as error:
            log.info("left to the next worker: %s", error)

    async def _follow_wake_ups(self) -> None:
        if self._deps.wake_ups.some:
            await asyncio.sleep(GATHER_SECONDS)
            await self._attempt(self._deps.wake_ups.take_conversations())

    async def _attempt(self, work: Sequence[Place]) -> int:
        done = 0
        for start in range(0, len(work), self._at_once):
            if self.is_leaving:
                break
            some = work[start : start + self._at_once]
            done += sum(await asyncio.gather(*(derive(self._deps, *place) for place in some)))
            await self._retry_parked()
        return done

    async def _retry_parked(self) -> None:
        """Retry work that was parked while a service was down, once it answers again."""
        for stage in self._deps.outages.take_recovered():
            if woken := await self._deps.store.work.retry_parked(stage):
                log.info("%d parked conversations are tried again: %s works", woken, stage)


DOCUMENT_PAGE = 20  # documents looked at in one go
DOCUMENT_SECONDS = 5.0  # seconds between two looks around


class DocumentWorker:
    """Reads documents and adds missing vectors."""

    def __init__(self, deps: Dependencies, every: float = DOCUMENT_SECONDS, at_once: int = 2) -> None:
        self._deps = deps
        self._every = every
        self._at_once = at_once
        self.is_leaving = False  # finish what is at hand, begin nothing

    async def run(self) -> None:
        """Run until cancelled."""
        pause, next_look = self._every, time.monotonic() + self._every
        while True:
            await self._deps.wake_ups.wait_for_documents(max(0.0, next_look - time.monotonic()))
            try:
                await self._attempt(self._deps.wake_ups.take_documents())
                if time.monotonic() >= next_look:
                    await self.drain()
                    pause = self._every
            except RecollectError as error:
                pause = min(pause * 2, LONGEST_PAUSE)
                log.warning("retrying documents in %.0f s: %s", pause, error)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + pause

    async def drain(self) -> int:
        """Work until nothing is left that can be done now; return how many documents were processed."""
        done = 0
        while some := await self.once():
            done += some
        return done

    async def once(self) -> int:
        """Search for work once; return how many documents were processed."""
        model = await get_document_model(self._deps)
        return await self._attempt(await self._deps.store.documents.find_work(model, DOCUMENT_PAGE))

    async def _attempt(self, work: Sequence[DocumentPlace]) -> int:
        done = 0
        for start in range(0, len(work), self._at_once):
            if self.is_leaving:
                break
            some = work[start : start + self._at_once]
            done += sum(await asyncio.gather(*(read_document(self._deps, *place) for place in some)))
        return done


FIRST_UPKEEP_SECONDS = 300.0  # seconds; a short-lived process leaves upkeep to others
UPKEEP_SECONDS = 1800.0  # seconds between two looks at whether it is due
UPKEEP_LEASE = timedelta(hours=1)  # after which another may begin


class UpkeepWorker:
    """Runs upkeep every so many hours, in whichever worker comes first."""

    def __init__(self, deps: Dependencies, first: float = FIRST_UPKEEP_SECONDS, every: float = UPKEEP_SECONDS) -> None:
        self._deps = deps
        self._first = first
        self._every = every

    async def run(self) -> None:
        """Run until cancelled."""
        pause = self._first
        while True:
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = self._every
            try:
                await self.once()
            except RecollectError as error:
                log.warning("upkeep failed and is retried later: %s", error)

    async def once(self) -> UpkeepSummary | None:
        """Run upkeep if it is due and no other worker has begun it."""
        now = self._deps.clock.now()
        if not await self._deps.store.upkeep.claim_task(TASK, now, now + UPKEEP_LEASE):
            return None
        done = await run_upkeep(self._deps)
        log.info("upkeep: %s", done)
        return done


LOOP_SECONDS = 2.0  # seconds between two looks around
LEAVING_SECONDS = 10.0  # seconds for what is at hand when leaving
Say = Callable[[str], None]


async def run_until(leaving: asyncio.Event, deps: Dependencies, at_once: int, say: Say) -> int:
    """Run all workers until told to leave; return how many conversations were processed. Running work is finished
    first; what takes too long is cancelled and continues elsewhere when its lease expires."""
    worker = Worker(deps, at_once=at_once)
    shift = WorkLoop(worker, leaving, say)
    tasks = [asyncio.create_task(each.run()) for each in (shift, UpkeepWorker(deps), DocumentWorker(deps))]
    told = asyncio.create_task(leaving.wait())
    try:
        await asyncio.wait([told, *tasks], return_when=asyncio.FIRST_COMPLETED)
        leaving.set()
        worker.is_leaving = True
        say("stopping: finishing running work")
        await asyncio.wait(tasks[:1], timeout=LEAVING_SECONDS)
    finally:
        told.cancel()
        await cancel_tasks(tasks, say)
    return shift.done


class WorkLoop:
    """Searches for work repeatedly; after a failure, less and less often."""

    def __init__(self, worker: Worker, leaving: asyncio.Event, say: Say) -> None:
        self._worker = worker
        self._leaving = leaving
        self._say = say
        self.done = 0

    async def run(self) -> None:
        pause = LOOP_SECONDS
        while not self._leaving.is_set():
            pause = LOOP_SECONDS if await self._drain() else min(pause * 2, LONGEST_PAUSE)
            try:
                async with asyncio.timeout(pause):
                    await self._leaving.wait()
            except TimeoutError:
                continue

    async def _drain(self) -> bool:
        """Return whether the store answered."""
        try:
            while some := await self._worker.once():
                self.done += some
                self._say(f"processed {some} conversations")
        except RecollectError as error:
            self._say(str(error))
            return False
        return True


async def cancel_tasks(tasks: list[asyncio.Task[None]], say: Say) -> None:
    if not tasks[0].done():
        say(f"cancelling what is unfinished after {LEAVING_SECONDS:g} seconds; it continues when its lease expires")
    # More than once if need be: a statement that fails while it is being cancelled swallows the cancellation.
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=0.5)
    # Raise errors other than the cancellation, so that they are not lost.
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error
