"""Read-only transactions that can be stopped from outside (`Job`, `read_only`), and who may start one (`FairShare`).

When the time of a job is up or it is stopped, its statement ends on the server: SQLite is interrupted and polls
`is_over`, DuckDB is interrupted by a thread that keeps the time, PostgreSQL and MySQL are sent a cancel and keep their
own time limit in addition.

A source runs few statements at a time. One user holds at most half of the slots, and a slot that becomes free goes to
the waiting user who holds the fewest, first come first served among equals; so slow statements of one user leave room
for others.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from recollect.errors import QueryFailed, RateLimited, RecollectError, SourceUnavailable
from recollect.values.data_source import mask_dsn

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

STEPS = 20_000  # of SQLite's virtual machine between two calls of the progress handler
CONNECT_SECONDS = 10
CANCEL_SECONDS = 5.0
LONGEST_WAIT = 10.0  # seconds for a slot
RETRY_SECONDS = 5.0
MYSQL_TIMEOUTS = (1969, 3024)  # max_statement_time of MariaDB, max_execution_time of MySQL


class NotConnected(SourceUnavailable):
    """A source cannot be reached. The message is for the log; source.py decides what the caller sees."""


class Job:
    """One piece of work on a source; `stop` may be called from any thread, at any time."""

    def __init__(self, seconds: float, whole: Job | None = None) -> None:
        self.seconds = seconds
        self.ends = time.monotonic() + seconds
        self.stopped: Event = whole.stopped if whole else Event()
        self._whole = whole
        self._driver: Any = None
        self._lock = Lock()

    def part(self, seconds: float) -> Job:
        """Return a step of this work, with less time; stopping the whole stops it."""
        return Job(min(seconds, self.left), self)

    @property
    def left(self) -> float:
        return max(0.0, self.ends - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.stopped.is_set() or time.monotonic() >= self.ends

    def stop(self) -> None:
        with self._lock:
            self.stopped.set()
            if self._driver is not None:
                interrupt(self._driver)

    def hold(self, driver: Any) -> None:
        with self._lock:
            self._driver = driver
        if self._whole is not None:
            self._whole.hold(driver)

    def check(self) -> None:
        """Raise QueryFailed if the job is over."""
        if self.is_over:
            raise QueryFailed("the statement was stopped" if self.stopped.is_set() else explain_timeout(self.seconds))


def explain_timeout(seconds: float) -> str:
    return f"the statement took longer than {seconds:g} s and was stopped; ask for less, or raise the limit"


def interrupt(driver: Any) -> None:
    """Stop the statement that runs on a driver's connection; drivers that cannot do so are left alone."""
    if hasattr(driver, "cancel_safe"):
        driver.cancel_safe(timeout=CANCEL_SECONDS)
    elif hasattr(driver, "interrupt"):
        driver.interrupt()
    elif hasattr(driver, "cancel"):
        driver.cancel()


@contextmanager
def read_only(engine: Engine, job: Job, role: str | None = None) -> Iterator[Connection]:
    """Open a transaction that cannot write and is always rolled back. Database errors become errors of ours."""
    job.check()
    with translate_errors(job), connect(engine, job) as connection:
        driver = connection.connection.driver_connection
        job.hold(driver)
        done = Event()
        try:
            begin_read_only(connection, driver, job, role)
            if connection.dialect.name == "duckdb":
                Thread(target=interrupt_late, args=(driver, job, done), daemon=True).start()
            job.check()
            yield connection
        finally:
            done.set()
            job.hold(None)
            if isinstance(driver, sqlite3.Connection):
                driver.set_progress_handler(None, 0)
            connection.rollback()


def connect(engine: Engine, job: Job) -> Connection:
    """Return a connection, or raise NotConnected whatever the driver's error is."""
    from sqlalchemy.exc import DBAPIError

    try:
        return engine.connect()
    except DBAPIError as error:
        if job.stopped.is_set():
            raise
        raise NotConnected(format_error(error.orig or error)) from None
    except sqlite3.Error as error:
        raise NotConnected(format_error(error)) from None


