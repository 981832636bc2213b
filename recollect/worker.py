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
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Generic, TypeVar

from recollect.errors import RecollectError
from recollect.flows.dependencies import Dependencies, WakeUps
from recollect.flows.derive import derive
from recollect.flows.maintain import TASK, run_upkeep
from recollect.flows.read_document import read_document
from recollect.learning.upkeep import UpkeepSummary
from recollect.values.document import DocumentId
from recollect.values.scope import ConversationId, ScopeId

log = logging.getLogger("recollect.worker")

T = TypeVar("T", ConversationId, DocumentId)
Say = Callable[[str], None]
CONVERSATION_PAGE = 50  # conversations looked at in one go
DOCUMENT_PAGE = 20
LOOK_SECONDS = 5.0  # between two searches for work
GATHER_SECONDS = 0.2  # so that a question and its answer are processed together
LONGEST_PAUSE = 600.0
FINISH_SECONDS = 2.0  # for what was just said


class WorkFinder(ABC, Generic[T]):
    """Follows wake-ups at once, and searches for other work at intervals; after a failure, less and less often."""

    gather_seconds = 0.0  # to wait after a wake-up for more of them

    def __init__(self, deps: Dependencies, wake_ups: WakeUps[T], every: float, at_once: int) -> None:
        self._deps = deps
        self._wake_ups: WakeUps[T] = wake_ups
        self._every = every
        self._at_once = at_once
        self.is_leaving = False  # finish what is at hand, begin nothing

    @abstractmethod
    async def find(self) -> list[tuple[ScopeId, T]]:
        """Return some work of any scope."""

    @abstractmethod
    async def process(self, scope: ScopeId, item: T) -> bool:
        """Do the work; return whether it was done."""

    async def run(self) -> None:
        """Run until cancelled. The first search comes after a while: a short-lived process has no time for other
        processes' work."""
        pause, next_look = self._every, time.monotonic() + self._every
        self._wake_ups.has_listener = True
        while True:
            await self._wake_ups.wait(max(0.0, next_look - time.monotonic()))
            is_due = time.monotonic() >= next_look
            try:
                if self._wake_ups.has_some:
                    await asyncio.sleep(self.gather_seconds)
                    await self._attempt(self._wake_ups.take())
                if is_due:
                    await self.drain()
                    pause = self._every
            except Exception as error:
                pause, is_due = min(pause * 2, LONGEST_PAUSE), True
                is_known = isinstance(error, RecollectError)
                log.warning("retrying in %.0f s: %s", pause, error, exc_info=None if is_known else error)
            if is_due:
                next_look = time.monotonic() + pause

    async def drain(self) -> int:
        """Work until nothing is left that can be done now; return how much was processed."""
        done = 0
        while some := await self.once():
            done += some
        return done

    async def once(self) -> int:
        """Search for work once; return how much was processed."""
        return await self._attempt(await self.find())

    async def _attempt(self, work: Sequence[tuple[ScopeId, T]]) -> int:
        done = 0
        for start in range(0, len(work), self._at_once):
            if self.is_leaving:
                break
            some = work[start : start + self._at_once]
            done += sum(await asyncio.gather(*(self.process(scope, item) for scope, item in some)))
        return done


class Worker(WorkFinder[ConversationId]):
    """Processes conversations."""

    gather_seconds = GATHER_SECONDS

    def __init__(self, deps: Dependencies, every: float = LOOK_SECONDS, at_once: int = 4) -> None:
        super().__init__(deps, deps.new_conversations, every, at_once)

    async def find(self) -> list[tuple[ScopeId, ConversationId]]:
        model = await self._deps.embedding.get_model()
        work = await self._deps.store.work.find_work(model, CONVERSATION_PAGE)
        random.shuffle(work)  # so that several workers rarely claim the same conversation
        return work

    async def process(self, scope: ScopeId, item: ConversationId) -> bool:
        is_done = await derive(self._deps, scope, item)
        # Work that was parked while a service was down is retried once the service answers again.
        for stage in self._deps.outages.take_recovered():
            if woken := await self._deps.store.work.retry_parked(stage):
                log.info("%d parked conversations are tried again: %s works", woken, stage)
        return is_done

    async def finish(self) -> None:
        """Learn from recent conversations before the process exits, if that does not take long."""
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                await self._attempt(self._wake_ups.take())
        except (TimeoutError, RecollectError) as error:
            log.info("left to the next worker: %s", error)


