"""Background work for operators: status, retry of parked work, a worker in this process, and maintenance. Called by
`recollect work`, `recollect worker` and `recollect maintain`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from recollect.bootstrap import build_dependencies, find_server, prepare_schema
from recollect.flows.maintain import run_upkeep
from recollect.learning.upkeep import UpkeepSummary
from recollect.ports import SystemClock
from recollect.settings import Settings
from recollect.store.connection import open_database
from recollect.store.store import Store
from recollect.values.work import WorkStatus
from recollect.worker.worker import DocumentWorker, Worker, run_until

MAX_TROUBLES = 20
Log = Callable[[str], None]


async def work_status(settings: Settings) -> WorkStatus:
    """Return how much work is due, failing and parked, with the latest failures."""
    async with open_store(settings) as store:
        return await store.work.read_status(SystemClock().now(), MAX_TROUBLES)


async def retry(settings: Settings) -> int:
    """Let workers retry parked work, and return the number of conversations."""
    async with open_store(settings) as store:
        return await store.work.retry_parked()


async def work(settings: Settings, *, once: bool, concurrency: int | None, log: Log) -> int:
    """Work until nothing is due (`once`) or a signal stops the process, and return the number of conversations
    processed."""
    stop = None if once else watch_stop_signals()
    concurrency = concurrency or settings.workers
    async with AsyncExitStack() as stack:
        deps = await build_dependencies(stack, settings, None, SystemClock())
        if stop is None:
            count = await Worker(deps, at_once=concurrency).drain()
            await DocumentWorker(deps).drain()
            return count
        log(f"working on up to {concurrency} conversations at once; stop with Ctrl-C or SIGTERM")
        return await run_until(stop, deps, concurrency, log)


async def maintain(settings: Settings, progress: Callable[[str, int], None]) -> UpkeepSummary:
    """Run maintenance now, whether or not it is due."""
    async with AsyncExitStack() as stack:
        return await run_upkeep(await build_dependencies(stack, settings, None, SystemClock()), progress)


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncIterator[Store]:
    """Open only the store, since the status of work needs no embedder."""
    async with AsyncExitStack() as stack:
        admin_dsn, app_dsn, server = await find_server(stack, settings)
        await prepare_schema(admin_dsn)
        store = Store(await open_database(app_dsn, settings, server))
        stack.push_async_callback(store.close)
        yield store


def watch_stop_signals() -> asyncio.Event:
    """Return an event that the first SIGTERM or SIGINT sets. The second one ends the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def handle() -> None:
        stop.set()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle)
    return stop