def begin_read_only(connection: Connection, driver: Any, job: Job, role: str | None) -> None:
    if isinstance(driver, sqlite3.Connection):
        driver.set_progress_handler(lambda: job.is_over, STEPS)
    elif connection.dialect.name == "postgresql":
        milliseconds = max(1, round(job.left * 1000))
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
        for name in ("statement_timeout", "lock_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {name} = {milliseconds}")
        connection.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {milliseconds + 60_000}")
        if role:
            quoted = connection.dialect.identifier_preparer.quote_identifier(role)
            connection.exec_driver_sql(f"SET LOCAL ROLE {quoted}")
    elif connection.dialect.name == "mysql":
        driver.limit_time(max(0.001, job.left))
    elif connection.dialect.name == "duckdb":
        driver.begin()


def interrupt_late(driver: Any, job: Job, done: Event) -> None:
    """Interrupt what still runs when the time is up, repeatedly, because a statement may begin just after."""
    late = done.wait(job.left)
    while not late:
        driver.interrupt()
        late = done.wait(0.1)


@contextmanager
def translate_errors(job: Job) -> Iterator[None]:
    """Raise errors of the database as QueryFailed, NotConnected or SourceUnavailable."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    try:
        yield
    except RecollectError:
        raise
    except PoolTimeout:
        raise SourceUnavailable("all connections to the data source are busy; try again") from None
    except DBAPIError as error:
        raise make_error(job, error.orig or error, lost=error.connection_invalidated) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise make_error(job, error, lost=False) from None


def make_error(job: Job, error: BaseException, *, lost: bool) -> RecollectError:
    if job.stopped.is_set():
        return QueryFailed("the statement was stopped")
    code = error.args[0] if error.args else None
    if job.is_over or getattr(error, "sqlstate", None) == "57014" or code in MYSQL_TIMEOUTS:
        return QueryFailed(explain_timeout(job.seconds))
    return (NotConnected if lost else QueryFailed)(format_error(error))


def format_error(error: BaseException) -> str:
    """Return the database's own message in one line, without secrets."""
    return mask_dsn(" ".join(str(error).split()))[:1000] or type(error).__name__


class FairShare:
    """`slots` for all users together; each user holds at most half of them."""

    def __init__(self, slots: int, longest_wait: float = LONGEST_WAIT) -> None:
        self.most = max(1, slots // 2)
        self._free = slots
        self._longest_wait = longest_wait
        self._held: Counter[str | None] = Counter()
        self._waiting: list[tuple[str | None, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def slot(self, user: str | None) -> AsyncIterator[None]:
        """Hold one slot, or raise RateLimited or SourceUnavailable if none becomes free in time."""
        await self._take(user)
        try:
            yield
        finally:
            self._give_back(user)

    async def _take(self, user: str | None) -> None:
        if self._free and self._held[user] < self.most and not self._list_next():
            self._grant(user)
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((user, turn))
        try:
            async with asyncio.timeout(self._longest_wait):
                await turn
        except BaseException as error:
            if (user, turn) in self._waiting:
                self._waiting.remove((user, turn))
            elif turn.done() and not turn.cancelled():  # it was granted at the very moment
                self._give_back(user)
            if isinstance(error, TimeoutError):
                raise self._refuse(user) from None
            raise

    def _list_next(self) -> list[tuple[str | None, asyncio.Future[None]]]:
        """Return those who wait for a free slot, without those who wait for their own statements."""
        return [each for each in self._waiting if self._held[each[0]] < self.most]

    def _grant(self, user: str | None) -> None:
        self._free -= 1
        self._held[user] += 1

    def _give_back(self, user: str | None) -> None:
        self._free += 1
        self._held[user] -= 1
        if not self._held[user]:
            del self._held[user]
        waiting = self._list_next()
        if self._free and waiting:
            other, turn = min(waiting, key=lambda each: self._held[each[0]])
            self._waiting.remove((other, turn))
            self._grant(other)
            turn.set_result(None)

    def _refuse(self, user: str | None) -> RateLimited | SourceUnavailable:
        if self._held[user] >= self.most:
            return RateLimited(
                f"{self.most} of your statements still run on this data source; wait until one has ended", RETRY_SECONDS
            )
        return SourceUnavailable("all connections to the data source are busy; try again")