class DocumentWorker(WorkFinder[DocumentId]):
    """Reads documents and adds missing vectors."""

    def __init__(self, deps: Dependencies, every: float = LOOK_SECONDS, at_once: int = 2) -> None:
        super().__init__(deps, deps.new_documents, every, at_once)

    async def find(self) -> list[tuple[ScopeId, DocumentId]]:
        return await self._deps.store.documents.find_work(await self._deps.embedding.get_model(), DOCUMENT_PAGE)

    async def process(self, scope: ScopeId, item: DocumentId) -> bool:
        return await read_document(self._deps, scope, item)


FIRST_UPKEEP_SECONDS = 300.0  # a short-lived process leaves upkeep to others
UPKEEP_SECONDS = 1800.0  # between two looks at whether it is due
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
            except Exception as error:
                is_known = isinstance(error, RecollectError)
                log.warning("upkeep failed and is retried later: %s", error, exc_info=None if is_known else error)

    async def once(self) -> UpkeepSummary | None:
        """Run upkeep if it is due and no other worker has begun it."""
        now = self._deps.clock.now()
        if not await self._deps.store.upkeep.claim_task(TASK, now, now + UPKEEP_LEASE):
            return None
        done = await run_upkeep(self._deps)
        log.info("upkeep: %s", done)
        return done


LOOP_SECONDS = 2.0  # between two searches of the worker process
LEAVING_SECONDS = 10.0  # for what is at hand when leaving


async def run_until(leaving: asyncio.Event, deps: Dependencies, at_once: int, say: Say) -> int:
    """Run all workers until told to leave; return how many conversations were processed. Running work is finished
    first; what takes too long is cancelled and continues elsewhere when its lease expires."""
    worker, done = Worker(deps, at_once=at_once), Counter[str]()
    learning = asyncio.create_task(work_until(leaving, worker, done, say))
    others = [asyncio.create_task(each.run()) for each in (UpkeepWorker(deps), DocumentWorker(deps))]
    leave = asyncio.create_task(leaving.wait())
    try:
        await asyncio.wait([leave, learning, *others], return_when=asyncio.FIRST_COMPLETED)
        leaving.set()
        worker.is_leaving = True
        say("stopping: finishing running work")
        await asyncio.wait([learning], timeout=LEAVING_SECONDS)
        if not learning.done():
            say(f"cancelling what is unfinished after {LEAVING_SECONDS:g} seconds; it continues when its lease expires")
    finally:
        leave.cancel()
        await cancel_tasks([learning, *others])
    for task in (learning, *others):
        if not task.cancelled():
            task.result()  # raises an error that ended it
    return done.total()


async def work_until(leaving: asyncio.Event, worker: Worker, done: Counter[str], say: Say) -> None:
    """Search for conversations until told to leave, and count those that were processed."""
    pause = LOOP_SECONDS
    while not leaving.is_set():
        try:
            while some := await worker.once():
                done["conversations"] += some
                say(f"processed {some} conversations")
            pause = LOOP_SECONDS
        except RecollectError as error:
            say(str(error))
            pause = min(pause * 2, LONGEST_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await leaving.wait()


async def cancel_tasks(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel the tasks and wait for their end."""
    # More than once if need be: a statement that fails while it is being cancelled swallows the cancellation.
    while unfinished := [task for task in tasks if not task.done()]:
        for task in unfinished:
            task.cancel()
        await asyncio.wait(unfinished, timeout=0.5)
