"""Statement: a read-only transaction in a thread, which can be stopped from outside. reading.py, lookup.py and
running.py work in one.

`Job` is one piece of such work. When its time is up or somebody stops it, the statement ends on the server: SQLite is
interrupted and asks `is_over` as it goes, DuckDB is interrupted by a thread that keeps the time, PostgreSQL and MySQL
are sent a cancel and keep their own clock besides.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from recollect.errors import QueryFailed, RecollectError, SourceUnavailable
from recollect.values.data_source import mask_dsn as masked

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

STEPS = 20_000  # of SQLite's machine between two looks at the clock
CANCEL_SECONDS = 5.0
MYSQL_TIMEOUTS = (1969, 3024)  # max_statement_time of MariaDB, max_execution_time of MySQL


class NotConnected(SourceUnavailable):
    """A source cannot be reached. The message is for the log: source.py decides what the caller is told."""


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
        """A step of this work, with less time; stopping the whole stops it."""
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
        if self.is_over:
            raise QueryFailed("the statement was stopped" if self.stopped.is_set() else too_slow(self.seconds))


def too_slow(seconds: float) -> str:
    return f"the statement took longer than {seconds:g} s and was stopped; ask for less, or raise the limit"


def interrupt(driver: Any) -> None:
    if isinstance(driver, sqlite3.Connection):
        driver.interrupt()
    elif hasattr(driver, "cancel_safe"):
        driver.cancel_safe(timeout=CANCEL_SECONDS)
    elif hasattr(driver, "cancel"):
        driver.cancel()
    elif hasattr(driver, "interrupt"):
        driver.interrupt()


@contextmanager
def read_only(engine: Engine, job: Job, role: str | None = None) -> Iterator[Connection]:
    """A transaction that cannot write, and is always rolled back."""
    job.check()
    with translated(job), connect(engine, job) as connection:
        driver = connection.connection.driver_connection
        job.hold(driver)
        done = Event()
        try:
            prepare(connection, driver, job, role)
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
    """Return a connection; whatever the driver says when there is none, it is a NotConnected."""
    from sqlalchemy.exc import DBAPIError

    try:
        return engine.connect()
    except DBAPIError as error:
        if job.stopped.is_set():
            raise
        raise NotConnected(message(error.orig or error)) from None
    except sqlite3.Error as error:
        raise NotConnected(message(error)) from None


def prepare(connection: Connection, driver: Any, job: Job, role: str | None) -> None:
    if isinstance(driver, sqlite3.Connection):
        driver.set_progress_handler(lambda: job.is_over, STEPS)
    elif connection.dialect.name == "postgresql":
        prepare_postgres(connection, max(1, round(job.left * 1000)), role)
    elif connection.dialect.name == "mysql":
        driver.limit_time(max(0.001, job.left))
    elif connection.dialect.name == "duckdb":
        driver.begin()


def interrupt_late(driver: Any, job: Job, done: Event) -> None:
    """Interrupt what still runs when the time is up; again, because a statement may begin just after."""
    late = done.wait(job.left)
    while not late:
        driver.interrupt()
        late = done.wait(0.1)


def prepare_postgres(connection: Connection, milliseconds: int, role: str | None) -> None:
    connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    for name, value in (
        ("statement_timeout", milliseconds),
        ("lock_timeout", milliseconds),
        ("idle_in_transaction_session_timeout", milliseconds + 60_000),
    ):
        connection.exec_driver_sql(f"SET LOCAL {name} = {value}")
    if role:
        connection.exec_driver_sql(f"SET LOCAL ROLE {connection.dialect.identifier_preparer.quote_identifier(role)}")


@contextmanager
def translated(job: Job) -> Iterator[None]:
    """What the database says, as one of our errors."""
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError
    from sqlalchemy.exc import TimeoutError as PoolTimeout

    try:
        yield
    except RecollectError:
        raise
    except PoolTimeout:
        raise SourceUnavailable("all connections to the data source are busy; try again") from None
    except DBAPIError as error:
        raise failure(job, error.orig or error, lost=error.connection_invalidated) from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise failure(job, error, lost=False) from None


def failure(job: Job, error: BaseException, *, lost: bool) -> RecollectError:
    if job.stopped.is_set():
        return QueryFailed("the statement was stopped")
    code = error.args[0] if error.args else None
    if job.is_over or getattr(error, "sqlstate", None) == "57014" or code in MYSQL_TIMEOUTS:
        return QueryFailed(too_slow(job.seconds))
    if lost:
        return NotConnected(message(error))
    return QueryFailed(message(error))


def message(error: BaseException) -> str:
    """The database's own words, one line, without secrets."""
    return masked(" ".join(str(error).split()))[:1000] or type(error).__name__
