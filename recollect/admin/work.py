"""What an operator asks of the work that follows the log: how it stands, to try again what was parked, to do it here
and now, and upkeep. Called by `recollect work`, `recollect worker` and `recollect maintain`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from recollect.flows import upkeep
from recollect.model.upkeep import Upkeep
from recollect.model.work import WorkStatus
from recollect.ports import SystemClock
from recollect.settings import Settings
from recollect.store.connection import open_database
from recollect.store.store import Store
from recollect.wire import assemble, find_server, ready
from recollect.worker.documents import DocumentWorker
from recollect.worker.program import work_until
from recollect.worker.worker import Worker

MOST_TROUBLES = 20
Say = Callable[[str], None]


async def work_status(settings: Settings) -> WorkStatus:
    """How much waits, fails and is parked, and the latest troubles."""
    async with opened(settings) as store:
        return await store.work.status(SystemClock().now(), MOST_TROUBLES)


async def retry(settings: Settings) -> int:
    """Has parked work tried again at the workers' next look; how many conversations that is."""
    async with opened(settings) as store:
        return await store.work.wake()


async def work(settings: Settings, *, once: bool, at_once: int | None, say: Say) -> int:
    """Works until nothing is left to do now, or until the process is told to leave; how many conversations were brought
    up to date."""
    leaving = None if once else leave_on_signal()
    at_once = at_once or settings.workers
    async with AsyncExitStack() as stack:
        parts = await assemble(stack, settings, None, SystemClock())
        if leaving is None:
            done = await Worker(parts, at_once=at_once).drain()
            await DocumentWorker(parts).drain()
            return done
        say(f"working on up to {at_once} conversations at once; stop with Ctrl-C or SIGTERM")
        return await work_until(leaving, parts, at_once, say)


async def maintain(settings: Settings, progress: Callable[[str, int], None]) -> Upkeep:
    """One round of upkeep, whether or not it is due."""
    async with AsyncExitStack() as stack:
        return await upkeep.maintain(await assemble(stack, settings, None, SystemClock()), progress)


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Store]:
    """The store alone: looking at the work needs no embedder."""
    async with AsyncExitStack() as stack:
        admin_dsn, app_dsn, server = await find_server(stack, settings)
        await ready(admin_dsn)
        store = Store(await open_database(app_dsn, settings, server))
        stack.push_async_callback(store.close)
        yield store


def leave_on_signal() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT. A second one is obeyed at once, as if nobody listened."""
    leaving = asyncio.Event()
    loop = asyncio.get_running_loop()

    def leave() -> None:
        leaving.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    return leaving
