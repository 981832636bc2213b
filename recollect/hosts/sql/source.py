"""Source: a customer's database, opened to be read: its catalog, values by name, and the rows of a checked statement.

The SQL host opens one per data source and closes it at the end. Work is done by a few threads with SQLAlchemy's
drivers; nothing here ever writes, and a task that is cancelled stops its statement on the server too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from recollect.errors import QueryFailed, SourceUnavailable
from recollect.hosts.sql.dsn import dialect_of, read_dsn
from recollect.hosts.sql.lookup import Found, find_values
from recollect.hosts.sql.opening import CONNECT_SECONDS, THREADS, open_engine
from recollect.hosts.sql.reading import Reading, read
from recollect.hosts.sql.running import Rows, run_statement
from recollect.hosts.sql.statement import CANCEL_SECONDS, Job, read_only, too_slow
from recollect.model.data_source import masked_dsn
from recollect.sql.catalog import Catalog

if TYPE_CHECKING:
    from sqlalchemy import Engine

T = TypeVar("T")
LOOKUP_SECONDS = 5.0
SCHEMA_SECONDS = 60.0
GRACE = 2.0  # seconds that a statement has to stop by itself


async def open_source(dsn: str, *, role: str | None = None, environment: Mapping[str, str] | None = None) -> Source:
    """Connects once, so that a wrong address or password is an error here."""
    url = read_dsn(dsn, environment)
    source = Source(open_engine(url), dialect=dialect_of(url), address=masked_dsn(dsn), role=role)
    try:
        await source.check()
    except BaseException:
        await source.close()
        raise
    return source


class Source:
    """`dialect` as sqlglot names it; `address` has no password; `role` is taken on for each statement (PostgreSQL)."""

    def __init__(self, engine: Engine, *, dialect: str, address: str, role: str | None = None) -> None:
        self.dialect = dialect
        self.address = address
        self._engine = engine
        self._role = role
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="recollect-source")

    async def check(self) -> None:
        """Whether it answers; otherwise an error that says why."""
        job = Job(CONNECT_SECONDS)

        def look() -> None:
            with read_only(self._engine, job, self._role) as connection:
                # In SQLite the file itself is first read when a table is.
                connection.exec_driver_sql("SELECT 1" + " FROM sqlite_master" * (self.dialect == "sqlite"))

        try:
            await self._do(job, look)
        except QueryFailed as error:
            raise SourceUnavailable(f"cannot open {self.address}: {error}") from None

    async def read_catalog(self, reading: Reading | None = None) -> Catalog:
        """Tables, columns, keys and some values; bounded in time."""
        asked = reading or Reading()
        job = Job(SCHEMA_SECONDS + asked.seconds)
        return await self._do(job, lambda: read(self._engine, job, self.dialect, self._role, asked))

    async def values_like(
        self, refs: Sequence[tuple[str, str]], phrases: Sequence[str], *, seconds: float = LOOKUP_SECONDS
    ) -> list[Found]:
        """Which of the phrases stand in these columns (table, column), however they are capitalised."""
        job = Job(seconds)
        return await self._do(job, lambda: find_values(self._engine, job, self._role, refs, phrases))

    # The time is kept by the server, which asyncio.timeout around this call would not tell.
    async def run(self, sql: str, *, rows: int = 100, timeout: float = 10.0) -> Rows:  # noqa: ASYNC109
        """The rows of a statement that the gate let through, at most this many."""
        job = Job(timeout)
        return await self._do(job, lambda: run_statement(self._engine, job, self._role, sql, rows))

    async def close(self) -> None:
        await asyncio.to_thread(self._engine.dispose)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _do(self, job: Job, work: Callable[[], T]) -> T:
        """In a thread; if the wait ends before the work does, so does the work."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        try:
            return await asyncio.wait_for(asyncio.shield(future), job.seconds + GRACE)
        except TimeoutError:
            raise QueryFailed(too_slow(job.seconds)) from None
        finally:
            if not future.done():
                await self._stopped(job, future)

    async def _stopped(self, job: Job, future: asyncio.Future[T]) -> None:
        future.cancel()
        await asyncio.to_thread(job.stop)
        done, _ = await asyncio.wait({future}, timeout=CANCEL_SECONDS)
        for each in done:
            if not each.cancelled():
                each.exception()


__all__ = ["Found", "Reading", "Rows", "Source", "open_source"]
