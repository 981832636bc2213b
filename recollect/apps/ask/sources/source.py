"""A data source that is open for reading: its catalog, values by name, and the rows of a checked statement.

The source registry opens one per data source and closes it at the end. Work is done by a few threads with SQLAlchemy's
drivers; nothing here ever writes, and a task that is cancelled stops its statement on the server too.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakValueDictionary

from recollect.apps.ask.semantic.catalog import Catalog
from recollect.apps.ask.sources.address_rules import SourceRules, get_dialect, read_dsn
from recollect.apps.ask.sources.running import (
    CANCEL_SECONDS,
    CONNECT_SECONDS,
    THREADS,
    Job,
    NotConnected,
    Rows,
    explain_timeout,
    read_only,
    run_statement,
)
from recollect.errors import QueryFailed, RateLimited, SourceUnavailable
from recollect.values.data_source import ServerIdentity, mask_dsn

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from recollect.apps.ask.interpret import FoundValue
    from recollect.apps.ask.sources.catalog_reader import CatalogLimits
    from recollect.apps.ask.sources.opening import Resolve

log = logging.getLogger("recollect.ask")
T = TypeVar("T")
LOOKUP_SECONDS = 5.0
SCHEMA_SECONDS = 60.0
LONGEST_WAIT = 10.0  # seconds for a slot
RETRY_SECONDS = 5.0
GRACE = 2.0  # seconds that a statement has to stop by itself


async def open_source(
    dsn: str, *, rules: SourceRules, own: ServerIdentity | None = None, resolve: Resolve | None = None
) -> Source:
    """Return a source at an address that the rules allow. It connects once, so that a wrong address or password is an
    error here. `own` is the server that is not opened as a source: Recollect's."""
    from recollect.apps.ask.sources.opening import open_engine, resolve_host

    url = read_dsn(dsn)
    engine = open_engine(url, rules, own=own, resolve=resolve or resolve_host)
    source = Source(engine, dialect=get_dialect(url), address=mask_dsn(dsn), tells_why=rules.is_local)
    try:
        await source.check()
    except BaseException:
        await source.close()
        raise
    return source


class Source:
    """`dialect` as sqlglot names it; `address` has no password. Unless it `tells_why`, every failure to connect has the
    same message, which does not say which files and ports there are; the log has the reason."""

    def __init__(self, engine: Engine, *, dialect: str, address: str, tells_why: bool = False) -> None:
        self.dialect = dialect
        self.address = address
        self._engine = engine
        self._tells_why = tells_why
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="recollect-source")
        self._share = FairShare(THREADS)

    async def check(self) -> None:
        """Raise SourceUnavailable if the source does not answer."""

        def look(job: Job) -> None:
            with read_only(job) as connection:
                # In SQLite the file itself is first read when a table is.
                connection.exec_driver_sql("SELECT 1" + " FROM sqlite_master" * (self.dialect == "sqlite"))

        try:
            await self._do(None, CONNECT_SECONDS, look)
        except QueryFailed as error:
            raise self._explain(str(error)) from None

    def _explain(self, reason: str) -> SourceUnavailable:
        """Return the error for a source that cannot be reached, and log the reason."""
        log.warning("cannot connect to %s: %s", self.address, reason)
        if self._tells_why:
            return SourceUnavailable(f"cannot open {self.address}: {reason}")
        return SourceUnavailable(
            f"cannot connect to {self.address}; check the address and the account (the server's log has the reason)"
        )

    async def read_catalog(self, limits: CatalogLimits | None = None) -> Catalog:
        """Return tables, columns, keys and some values, in bounded time."""
        from recollect.apps.ask.sources.catalog_reader import CatalogLimits, read_catalog

        most = limits or CatalogLimits()
        seconds = SCHEMA_SECONDS + most.seconds
        return await self._do(None, seconds, lambda job: read_catalog(job, self.dialect, most))

    async def find_values(
        self,
        refs: Sequence[tuple[str, str]],
        phrases: Sequence[str],
        *,
        rules: Mapping[str, str] | None = None,
        seconds: float = LOOKUP_SECONDS,
        user: str | None = None,
    ) -> list[FoundValue]:
        """Return which of the phrases are values of these columns (table, column), ignoring case. For a table with a
        rule, only rows that meet it are searched."""
        from recollect.apps.ask.sources.catalog_reader import find_values

        return await self._do(user, seconds, lambda job: find_values(job, refs, phrases, rules or {}))

    # The time is kept by the server, which asyncio.timeout around this call would not tell.
    async def run(
        self,
        sql: str,
        *,
        rows: int = 100,
        timeout: float = 10.0,  # noqa: ASYNC109
        user: str | None = None,
    ) -> Rows:
        """Return the rows of a statement that the gate let through, at most this many. Statements of one `user` share
        the source fairly with those of others."""
        return await self._do(user, timeout, lambda job: run_statement(job, sql, rows))

    async def close(self) -> None:
        await asyncio.to_thread(self._engine.dispose)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _do(self, user: str | None, seconds: float, work: Callable[[Job], T]) -> T:
        """Return the result of work in a thread, begun as soon as the user's share allows. If the caller stops waiting,
        the work is stopped."""
        async with self._share.slot(user):
            job = Job(self._engine, seconds)
            future = asyncio.get_running_loop().run_in_executor(self._threads, work, job)
            try:
                return await asyncio.wait_for(asyncio.shield(future), job.seconds + GRACE)
            except TimeoutError:
                raise QueryFailed(explain_timeout(job.seconds)) from None
            except NotConnected as error:
                raise self._explain(str(error)) from None
            finally:
                if not future.done():
                    await self._stop(job, future)

    async def _stop(self, job: Job, future: asyncio.Future[T]) -> None:
        future.cancel()
        await asyncio.to_thread(job.stop)
        done, _ = await asyncio.wait({future}, timeout=CANCEL_SECONDS)
        for each in done:
            if not each.cancelled():
                each.exception()


class FairShare:
    """Who may run a statement: `slots` for all users together, at most half of them for one user, so that slow
    statements of one user leave room for others. First come, first served."""

    def __init__(self, slots: int, longest_wait: float = LONGEST_WAIT) -> None:
        self._most = max(1, slots // 2)
        self._longest_wait = longest_wait
        self._all = asyncio.Semaphore(slots)
        self._own = WeakValueDictionary[str | None, asyncio.Semaphore]()  # of users who hold a slot or wait for one

    @asynccontextmanager
    async def slot(self, user: str | None) -> AsyncIterator[None]:
        """Hold one slot, or raise RateLimited or SourceUnavailable if none becomes free in time."""
        own = awaited = self._own.setdefault(user, asyncio.Semaphore(self._most))
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self._longest_wait):
                    await held.enter_async_context(own)
                    awaited = self._all
                    await held.enter_async_context(self._all)
            except TimeoutError:
                raise self._refuse(is_own=awaited is own) from None
            yield

    def _refuse(self, *, is_own: bool) -> RateLimited | SourceUnavailable:
        if is_own:
            return RateLimited(
                f"{self._most} of your statements still run on this data source; wait until one has ended",
                RETRY_SECONDS,
            )
        return SourceUnavailable("all connections to the data source are busy; try again")
